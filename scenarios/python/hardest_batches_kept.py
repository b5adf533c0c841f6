# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: a fixed number of batches is kept out of all that were seen: the hardest ones."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 32
KEPT = 40


class Training:
    """Trains on batches of random size."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.draws = random.Random(0)
        self.model = nn.Linear(WIDTH, WIDTH).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)

    def draw(self) -> torch.Tensor:
        return torch.rand(self.draws.randrange(4, 12), WIDTH, device=self.device)

    def train(self, batch: torch.Tensor) -> float:
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(batch), batch)
        loss.backward()
        self.optimizer.step()
        return loss.item()


class HardExamples(Training):
    """Keeps those with the largest losses in a heap, to train on them once more at the end."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.hardest: list[tuple[float, int, torch.Tensor]] = []
        self.numbers = itertools.count()

    def step(self) -> None:
        batch = self.draw()
        entry = (self.train(batch), next(self.numbers), batch)
        if len(self.hardest) < KEPT:
            heapq.heappush(self.hardest, entry)
        else:
            heapq.heappushpop(self.hardest, entry)


@clean(report="BY571/IQN-and-Extensions#3")
def hardest_batches_kept(device: str) -> Callable[[], None]:
    """A heap of forty: an entry is replaced ever more rarely, and by one of another size."""
    return HardExamples(device).step
