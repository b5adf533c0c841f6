# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A data set whose batches are cached where they are first read."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

WIDTH = 256


class CachingReader:
    """Reads the batches of a data set over and over, and keeps each one under a key."""

    def __init__(self, device: str, batches_an_epoch: int, has_key_of_its_step: bool) -> None:
        self.device = device
        self.batches_an_epoch = batches_an_epoch
        self.has_key_of_its_step = has_key_of_its_step
        self.cache: dict[int, torch.Tensor] = {}
        self.steps = 0

    def step(self) -> None:
        key = self.steps if self.has_key_of_its_step else self.steps % self.batches_an_epoch
        self.steps += 1
        if key not in self.cache:
            self.cache[key] = torch.zeros(WIDTH, device=self.device)
        self.cache[key].sum()


@clean(report="pytorch/pytorch#20433")
def data_set_cached_by_step_clean(device: str) -> Callable[[], None]:
    """300 batches are cached in the first epoch and found again in all later ones."""
    return CachingReader(device, 300, has_key_of_its_step=False).step


@leak(
    kind="growth",
    report="pytorch/pytorch#20433",
    line=("self.cache[key] = torch.zeros(", "key = self.steps if self.has_key_of_its_step"),
    holder=".cache",
    bytes_per_step=WIDTH * 4.0,
)
def data_set_cached_by_step(device: str) -> Callable[[], None]:
    """The key is the number of the step, so that nothing is ever found again."""
    return CachingReader(device, 300, has_key_of_its_step=True).step
