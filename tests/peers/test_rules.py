# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Each rule by what it calls a leak, and by the near miss that it lets pass."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import allocator_rules
import host_rules
import pytest
from recording import Cohort, Ledger, Recording, read_recordings
from rule import CLEAN, LEAK, UNDECIDED, Reach, Rule

STEPS = 280
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
LEVEL = 100 * MIB


def line(a_step: int, steps: int = STEPS) -> list[int]:
    return [LEVEL + a_step * step for step in range(1, steps + 1)]


def until(last: int, a_step: int) -> list[int]:
    """Grows up to a step, and no further."""
    return [LEVEL + a_step * min(step, last) for step in range(1, STEPS + 1)]


def flat() -> list[int]:
    return line(0)


def of(cohorts: dict[int, tuple[Cohort, ...]] | None = None, **ledgers: list[int]) -> Recording:
    read = {f"{name}@cpu": Ledger.of(values) for name, values in ledgers.items()}
    return Recording("step", STEPS, ledgers=read, cohorts=cohorts or {})


def alive(look: int, *births: int, size: int = KIB) -> dict[int, tuple[Cohort, ...]]:
    return {look: tuple(Cohort(birth, size, 1) for birth in births)}


def ruled(name: str) -> Rule:
    return next(rule for rule in (*allocator_rules.RULES, *host_rules.RULES) if rule.name == name)


CASES: list[tuple[str, Recording, str]] = [
    ("CudaMemoryLeakCheck", of(live_bytes=line(512), resident_bytes=line(4096)), LEAK),
    ("CudaMemoryLeakCheck", of(live_bytes=line(512), resident_bytes=flat()), UNDECIDED),
    ("CudaMemoryLeakCheck", of(live_bytes=flat(), resident_bytes=line(4096)), CLEAN),
    ("last minus first", of(live_bytes=until(2, 4)), LEAK),
    ("last minus first", of(live_bytes=until(1, 4)), CLEAN),
    ("snapshot difference", of(alive(64, 1, 40)), LEAK),
    ("snapshot difference", of(alive(64, 1, 32)), CLEAN),
    ("Stormlog", of(live_bytes=line(3 * MIB)), LEAK),
    ("Stormlog", of(live_bytes=line(2 * MIB)), CLEAN),
    ("Stormlog", of(live_bytes=[LEVEL] * 49 + [LEVEL + GIB] * 231), CLEAN),
    ("msMemScope", of(alive(8, 1, 7)), LEAK),
    ("msMemScope", of(alive(8, 1, 8)), CLEAN),
    ("TraceML", of(peak_bytes=line(8 * MIB)), LEAK),
    ("TraceML", of(peak_bytes=line(KIB)), UNDECIDED),
    ("TraceML", of(peak_bytes=until(100, 8 * MIB)), CLEAN),
    ("psleak", of(heap_bytes=line(17), resident_bytes=flat()), LEAK),
    ("psleak", of(heap_bytes=line(16), resident_bytes=flat()), CLEAN),
    ("psleak", of(heap_bytes=until(40, KIB), resident_bytes=flat()), CLEAN),
    ("memray limit_leaks", of(alive(64, *range(1, 65), size=17 * KIB), heap_bytes=flat()), LEAK),
    ("memray limit_leaks", of(alive(64, *range(1, 65), size=15 * KIB), heap_bytes=flat()), CLEAN),
    ("memray limit_leaks", of(alive(64, 1, size=GIB), heap_bytes=flat()), CLEAN),
    ("memray limit_leaks", of(heap_bytes=line(20 * KIB)), LEAK),
    ("objgraph", of(python_objects=line(1)), LEAK),
    ("objgraph", of(python_objects=until(32, 1)), CLEAN),
    ("tracemalloc", of(heap_bytes=line(64), live_bytes=flat()), LEAK),
    ("tracemalloc", of(heap_bytes=line(64), live_bytes=line(64)), CLEAN),
    ("tracemalloc", of(heap_bytes=until(40, 64), live_bytes=flat()), CLEAN),
    ("regrtest -R 3:3", of(python_objects=line(1), live_blocks=flat()), LEAK),
    ("regrtest -R 3:3", of(python_objects=flat(), live_blocks=line(1)), LEAK),
    ("regrtest -R 3:3", of(python_objects=until(5, 1), live_blocks=flat()), CLEAN),
    ("LeakCanary", of(live_blocks=line(1)), LEAK),
    ("LeakCanary", of(live_blocks=until(9, 1)), CLEAN),
    ("OpenVINO memleaks", of(resident_bytes=line(8 * MIB)), LEAK),
    ("OpenVINO memleaks", of(resident_bytes=line(32 * KIB)), CLEAN),
    ("OpenVINO memleaks", of(resident_bytes=until(60, 8 * MIB)), CLEAN),
    ("next-leak", of(heap_bytes=line(8 * KIB)), LEAK),
    ("next-leak", of(heap_bytes=line(8 * KIB - 1)), CLEAN),
    ("next-leak", of(heap_bytes=until(100, 32 * KIB)), UNDECIDED),
    ("leakage", of(heap_bytes=line(33)), LEAK),
    ("leakage", of(heap_bytes=line(32)), CLEAN),
    ("leakage", of(heap_bytes=until(104, KIB)), CLEAN),
]


@pytest.mark.parametrize(("name", "recording", "expected"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_rule(name: str, recording: Recording, expected: str) -> None:
    assert ruled(name).judge(recording).verdict == expected


def test_every_rule_has_a_positive_and_a_near_miss() -> None:
    for rule in (*allocator_rules.RULES, *host_rules.RULES):
        verdicts = {expected for name, _, expected in CASES if name == rule.name}
        assert {LEAK, CLEAN} <= verdicts, rule.name


def test_what_a_rule_cannot_see_is_out_of_its_scope() -> None:
    assert not Reach.tensors.covers(("host_heap",), is_cpp=False, device="cpu")
    assert Reach.tensors.covers(("growth", "host_heap"), is_cpp=False, device="cpu")
    assert Reach.host.covers(("growth",), is_cpp=True, device="cpu")
    assert not Reach.host.covers(("growth",), is_cpp=True, device="cuda:0")
    assert not Reach.python.covers((), is_cpp=True, device="cpu")
    assert Reach.tensors.covers((), is_cpp=True, device="cpu")


def test_a_ledger_does_not_make_up_what_was_not_read() -> None:
    ledger = Ledger((8, 16), (10, 20))
    assert [ledger.at(step) for step in (1, 8, 15, 16, 99)] == [10, 10, 10, 20, 20]
    assert ledger.until(15).values == (10,)


def test_a_recording_ends_where_stacks_are_recorded() -> None:
    trace = Path(__file__).resolve().parents[1] / "data" / "traces" / "cpu_history_popped_by_hand.trace"
    (recording,) = read_recordings(trace)
    with gzip.open(trace, "rt", encoding="utf-8") as stored:
        passes = json.loads(stored.readline())["trace"]["passes"]
    assert recording.steps == passes[1]["first_step"] - 1
    assert recording.ledger("live_bytes").steps[-1] == recording.steps
    # One block of 1 KiB a step, and all are there at the eighth.
    assert recording.ledger("live_bytes").growth(1, 9) == 8 * KIB
    assert [cohort.birth for cohort in recording.alive_at(8)] == list(range(1, 9))
