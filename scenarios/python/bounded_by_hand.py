# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Histories and caches that their own code bounds, in ways in which people write that, and one that nothing bounds."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

WIDTH = 256
BOUND = 150


class History:
    """Keeps the newest batches in a list."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.batches: list[torch.Tensor] = []

    def popped(self) -> None:
        self.batches.append(torch.zeros(WIDTH, device=self.device))
        if len(self.batches) > BOUND:
            self.batches.pop(0)


class TrimmedHistory:
    """The same, with what is too old sliced off."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.batches: list[torch.Tensor] = []

    def step(self) -> None:
        self.batches.append(torch.zeros(WIDTH, device=self.device))
        self.batches = self.batches[-BOUND:]


class EndlessHistory:
    """The same, with the trim forgotten."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.batches: list[torch.Tensor] = []

    def step(self) -> None:
        self.batches.append(torch.zeros(WIDTH, device=self.device))  # and no trim


class RecentlyUsed:
    """A cache that throws out what was not used for longest."""

    def __init__(self, device: str, capacity: int) -> None:
        self.device = device
        self.capacity = capacity
        self.entries: OrderedDict[int, torch.Tensor] = OrderedDict()
        self.requests = 0

    def step(self) -> None:
        self.requests += 1
        key = self.requests * 7919 % 10007
        if key in self.entries:
            self.entries.move_to_end(key)
            return
        self.entries[key] = torch.zeros(WIDTH, device=self.device)
        if len(self.entries) > self.capacity:
            self.entries.popitem(last=False)


@clean(report="BY571/IQN-and-Extensions#3")
def history_popped_by_hand(device: str) -> Callable[[], None]:
    """A list that drops its first entry once it is longer than 150."""
    return History(device).popped


@clean(report="microsoft/hi-ml#293")
def history_never_trimmed_clean(device: str) -> Callable[[], None]:
    """A list that is replaced by its last 150 entries."""
    return TrimmedHistory(device).step


@leak(kind="growth", report="microsoft/hi-ml#293", line="# and no trim", holder=".batches", bytes_per_step=WIDTH * 4.0)
def history_never_trimmed(device: str) -> Callable[[], None]:
    """A list that nothing bounds: its sources prove the leak long before its trend could."""
    return EndlessHistory(device).step


@clean(report="pytorch/pytorch#48049")
def least_recently_used_cache_fills(device: str) -> Callable[[], None]:
    """An `OrderedDict` that throws out its oldest entry beyond 150."""
    return RecentlyUsed(device, BOUND).step


@clean(report="pytorch/pytorch#48049")
def lru_cache_fills(device: str) -> Callable[[], None]:
    """A mask for each length, behind `functools.lru_cache(150)`, with a new length in each step."""

    @functools.lru_cache(BOUND)
    def mask(length: int) -> torch.Tensor:
        return torch.zeros(WIDTH, device=device) + length

    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1
        mask(steps)

    return step
