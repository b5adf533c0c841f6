# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""An allocation of ours fails in a run or in a gate: what is asked is that of the other faults.

There are some hundred thousand. A worker costs little, so that each of a batch has another one that fails; of the
server's the first at each place in our code fails, at STEPLEAK_TEST_PLACES (default 16) of some two thousand places,
evenly spread. What a process allocates before main() and in torch's import is counted, and fails as any other.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from sandbox import End, Sandbox
from test_faults import FAILURE, LEAK, OUTPUTS, check_end
from test_faults import library as library
from validators import check_outputs, check_terminal

WORKERS = 24
"""Of each of the two targets."""
PLACES = int(os.environ.get("STEPLEAK_TEST_PLACES", "16"))
PARTS = 8
"""Of the places, each walked by a test of its own: they run side by side."""

STEPS = """import torch

kept = []


def clean():
    torch.ones(8)


def leaky():
    kept.append(torch.ones(8))


"""
SCENARIOS = """import torch

from stepleak.scenario import clean, leak

kept = []
"""
CLEAN = """

@clean(report="me/small#1")
def {}(device):
    '''Keeps nothing.'''
    return lambda: torch.ones(8).sum().item()
"""
LEAKY = """

@leak(kind="growth", report="me/small#2")
def {}(device):
    '''Keeps all.'''
    return lambda: kept.append(torch.ones(8))
"""


@pytest.fixture(autouse=True)
def operator_new(stepleak: list[str]) -> None:
    """Must come from a library, so that a preloaded one can stand before it."""
    program = Path(shutil.which(stepleak[0]) or stepleak[0])
    if b"libstdc++.so" not in program.read_bytes():
        pytest.skip(f"{program} has its own operator new: this toolchain links libstdc++ statically")


class Program:
    """A call of the command line, of which one allocation or one of each worker fails."""

    def __init__(self, sandbox: Sandbox, command: list[str], library: str) -> None:
        self.sandbox = sandbox
        self._command = command
        self._log = sandbox.folder.parent / "faults"
        self._library = library

    def end_with(self, fault: str) -> End:
        self._log.unlink(missing_ok=True)
        for name in OUTPUTS:
            (self.sandbox.folder / name).unlink(missing_ok=True)
        self.sandbox.write("r.json", "{}")
        self.sandbox.remember()
        environment = {"LD_PRELOAD": self._library, "STEPLEAK_FAULT": fault, "STEPLEAK_FAULT_LOG": str(self._log)}
        return self.sandbox.call(self._command, environment, 600)

    def faults(self) -> int:
        return self._log.read_text().count("fault")

    def counts(self) -> dict[int, int]:
        """Of the server by 0, or of each worker from 1 on, how many allocations it made; what it runs makes none."""
        found: dict[int, int] = {}
        for line in (line.split() for line in self._log.read_text().splitlines()):
            if line[0] == "calls":
                found[int(line[1])] = max(found.get(int(line[1]), 0), int(line[2]))
        return found

    def places(self) -> list[int]:
        """The first allocation at each place of the server's, where `end_with("new@server:places")` went before."""
        lines = [line.split() for line in self._log.read_text().splitlines()]
        return [int(line[1]) for line in lines if line[0] == "place"]


