# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What bounds a container decides: at once where nothing does, and once it is full where something does."""

from __future__ import annotations

import functools
from collections.abc import Callable

import stepleak
import torch

FIRST_PROOF = 64
"""Steps by which a leak that the sources prove is called one, the record pass included."""


def check(step: Callable[[], object]) -> stepleak.Result:
    return stepleak.check(step, device="cpu")


class Kept:
    def __init__(self, most: int) -> None:
        self.most = most
        self.items: list[torch.Tensor] = []
        self.cache: dict[int, torch.Tensor] = {}
        self.steps = 0
        self.first_epoch = True

    def endless(self) -> None:
        self.items.append(torch.zeros(64))

    def every_third(self) -> None:
        self.steps += 1
        tensor = torch.zeros(64)
        if self.steps % 3 == 0:
            self.items.append(tensor)


class Ring(Kept):
    def step(self) -> None:
        self.items.append(torch.zeros(64))
        if len(self.items) > self.most:
            self.items.pop(0)


class LaidOut(Kept):
    """Made with all its places, which a count goes round in."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.slots: list[torch.Tensor | None] = [None] * most

    def step(self) -> None:
        self.slots[self.steps] = torch.zeros(64)
        self.steps += 1
        if self.steps == len(self.slots):
            self.steps = 0


class Store:
    """Its tensor lies in a dict of its own. Each of these classes' objects has had its namespace asked for."""

    def __init__(self, mapping: dict[str, torch.Tensor]) -> None:
        self.mapping = mapping


class Part:
    def __init__(self, sample: object) -> None:
        self.sample = sample
        assert vars(self)


class Data:
    def __init__(self, part: object) -> None:
        self.part = part
        assert vars(self)


class LaidOutSamples(LaidOut):
    """The places are taken by objects of objects."""

    def step(self) -> None:
        store = Store({"x": torch.zeros(64)})
        assert vars(store)
        self.slots[self.steps] = Data(Part(store))  # type: ignore[call-overload]
        self.steps += 1
        if self.steps == len(self.slots):
            self.steps = 0


class FirstEpoch(Kept):
    def step(self) -> None:
        self.steps += 1
        if self.first_epoch:
            self.items.append(torch.zeros(64))
        self.first_epoch = self.steps < self.most


class FirstEpochElsewhere(Kept):
    def keep(self) -> None:
        self.items.append(torch.zeros(64))

    def step(self) -> None:
        self.steps += 1
        if self.steps < self.most:
            self.keep()


class Cached(Kept):
    def step(self) -> None:
        self.steps += 1
        key = self.steps % self.most
        if key not in self.cache:
            self.cache[key] = torch.zeros(64)


class Epochs(Kept):
    def step(self) -> None:
        self.steps += 1
        self.items.append(torch.zeros(64))
        if self.steps % self.most == 0:
            self.items.clear()


def test_a_list_that_nothing_bounds_is_a_leak_at_once() -> None:
    result = check(Kept(0).endless)
    assert result.verdict == "leak", result.report
    assert result.steps <= FIRST_PROOF
    assert result.findings[0]["structure"]["type"] == "unbounded"
    assert "nothing in your sources takes anything out of it" in result.report


def test_a_fill_of_every_third_step_is_a_leak() -> None:
    assert check(Kept(0).every_third).verdict == "leak"


def test_a_list_that_is_cut_by_hand_is_run_full() -> None:
    result = check(Ring(100).step)
    assert result.verdict == "clean", result.report
    assert "filled a container bounded at 100 before it settled" in result.report


def test_a_list_that_is_made_with_all_its_places_is_bounded_by_these() -> None:
    result = check(LaidOut(256).step)
    assert result.verdict == "clean", result.report
    assert "filled a container bounded at 256 before it settled" in result.report


def test_places_that_objects_of_objects_take_are_bounded_likewise() -> None:
    """However many namespaces lie on the way, these are no links of a chain."""
    result = check(LaidOutSamples(300).step)
    assert result.verdict == "clean", result.report


def test_places_that_are_not_taken_yet_are_waited_for() -> None:
    result = check(LaidOut(5000).step)
    assert result.verdict == "inconclusive", result.report
    assert "bounded at 5000 by " in result.report
    assert "full at about step 5000" in result.report


def test_a_bound_beyond_the_budget_is_named_with_its_line() -> None:
    result = check(Ring(5000).step)
    assert result.verdict == "inconclusive", result.report
    assert "bounded at 5000 by " in result.report
    assert result.steps <= FIRST_PROOF


def test_what_is_kept_in_a_first_epoch_only_is_no_leak() -> None:
    assert check(FirstEpoch(120).step).verdict == "clean"
    assert check(FirstEpochElsewhere(120).step).verdict == "clean"


def test_a_cache_that_is_asked_first_is_run_on() -> None:
    assert check(Cached(300).step).verdict == "clean"


def test_a_list_that_an_epoch_clears_is_run_on() -> None:
    assert check(Epochs(300).step).verdict == "clean"


def test_a_bounded_cache_of_functools_is_run_full() -> None:
    @functools.lru_cache(100)
    def mask(length: int) -> torch.Tensor:
        return torch.zeros(64) + length

    steps = iter(range(1_000_000))
    result = check(lambda: mask(next(steps)))
    assert result.verdict == "clean", result.report
