# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Rules of tools that read an allocator of tensors."""

from __future__ import annotations

import itertools

from recording import Ledger, Recording
from rule import CLEAN, LEAK, UNDECIDED, Outcome, Reach, Rule, verdict

MIB = 1 << 20
GIB = 1 << 30

BODY_STEPS = 20
"""A test's body. A rule that compares twice needs some length; the tool repeats nothing itself."""


def cuda_memory_leak_check(recording: Recording) -> Outcome:
    """Allocator and driver up: fails. Allocator alone: warns. Of the host, RSS stands for the driver."""
    last = 1 + BODY_STEPS
    if recording.ledger("live_bytes").growth(1, last) <= 0:
        return Outcome(CLEAN, last)
    driver = ("resident_bytes",) if recording.device == "cpu" else ("reserved_bytes", "outside_bytes")
    is_driver_up = sum(recording.ledger(name).growth(1, last) for name in driver) > 0
    return Outcome(LEAK if is_driver_up else UNDECIDED, last)


def last_minus_first(recording: Recording) -> Outcome:
    last = min(64, recording.steps)
    return Outcome(verdict(recording.ledger("live_bytes").growth(1, last) > 0), last)


def snapshot_difference(recording: Recording) -> Outcome:
    """Blocks of the second snapshot that the first does not have."""
    first, last = 32, 64
    return Outcome(verdict(any(cohort.birth > first for cohort in recording.alive_at(last))), last)


def msmemscope(recording: Recording) -> Outcome:
    """Born in the second step or later, and alive where a later step ends."""
    last = 8
    return Outcome(verdict(any(2 <= cohort.birth < last for cohort in recording.alive_at(last))), last)


def _mean(ledger: Ledger, steps: int, first: float, last: float) -> float:
    values = [v for s, v in zip(ledger.steps, ledger.values, strict=True) if first * steps <= s <= last * steps]
    return sum(values) / len(values) if values else 0.0


def traceml(recording: Recording) -> Outcome:
    """Three bands of the window must rise twice; from a GiB on it is confirmed, below it is early."""
    steps = recording.steps
    if steps < 50:
        return Outcome(UNDECIDED, steps)
    peak = recording.ledger("peak_bytes")
    low, middle, high = (_mean(peak, steps, *band) for band in ((0.15, 0.25), (0.45, 0.55), (0.90, 1.0)))
    if not low < middle < high:
        return Outcome(CLEAN, steps)
    return Outcome(LEAK if high - low >= GIB else UNDECIDED, steps)


def stormlog(recording: Recording) -> Outcome:
    """More than 100 MiB over all calls of a function, and more than a tenth of the calls grow."""
    last = min(50, recording.steps)
    live = [recording.ledger("live_bytes").at(step) for step in range(1, last + 1)]
    rises = sum(after > before for before, after in itertools.pairwise(live))
    return Outcome(verdict(live[-1] - live[0] > 100 * MIB and rises > 0.1 * (last - 1)), last)


RULES = (
    Rule(
        "CudaMemoryLeakCheck",
        Reach.tensors,
        "allocator and driver higher after the test than before; allocator alone only warns",
        "pytorch/pytorch, torch/testing/_internal/common_utils.py",
        cuda_memory_leak_check,
    ),
    Rule(
        "last minus first",
        Reach.tensors,
        "live bytes after 64 steps above those after the first",
        "sgl-project/sglang#12706",
        last_minus_first,
    ),
    Rule(
        "snapshot difference",
        Reach.tensors,
        "a block in the snapshot of step 64 that the one of step 32 does not have",
        "pytorch/pytorch, torch/cuda/_memory_viz.py (compare)",
        snapshot_difference,
    ),
    Rule(
        "Stormlog",
        Reach.tensors,
        "above 100 MiB in all, and more than 10 % of the calls grow",
        "Silas-Asamoah/stormlog, leak detection of its profiler",
        stormlog,
    ),
    Rule(
        "msMemScope",
        Reach.tensors,
        "a block that is born in step 2 or later and outlives its step",
        "Ascend/msmemscope, csrc/analysis/leak_analyzer.cpp",
        msmemscope,
    ),
    Rule(
        "TraceML",
        Reach.tensors,
        "the mean peak rises over three bands of the run; confirmed from 1 GiB on, else early (undecided)",
        "traceopt-ai/traceml, src/traceml_ai/diagnostics/step_memory/trend.py",
        traceml,
    ),
)
