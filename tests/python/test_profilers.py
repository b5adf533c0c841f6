# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Torch's profilers, of which one that runs without a schedule keeps all that it records; and near misses."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from holder_search import search
from torch.profiler import ProfilerActivity, schedule

CPU = [ProfilerActivity.CPU]


class Trainer:
    """Has a profiler, and trains under it."""

    profiler: Any = None

    def __call__(self) -> None:
        """The step."""


def nothing() -> list[int]:
    return []


@contextlib.contextmanager
def running(profiler: Any) -> Iterator[Trainer]:
    trainer = Trainer()
    trainer.profiler = [profiler]
    with profiler:
        yield trainer


@pytest.mark.parametrize("make", [lambda: torch.profiler.profile(activities=CPU), torch.autograd.profiler.profile])
def test_profiler_without_a_schedule_is_a_holder(make: Any) -> None:
    with running(make()) as trainer:
        found = search(trainer, nothing)
    holder = found["holders"][found["profiler"]]
    assert holder["path"] == "Trainer (Trainer) .profiler (list, len 1) [0] (profile) -> profile"
    assert not holder["container_type"]  # a list that did not grow
    assert found["records_profile"]


PROGRAM = """
from stepleak._core import frame_locals
from stepleak._holders import HolderSearch
from torch.profiler import ProfilerActivity, profile
def main():
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        search = HolderSearch(None, frame_locals)
        search.begin()
        search.end()
        found = search.search([], {__file__: set()}, 8)
        print(found["holders"][found["profiler"]]["kept_by"]["text"])
main()
"""


def test_statement_that_makes_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "profiled.py"
    file.write_text(PROGRAM)
    shown = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "with profile(activities=[ProfilerActivity.CPU]) as prof:"


def test_profiler_with_a_schedule_ends_what_it_records() -> None:
    profiler = torch.profiler.profile(activities=CPU, schedule=schedule(wait=0, warmup=0, active=9))
    with running(profiler) as trainer:
        assert not search(trainer, nothing)["records_profile"]


def test_profiler_that_was_stopped_keeps_no_more() -> None:
    with running(torch.profiler.profile(activities=CPU)) as trainer:
        pass
    assert not search(trainer, nothing)["records_profile"]
    # Nor while another one runs.
    trainer.profiler += [torch.profiler.profile(activities=CPU, schedule=schedule(wait=0, warmup=0, active=9))]
    with trainer.profiler[-1]:
        assert not search(trainer, nothing)["records_profile"]


def test_profiler_that_has_not_begun_keeps_nothing() -> None:
    trainer = Trainer()
    trainer.profiler = torch.profiler.profile(activities=CPU)
    assert not search(trainer, nothing)["records_profile"]
