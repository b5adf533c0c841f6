# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Objects of Python's own: those that the first steps bring along, and those that stay of every step."""

from __future__ import annotations

import collections
import gc
import itertools
from typing import Any

import pytest
import stepleak
from small_training import Training

# --- what the first steps bring along ---------------------------------------------------------------------------------


class Imports:
    """A step that brings thousands of objects along at first, as the import of a library does."""

    def __init__(self, per_step: int) -> None:
        self.modules: list[list[Any]] = []
        self.records: list[list[int]] = []
        self.per_step = per_step
        self.seen: list[int] = []

    def __call__(self) -> None:
        if not self.modules:
            self.modules = [[self] for _ in range(20_000)]
        self.records.extend([self] for _ in range(self.per_step))  # type: ignore[list-item]
        if len(self.seen) < 16:
            self.seen.append(len(gc.get_objects()))


def test_old_objects_of_the_first_steps_are_set_apart() -> None:
    step = Imports(per_step=0)
    result = stepleak.check(step, steps=16)
    ledger = result.json["series"]["python_objects@cpu"]
    assert step.seen[1] > 20_000  # the second step still shares the collector with them
    assert step.seen[5] < 2_000
    # They are counted on, and the ledger neither falls nor rises where they are set apart.
    assert ledger[-1] >= 20_000
    assert len(set(ledger[4:])) == 1, ledger


def test_growth_is_counted_on_after_old_objects_are_set_apart() -> None:
    result = stepleak.check(Imports(per_step=3), steps=16)
    ledger = result.json["series"]["python_objects@cpu"]
    rises = [later - earlier for earlier, later in itertools.pairwise(ledger[3:])]
    assert rises == [3] * len(rises), ledger


# --- what takes the place of objects that were set apart --------------------------------------------------------------


def test_entries_that_replace_those_of_the_set_up_are_not_more() -> None:
    ring: collections.deque[list[Any]] = collections.deque(([] for _ in range(1600)), maxlen=1600)
    result = stepleak.check(lambda: ring.extend([] for _ in range(8)))
    assert result.is_clean, result.report
    assert result.steps == 64
    series = result.json["series"]
    assert series["python_objects@cpu"][-1] - series["python_objects@cpu"][0] == 8 * 63
    assert series["frozen_deaths@cpu"][-1] == 8 * 64


def test_entries_beside_those_of_a_full_ring_are_more() -> None:
    ring: collections.deque[list[Any]] = collections.deque(([] for _ in range(1600)), maxlen=1600)
    kept: list[list[Any]] = []

    def step() -> None:
        ring.extend([] for _ in range(8))
        kept.extend([] for _ in range(8))

    result = stepleak.check(step)
    assert result.verdict == "leak", result.report
    assert result.findings[0]["counted"] == "python objects"
    assert 8 <= result.findings[0]["count_per_step"] < 9


# --- Python's own allocator -------------------------------------------------------------------------------------------


class Log:
    """Keeps so many new strings a step: no object of the collector's, and too small for malloc."""

    def __init__(self, per_step: int) -> None:
        self.training = Training()
        self.lines: list[str] = []
        self.per_step = per_step

    def __call__(self) -> None:
        self.training.clean()
        self.lines.extend(f"sample {len(self.lines)} {i}" for i in range(self.per_step))


def test_strings_that_stay_are_a_leak() -> None:
    result = stepleak.check(Log(20))
    assert result.verdict == "leak", result.report
    assert [finding["kind"] for finding in result.findings] == ["host_heap"]
    assert result.findings[0]["counted"] == "python blocks"
    assert 20 <= result.findings[0]["count_per_step"] < 22


@pytest.mark.parametrize("per_step", [0, 2])
def test_log_of_few_strings_is_clean_at_once(per_step: int) -> None:
    result = stepleak.check(Log(per_step))
    assert result.is_clean, result.report
    assert result.steps == 64


class Records:
    """Keeps of each step objects that Python's collector tracks."""

    def __init__(self, per_step: int) -> None:
        self.training = Training()
        self.records: list[list[str]] = []
        self.per_step = per_step

    def __call__(self) -> None:
        self.training.clean()
        self.records.extend([f"{len(self.records)}", "b"] for _ in range(self.per_step))


def test_log_of_few_records_is_clean_and_said() -> None:
    result = stepleak.check(Records(2))
    assert result.is_clean, result.report
    notes: list[str] = result.json["notes"]
    assert [note.partition(",")[0] for note in notes if "python object" in note] == [
        "2 python objects stay of every step"
    ]


def test_as_many_empty_records_as_blocks_are_noise_are_a_leak() -> None:
    """Eight a step: each has one block, and eight blocks a step are the most that may be chance."""
    kept: list[list[str]] = []
    result = stepleak.check(lambda: kept.extend([[], [], [], [], [], [], [], []]), effort="quick")
    assert result.verdict == "leak", result.report


def test_step_that_logs_nothing_has_no_such_note() -> None:
    assert not any("python object" in note for note in stepleak.check(Records(0)).json["notes"])
