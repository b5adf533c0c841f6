# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A curriculum that remembers how hard each of hundreds of samples was."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable, MutableSequence

import torch
from stepleak.scenario import clean, leak

SAMPLES = 256
BATCH = 32
REMEMBERED = 8


class Curriculum:
    """Trains on samples drawn at random, and notes the loss of each."""

    def __init__(self, device: str, make_history: Callable[[], MutableSequence[float]]) -> None:
        self.draws = random.Random(0)
        self.inputs = torch.randn(SAMPLES, 16, device=device)
        self.weight = torch.zeros(16, device=device)
        self.history: dict[int, MutableSequence[float]] = defaultdict(make_history)

    def step(self) -> None:
        samples = self.draws.sample(range(SAMPLES), BATCH)
        losses = (self.inputs[samples] @ self.weight - 1).square()
        for sample, loss in zip(samples, losses.tolist(), strict=True):
            self.history[sample].append(loss)


@leak(
    kind="host_heap",
    report="Lightning-AI/torchmetrics#1738",
    line="self.history[sample].append(loss)",
    holder=".history",
)
def losses_by_sample(device: str) -> Callable[[], None]:
    """Each list gets an entry in one of eight steps: none of them gains much."""
    return Curriculum(device, list).step


@clean(report="Lightning-AI/torchmetrics#1738")
def losses_by_sample_clean(device: str) -> Callable[[], None]:
    """The newest eight losses of each sample."""
    return Curriculum(device, lambda: deque(maxlen=REMEMBERED)).step
