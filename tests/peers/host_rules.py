# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of tools that read the memory of the process, or Python's objects."""

from __future__ import annotations

import itertools

from recording import Ledger, Recording
from rule import CLEAN, LEAK, UNDECIDED, Outcome, Reach, Rule, verdict

KIB = 1 << 10
MB = 10**6

READ_EVERY = 8
"""Heap and RSS are read at every eighth step: what a tool reads after n calls is read after a multiple of it."""


def _rises(ledger: Ledger, steps: range) -> list[int]:
    return [ledger.growth(before, after) for before, after in itertools.pairwise(steps)]


def psleak(recording: Recording) -> Outcome:
    """Growth a call, while the number of calls rises: a leak keeps its rate, and noise fades."""
    floor = 16
    first = 2 * READ_EVERY
    previous: dict[str, float] = {}
    fades = {"heap_bytes": 0, "resident_bytes": 0}
    calls = 2 * READ_EVERY
    while fades and first + calls <= recording.steps:
        for name in list(fades):
            rate = recording.ledger(name).growth(first, first + calls) / calls
            fades[name] = fades[name] + 1 if rate <= floor or rate < previous.get(name, 0) else 0
            previous[name] = rate
            if fades[name] == 2:
                del fades[name]
        first += calls
        calls += READ_EVERY
    return Outcome(verdict(bool(fades)), first)


def memray_limit_leaks(recording: Recording) -> Outcome:
    """What the body allocated and did not free; of all stacks together, as single ones are not recorded."""
    last = 64
    tensors = sum(cohort.bytes for cohort in recording.alive_at(last) if cohort.birth > 1)
    heap = recording.ledger("heap_bytes").growth(READ_EVERY, last)
    return Outcome(verdict(max(tensors if recording.device == "cpu" else 0, heap) >= MB), last)


def objgraph_growth(recording: Recording) -> Outcome:
    """Types with more objects than at any call before: called three times, the last one speaks."""
    objects = recording.ledger("python_objects")
    first, second, third = (objects.at(step) for step in (16, 32, 48))
    return Outcome(verdict(third > max(first, second)), 48)


def tracemalloc(recording: Recording) -> Outcome:
    """Growth between both pairs of three snapshots; the heap without tensors stands for what is traced."""
    heap, live = recording.ledger("heap_bytes"), recording.ledgers.get("live_bytes@cpu", Ledger((1,), (0,)))
    rest = [heap.at(step) - live.at(step) for step in (16, 40, 64)]
    return Outcome(verdict(rest[0] < rest[1] < rest[2]), 64)


def regrtest(recording: Recording) -> Outcome:
    """Three runs to warm up, three that count: each of these has more references, or more blocks, than before."""
    steps = range(3, 7)
    ledgers = (recording.ledger("python_objects"), recording.ledger("live_blocks"))
    return Outcome(verdict(any(min(_rises(ledger, steps)) >= 1 for ledger in ledgers)), steps[-1])


def leak_canary(recording: Recording) -> Outcome:
    """Dumps after every two loops: what gains two objects or more in each, up to the fifth dump."""
    loops, dumps = 2, 5
    growing = ["live_blocks", "python_objects", "live_tensors"]
    for dump in range(1, dumps):
        steps = range(loops * dump, loops * (dump + 1) + 1, loops)
        growing = [name for name in growing if _rises(recording.ledger(name), steps)[0] >= loops]
        if not growing:
            return Outcome(CLEAN, steps[-1])
    return Outcome(LEAK, loops * dumps)


def openvino(recording: Recording) -> Outcome:
    """More than five readings of RSS a tenth above the reference, and again after three new references."""
    most_outliers, rebases = 5, 3
    resident = recording.ledger("resident_bytes")
    readings = [v for s, v in zip(resident.steps, resident.values, strict=True) if s >= 30 and s % READ_EVERY == 0]
    reference, outliers = readings[0], 0
    for reading in readings[1:]:
        outliers += reading > 1.1 * reference
        if outliers > most_outliers and rebases:
            reference, outliers, rebases = reading, 0, rebases - 1
    return Outcome(verdict(outliers > most_outliers), recording.steps)


def next_leak(recording: Recording) -> Outcome:
    """Cycles that all reach the gate, or stairs that give little back; rates that halve are saturating."""
    cycle, gate = 4 * READ_EVERY, 256 * KIB
    steps = range(cycle, min(8 * cycle, recording.steps) + 1, cycle)
    # The first difference is warm-up.
    rises = _rises(recording.ledger("heap_bytes"), steps)[1:]
    if max(rises) < gate:
        return Outcome(CLEAN, steps[-1])
    is_falling = all(after < before for before, after in itertools.pairwise(rises))
    if is_falling and rises[-1] <= rises[0] / 2:
        return Outcome(UNDECIDED, steps[-1])
    net = sum(rises)
    is_stairs = sum(rise >= gate for rise in rises) >= 2 and net / len(rises) >= gate and -min(rises) <= 0.1 * net
    return Outcome(LEAK if min(rises) >= gate or is_stairs else UNDECIDED, steps[-1])


def leakage(recording: Recording) -> Outcome:
    """Six collections, thirty iterations apart: growth by more than a KiB in more than two thirds in a row."""
    apart, collections = 4 * READ_EVERY, 6
    rises = _rises(recording.ledger("heap_bytes"), range(READ_EVERY, READ_EVERY + apart * collections + 1, apart))
    longest = streak = 0
    for rise in rises:
        streak = streak + 1 if rise > KIB else 0
        longest = max(longest, streak)
    return Outcome(verdict(longest > collections * 2 / 3), READ_EVERY + apart * collections)


RULES = (
    Rule(
        "psleak",
        Reach.host,
        "heap or RSS grows by more than 16 bytes a call while calls escalate, and does not fade twice in a row",
        "giampaolo/psleak#9",
        psleak,
    ),
    Rule(
        "memray limit_leaks",
        Reach.host,
        "1 MB or more, allocated in the test and not freed at its end",
        "bloomberg/pytest-memray, docs/usage.rst (limit_leaks)",
        memray_limit_leaks,
    ),
    Rule(
        "objgraph",
        Reach.python,
        "more objects than at any earlier call of growth(), which is called every 16 steps",
        "mgedmin/objgraph, objgraph.py (growth)",
        objgraph_growth,
    ),
    Rule(
        "tracemalloc",
        Reach.python,
        "more memory in the second and again in the third snapshot, 24 steps apart",
        "python/cpython, Lib/tracemalloc.py (compare_to)",
        tracemalloc,
    ),
    Rule(
        "regrtest -R 3:3",
        Reach.python,
        "references or blocks rise in each of three runs after three that warm up",
        "python/cpython, Lib/test/libregrtest/refleak.py",
        regrtest,
    ),
    Rule(
        "LeakCanary",
        Reach.host,
        "what gains two objects or more in each of five dumps, two loops apart",
        "square/leakcanary, shark (RepeatingScenarioObjectGrowthDetector)",
        leak_canary,
    ),
    Rule(
        "OpenVINO memleaks",
        Reach.host,
        "more than five readings of RSS 10 % above a reference, which is moved up three times",
        "openvinotoolkit/openvino, tests/stress_tests/memleaks_tests",
        openvino,
    ),
    Rule(
        "next-leak",
        Reach.host,
        "every cycle of 32 steps adds 256 KiB or more, or stairs do",
        "xabierlameiro/next-leak#31, #60",
        next_leak,
    ),
    Rule(
        "leakage",
        Reach.host,
        "the heap grows by more than 1 KiB in five of six collections in a row",
        "andywer/leakage, src/leakage.js",
        leakage,
    ),
)
