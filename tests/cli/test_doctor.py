# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What stands in the way of judging here, and what the harness itself keeps (`--self-growth`)."""

from __future__ import annotations

from conftest import CommandLine


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
