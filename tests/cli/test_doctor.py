# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What stands in the way of judging here, and what the harness itself keeps (`--self-growth`)."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from conftest import CommandLine, Outcome


def test_doctor_names_what_stands_in_the_way_with_its_remedy(stepleak: CommandLine) -> None:
    stepleak.write("stepleak.py", "raise SystemExit(9)\n")
    outcome = stepleak("doctor", switches={"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0", "MALLOC_CHECK_": "0"})
    assert outcome.code == 0, outcome.text
    section = outcome.out.partition("in the way\n")[2]
    lines = section.splitlines()
    assert lines[0].startswith("  GLIBC_TUNABLES=glibc.malloc.tcache_count=0 ")
    assert lines[2].startswith(f"  {stepleak.folder / 'stepleak.py'} hides the package")
    assert all(line.startswith("    remedy: ") for line in (lines[1], lines[3]))
    assert not lines[4].startswith("    remedy: ")


@pytest.mark.parametrize("interpreter", ["/nonexistent/python", "/bin/false"])
def test_an_interpreter_that_does_not_do_is_named_with_the_variable_that_chose_it(
    interpreter: str, stepleak: CommandLine
) -> None:
    outcome = stepleak("doctor", switches={"STEPLEAK_PYTHON": interpreter})
    remedy = "    remedy: STEPLEAK_PYTHON names that interpreter: name one that has torch, or unset it\n"
    surroundings = outcome.out.partition("  surroundings ")[2]
    assert surroundings.lstrip().startswith(f"not known: {interpreter}: ")
    assert remedy in surroundings


def test_the_interpreter_that_has_no_torch_is_named(stepleak: CommandLine) -> None:
    """A name that the interpreter goes by, from which it finds its packages."""
    stepleak.write("train.py", "def step(): pass\n")
    outcome = stepleak("run", "train.py:step", switches={"PYTHONEXECUTABLE": "/bin/false"})
    if outcome.code == 0:
        pytest.skip("this interpreter does not heed PYTHONEXECUTABLE")
    assert outcome.code == 3, outcome.text
    assert "torch does not import in /bin/false: " in outcome.err
    assert "remedy: PYTHONEXECUTABLE names that interpreter: " in outcome.err


@pytest.mark.parametrize("verb", ["doctor", "list"])
def test_a_reader_that_is_gone_is_no_failure(verb: str, stepleak: CommandLine) -> None:
    asked = stepleak.start(verb)
    assert asked.stdout is not None and asked.stderr is not None
    asked.stdout.close()
    assert asked.wait(timeout=300) == 0
    assert asked.stderr.read() == ""


def loads(stepleak: CommandLine, library: Path) -> Outcome:
    """What doctor says where the user's own modules load a library, as an extension that links another torch does."""
    stepleak.write("site/sitecustomize.py", f"import ctypes\nctypes.CDLL({str(library)!r})\n")
    return stepleak("doctor", switches={"PYTHONPATH": f"{stepleak.folder / 'site'}:{os.environ.get('PYTHONPATH', '')}"})


def empty_library(path: Path) -> Path:
    """Stands in for a LibTorch: what tells two of them apart is their files, not what is in them."""
    path.parent.mkdir()
    compiler = shlex.split(os.environ.get("CXX", "g++"))
    subprocess.run([*compiler, "-shared", "-o", path, "-xc++", "/dev/null"], check=True)
    return path


def test_doctor_fails_where_two_libtorches_are_loaded(stepleak: CommandLine) -> None:
    other = empty_library(stepleak.folder / "other" / "libtorch_cpu.so")
    outcome = loads(stepleak, other)
    assert outcome.code == 3, outcome.text
    twice = [line.split(maxsplit=2)[2] for line in outcome.out.splitlines() if line.startswith("  libtorch twice")]
    assert len(twice) == 2 and str(other) in twice, outcome.out
    assert "    remedy: " in outcome.out.partition("libtorch twice")[2]


def test_a_library_of_another_name_is_no_libtorch(stepleak: CommandLine) -> None:
    outcome = loads(stepleak, empty_library(stepleak.folder / "other" / "my_libtorch_cpu.so"))
    assert outcome.code == 0, outcome.text
    assert "libtorch twice" not in outcome.out


def test_doctor_names_a_libtorch_on_the_search_path_even_where_it_cannot_be_loaded(stepleak: CommandLine) -> None:
    other = empty_library(stepleak.folder / "other" / "libtorch_cpu.so").parent
    outcome = stepleak("doctor", switches={"LD_LIBRARY_PATH": str(other)})
    section = outcome.out.partition("in the way\n")[2]
    assert section.startswith(f"  LD_LIBRARY_PATH leads to the LibTorch in {other}, and this Python's is in /")
    assert f"    remedy: take {other} out of LD_LIBRARY_PATH" in section


@pytest.mark.skipif(not os.environ.get("STEPLEAK_TEST_OLD_DRIVER"), reason="built without CUDA")
def test_doctor_names_a_driver_older_than_the_runtime(stepleak: CommandLine) -> None:
    outcome = stepleak("doctor", switches={"LD_PRELOAD": os.environ["STEPLEAK_TEST_OLD_DRIVER"]})
    assert outcome.code == 0, outcome.text
    lines = outcome.out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("  device memory "))
    assert re.search(r" no: the NVIDIA driver knows CUDA 12\.4, and torch's runtime needs 1\d\.\d+$", lines[at])
    assert lines[at + 1] == "    remedy: install a later driver, or use --device cpu"


def growth_by_step(out: str) -> dict[str, list[str]]:
    """The lines of ledgers below each step's headline."""
    blocks: dict[str, list[str]] = {}
    for line in out.splitlines():
        if line.startswith("  "):
            blocks[list(blocks)[-1]].append(line)
        else:
            blocks[line.partition(":")[0]] = []
    return blocks


def test_doctor_shows_that_the_harness_keeps_nothing(stepleak: CommandLine) -> None:
    outcome = stepleak("doctor", "--self-growth", "64")
    assert outcome.code == 0, outcome.text
    blocks = growth_by_step(outcome.out)
    assert list(blocks) == [
        "nothing",
        "ever new addresses",
        "ever new shapes",
        "ever new stacks",
        "ever new graphs",
    ]
    for step, lines in blocks.items():
        for ledger in ("live_bytes@cpu", "live_blocks@cpu", "live_nodes@cpu", "live_tensors@cpu", "python_objects@cpu"):
            assert any(line.split()[:2] == [ledger, "+0"] for line in lines), (step, ledger, lines)


def test_doctor_fails_where_an_exact_ledger_rises(stepleak: CommandLine) -> None:
    # Stands in for stepleak's own steps: one that keeps an object a step, which the harness might as well do.
    stepleak.write(
        "sitecustomize.py",
        """
        import sys, types

        kept = []
        stand_in = types.ModuleType("stepleak._self_growth")
        stand_in.STEPS = {"keeps": lambda device: lambda: kept.append([])}
        sys.modules["stepleak._self_growth"] = stand_in
        """,
    )
    outcome = stepleak("doctor", "--self-growth", "64", switches={"PYTHONPATH": str(stepleak.folder)})
    assert outcome.code == 1, outcome.text
    assert any(
        line.split()[0] == "python_objects@cpu" and line.split()[1] != "+0"
        for line in growth_by_step(outcome.out)["keeps"]
    )
