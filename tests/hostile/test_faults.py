# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The n-th call of ours fails, for each n there is: a right exit code, whole files, and nothing that runs on."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import DATA, FOLDER
from sandbox import End, Sandbox, Suite
from validators import check_baseline, check_outputs, check_terminal

CALLS = ("write", "open", "fsync", "rename", "fork", "mmap", "memfd_create", "dlopen")
OUTPUTS = ["r.json", "r.xml", "r.trace"]
LEAK, FAILURE = 1, 3
OUTDATED = '"torch": "0.1"'


@pytest.fixture(scope="session")
def library() -> str:
    if not os.environ.get("STEPLEAK_TEST_FAULTS"):
        pytest.skip("STEPLEAK_TEST_FAULTS names no library; run by: ci/hostile")
    return os.environ["STEPLEAK_TEST_FAULTS"]


def faulty_call(sandbox: Sandbox, command: list[str], library: str, fault: str) -> tuple[End, bool]:
    """How it ended, and whether there was such a call to fail."""
    log = sandbox.folder.parent / "faults"
    log.unlink(missing_ok=True)
    for name in OUTPUTS:
        (sandbox.folder / name).unlink(missing_ok=True)
    sandbox.write("r.json", "{}")
    sandbox.remember()
    environment = {"LD_PRELOAD": library, "STEPLEAK_FAULT": fault, "STEPLEAK_FAULT_LOG": str(log)}
    return sandbox.call(command, environment, 100), log.exists()


def check_end(sandbox: Sandbox, end: End, wanted: dict[str, str]) -> None:
    """The verdict with all files, or a failure that says why and leaves each file whole, the old one or the new."""
    assert end.code in (LEAK, FAILURE), end.text[-2000:]
    check_terminal("stderr", end.err)
    sandbox.check_nothing_left(OUTPUTS)
    text = (sandbox.folder / "r.json").read_text(encoding="utf-8")
    check_outputs(sandbox.folder, OUTPUTS if text != "{}" else OUTPUTS[1:])
    if end.code == FAILURE:
        assert b"stepleak: " in end.err or b"failed" in end.out, "a failure without a word"
        return
    found = json.loads(text)
    results = found if isinstance(found, list) else [found]
    assert {result["target"]: result["verdict"] for result in results} == wanted
    assert (sandbox.folder / "r.xml").exists()


def numbers() -> Iterator[int]:
    """Each of the first 60; what comes later reads the same file of `/proc` at each boundary: every fortieth."""
    return itertools.chain(range(1, 61), itertools.count(100, 40))


def walk(sandbox: Sandbox, command: list[str], library: str, call: str, wanted: dict[str, str]) -> int:
    """Fails the first, the second, ... until there is none left; how many failed."""
    for count, number in enumerate(numbers()):
        end, was_there = faulty_call(sandbox, command, library, f"{call}:{number}")
        check_end(sandbox, end, wanted)
        if not was_there:
            assert end.code == LEAK
            return count
    raise AssertionError("numbers() has no end")


@pytest.mark.parametrize("call", CALLS)
def test_analysis_survives_each(call: str, sandbox: Sandbox, stepleak: list[str], library: str) -> None:
    trace = str(DATA / "cpu_loss_list_attached.trace")
    command = [*stepleak, "analyze", trace, "--json", "r.json", "--junit", "r.xml"]
    count = walk(sandbox, command, library, call, {"loss_list_attached": "leak"})
    assert count > 0 or call not in ("write", "open", "fsync", "rename")