def spread(total: int, count: int) -> list[int]:
    return [1 + total * (2 * index + 1) // (2 * count) for index in range(count)]


def numbers_of_workers(counts: dict[int, int]) -> str:
    """Before the first worker the server may have forked for a question of its own."""
    first = min(counts)
    numbers = [0] * (first - 1) + spread(counts[first], WORKERS) + spread(counts[first + WORKERS], WORKERS)
    return ",".join(map(str, numbers))


def text_of(counts: dict[int, int]) -> str:
    return f"lost one of {counts[min(counts)]} or {counts[max(counts)]} allocations"


@pytest.fixture
def run(sandbox: Sandbox, stepleak: list[str], library: str) -> Program:
    names = {"clean": [f"clean_{i}" for i in range(WORKERS)], "leaky": [f"leaky_{i}" for i in range(WORKERS)]}
    sandbox.write("s.py", STEPS + "\n".join(f"{name} = {kind}" for kind in names for name in names[kind]) + "\n")
    targets = [f"s.py:{name}" for kind in names for name in names[kind]]
    outputs = ["--json", "r.json", "--junit", "r.xml", "--trace", "r.trace"]
    return Program(sandbox, [*stepleak, "run", *targets, "--effort", "quick", "-j2", *outputs], library)


@pytest.mark.slow
def test_run_survives_one_of_each_worker(run: Program) -> None:
    end = run.end_with("new@worker:0")
    assert end.code == LEAK, end.text
    counts = run.counts()
    end = run.end_with(f"new@worker:{numbers_of_workers(counts)}")
    assert end.code in (LEAK, FAILURE), end.text[-2000:]
    check_terminal("stderr", end.err)
    check_outputs(run.sandbox.folder, OUTPUTS)
    run.sandbox.check_nothing_left(OUTPUTS)
    results = json.loads((run.sandbox.folder / "r.json").read_text())
    assert len(results) == 2 * WORKERS
    for result in results:
        wanted = "leak" if "leaky" in result["target"] else "clean"
        assert result["verdict"] in (wanted, "failure"), result["target"]
        assert result["verdict"] != "failure" or result["failure"]["what"], "a failure without a word"
    verdicts = Counter(result["verdict"] for result in results)
    assert verdicts["failure"] == 0 or end.code == FAILURE
    print(f"run: {run.faults()} of {len(results)} workers {text_of(counts)}: {dict(verdicts)}")
    assert run.faults() > WORKERS


def small_run(sandbox: Sandbox, stepleak: list[str], library: str) -> Program:
    sandbox.write("s.py", STEPS)
    outputs = ["--json", "r.json", "--junit", "r.xml", "--trace", "r.trace"]
    return Program(sandbox, [*stepleak, "run", "s.py:clean", "s.py:leaky", "--effort", "quick", *outputs], library)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_run_survives_one_of_its_server(part: int, sandbox: Sandbox, stepleak: list[str], library: str) -> None:
    run = small_run(sandbox, stepleak, library)
    assert run.end_with("new@server:places").code == LEAK

    def check(end: End) -> None:
        check_end(sandbox, end, {"s.py:clean": "clean", "s.py:leaky": "leak"})
        check_said_is_written(sandbox, end, ["s.py:clean", "s.py:leaky"])

    walk_server(sandbox, run, part, check)


def walk_server(sandbox: Sandbox, program: Program, part: int, check: Callable[[End], None]) -> None:
    """Fails allocations of the server, one a run, and asks each end that is not of a library's loading."""
    places = program.places()
    assert len(places) > PARTS
    codes: Counter[int] = Counter()
    walked = [places[index - 1] for index in spread(len(places), min(PLACES, len(places)))][part::PARTS]
    for number in walked:
        end = program.end_with(f"new@server:{number}")
        assert program.faults() == 1, f"allocation {number}"
        codes[end.code] += 1
        if is_ended_while_loading(end):
            sandbox.check_nothing_left([])
        else:
            check(end)
    print(f"{len(walked)} of {len(places)} places of the server failed: exit codes {dict(codes)}")


def is_ended_while_loading(end: End) -> bool:
    """A library's tables are made as it is loaded, where C++ knows no way to hand an exception on: nothing has run."""
    return end.code == -signal.SIGABRT and end.out == b"" and b"std::bad_alloc" in end.err


def check_said_is_written(sandbox: Sandbox, end: End, targets: list[str]) -> None:
    """One allocation costs one output at most: what was judged stands in another."""
    files = [sandbox.folder / name for name in ("r.json", "r.xml")]
    written = "".join(file.read_text(encoding="utf-8") for file in files if file.exists())
    for target in targets:
        was_said = any(line.startswith(target) for line in end.out.decode().splitlines())
        assert not was_said or target in written, end.text[-2000:]


def gate_of(sandbox: Sandbox, stepleak: list[str], library: str, each: int) -> Program:
    scenarios = "".join(CLEAN.format(f"a_clean_{i:02}") for i in range(each))
    sandbox.write("s/small.py", SCENARIOS + scenarios + "".join(LEAKY.format(f"b_leaky_{i:02}") for i in range(each)))
    where = ["--scenarios", "s", "--baselines", "b", "--device", "cpu", "--suite", "*_*_??", "--effort", "quick"]
    end = sandbox.call([*stepleak, "baseline", "update", *where], {}, 600)
    assert end.code == 0, end.text
    return Program(sandbox, [*stepleak, "gate", "-j2", "--junit", "r.xml", *where], library)


@pytest.mark.slow
def test_gate_survives_one_of_each_worker(sandbox: Sandbox, stepleak: list[str], library: str) -> None:
    gate = gate_of(sandbox, stepleak, library, WORKERS)
    assert gate.end_with("new@worker:0").code == 0
    counts = gate.counts()
    end = gate.end_with(f"new@worker:{numbers_of_workers(counts)}")
    check_gate(sandbox, end, 2 * WORKERS)
    print(f"gate: {gate.faults()} of {2 * WORKERS} workers {text_of(counts)}: exit code {end.code}")
    assert gate.faults() > WORKERS


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_gate_survives_one_of_its_server(part: int, sandbox: Sandbox, stepleak: list[str], library: str) -> None:
    gate = gate_of(sandbox, stepleak, library, 1)
    assert gate.end_with("new@server:places").code == 0
    walk_server(sandbox, gate, part, lambda end: check_gate(sandbox, end, 2))


def check_gate(sandbox: Sandbox, end: End, scenarios: int) -> None:
    """Green where all behaved as before, else a failure that says why; the baselines stay as they are."""
    assert end.code in (0, FAILURE), end.text[-2000:]
    assert end.code == FAILURE or f"{scenarios} same".encode() in end.out, end.text[-2000:]
    assert end.code == 0 or b"stepleak: " in end.err or b"failed" in end.out, "a failure without a word"
    check_terminal("stderr", end.err)
    check_outputs(sandbox.folder, ["r.xml"])
    sandbox.check_nothing_left(["r.xml"])
