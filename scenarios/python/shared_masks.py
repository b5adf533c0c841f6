# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: masks in a weak-value dictionary, shared by the requests that are in work and gone with the last of them."""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable

import torch
from stepleak.scenario import clean

LENGTHS = 60
IN_WORK = 12


class Mask:
    """A causal mask that several requests share."""

    def __init__(self, length: int, device: str) -> None:
        self.values = torch.full((length, length), -1e9, device=device).triu(1)


class Decoding:
    """Decodes sequences of random length; a random one of those in work is done in each step."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.draws = random.Random(0)
        self.masks: weakref.WeakValueDictionary[int, Mask] = weakref.WeakValueDictionary()
        self.in_work: list[Mask] = []

    def mask(self, length: int) -> Mask:
        known = self.masks.get(length)
        if known is None:
            known = self.masks[length] = Mask(length, self.device)
        return known

    def step(self) -> None:
        self.in_work.append(self.mask(self.draws.randrange(1, LENGTHS)))
        if len(self.in_work) > IN_WORK:
            self.in_work.pop(self.draws.randrange(len(self.in_work)))


@clean(report="pytorch/pytorch#48049")
def shared_masks(device: str) -> Callable[[], None]:
    """The dictionary never grows beyond what is in work, though nothing is ever deleted from it."""
    return Decoding(device).step