def test_analysis_survives_allocations(sandbox: Sandbox, stepleak: list[str], library: str) -> None:
    """A choice: there are 14,000. The first 180 or so make tables before main(), where nothing is to be lost.

    Nor is there where the command line is made, of which CLI11 does some in functions that must not throw.
    """
    trace = str(DATA / "cpu_loss_list_attached.trace")
    command = [*stepleak, "analyze", trace, "--json", "r.json", "--junit", "r.xml"]
    are_in_destructors = []
    for number in range(200, 14000, 29):
        end, _ = faulty_call(sandbox, command, library, f"new:{number}")
        if end.code == -signal.SIGABRT:
            help_end, _ = faulty_call(sandbox, [*stepleak, "--help"], library, f"new:{number}")
            assert help_end.code == end.code, end.text[-2000:]
            sandbox.check_nothing_left([])
            continue
        check_end(sandbox, end, {"loss_list_attached": "leak"})
        are_in_destructors.append(b"outputs that were not written yet are lost" in end.err)
    assert 0 < sum(are_in_destructors) < len(are_in_destructors) / 10


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.slow
def test_run_survives_each(call: str, sandbox: Sandbox, stepleak: list[str], library: str) -> None:
    sandbox.write("waits.py", Path(FOLDER / "targets/waits.py").read_bytes())
    targets = ["waits.py:quick", "waits.py:step"]
    outputs = ["--json", "r.json", "--junit", "r.xml", "--trace", "r.trace"]
    command = ["env", "WAITS_IN=nowhere", *stepleak, "run", *targets, "--effort", "quick", *outputs]
    count = walk(sandbox, command, library, call, {"waits.py:quick": "clean", "waits.py:step": "leak"})
    print(f"{call}: {count} calls of a run failed")
    assert count > 0


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.slow
def test_gate_survives_each(call: str, suite: Suite, stepleak: list[str], library: str) -> None:
    """Green where nothing was worse for it, else a failure that says why; the baselines stay as they are."""
    log = suite.sandbox.folder.parent / "faults"
    environment = {"LD_PRELOAD": library, "STEPLEAK_FAULT_LOG": str(log)}
    for count, number in enumerate(numbers()):
        log.unlink(missing_ok=True)
        (suite.sandbox.folder / "g.xml").unlink(missing_ok=True)
        suite.sandbox.remember()
        fault = {**environment, "STEPLEAK_FAULT": f"{call}:{number}"}
        end = suite.sandbox.call([*stepleak, "gate", "--junit", "g.xml", *suite.arguments], fault, 100)
        assert end.code in (0, FAILURE), end.text[-2000:]
        assert end.code == FAILURE or b"2 same" in end.out, end.text[-2000:]
        assert end.code == 0 or b"stepleak: " in end.err or b"failed" in end.out, "a failure without a word"
        check_terminal("stderr", end.err)
        check_outputs(suite.sandbox.folder, ["g.xml"])
        suite.sandbox.check_nothing_left(["g.xml"])
        if not log.exists():
            assert end.code == 0
            print(f"{call}: {count} calls of a gate failed")
            assert count > 0
            return


def make_outdated(baselines: Path) -> dict[str, str]:
    """Of another torch, so that an update has all of them to write; their texts by name."""
    for file in baselines.glob("*.json"):
        text = file.read_text(encoding="utf-8")
        file.write_text(re.sub('"torch": "[^"]*"', OUTDATED, text), encoding="utf-8")
    return {file.name: file.read_text(encoding="utf-8") for file in baselines.iterdir()}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.slow
def test_update_survives_each(call: str, suite: Suite, stepleak: list[str], library: str) -> None:
    """Each baseline is the old one or the new one, and all are new where it says so; one that cannot be written costs
    no other."""
    folder = suite.sandbox.folder / "b/cpu"
    log = suite.sandbox.folder.parent / "faults"
    environment = {"LD_PRELOAD": library, "STEPLEAK_FAULT_LOG": str(log)}
    for count, number in enumerate(numbers()):
        log.unlink(missing_ok=True)
        before = make_outdated(folder)
        suite.sandbox.remember()
        fault = {**environment, "STEPLEAK_FAULT": f"{call}:{number}"}
        end = suite.sandbox.call([*stepleak, "baseline", "update", *suite.arguments], fault, 100)
        assert end.code in (0, FAILURE), end.text[-2000:]
        assert end.code == 0 or b"stepleak: " in end.err or b"failed" in end.out, "a failure without a word"
        check_terminal("stderr", end.err)
        suite.sandbox.check_nothing_left([f"b/cpu/{name}" for name in before])
        after = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
        assert sorted(after) == sorted(before) != []
        for text in after.values():
            check_baseline(text)
        old = [name for name, text in after.items() if text == before[name]]
        assert all(OUTDATED not in text for name, text in after.items() if name not in old)
        assert end.code == FAILURE or not old, f"{old} were not written, and it did not say so"
        if call in ("write", "fsync", "rename"):
            assert len(old) == int(log.exists()), end.text[-2000:]
        if not log.exists():
            assert end.code == 0
            print(f"{call}: {count} calls of an update failed")
            assert count > 0
            return
