# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: windows over the training so far, bounded in ways that are not a `deque` or a trimmed list."""

from __future__ import annotations

from collections.abc import Callable
from queue import Queue

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 64


class Regression:
    """What both train."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, WIDTH).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.steps_done = 0

    def train(self, batch: torch.Tensor) -> torch.Tensor:
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(batch), batch)
        loss.backward()
        self.optimizer.step()
        self.steps_done += 1
        return loss.detach()

    def draw(self) -> torch.Tensor:
        return torch.rand(4, WIDTH, device=self.device)


class MomentumQueue(Regression):
    """Keys of a contrastive loss: a ring of 120 rows that is written in place."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.keys: list[torch.Tensor | None] = [None] * 120

    def step(self) -> None:
        batch = self.draw()
        self.train(batch)
        with torch.no_grad():
            self.keys[self.steps_done % 120] = nn.functional.normalize(self.model(batch).mean(dim=0), dim=0)


class WorkQueue(Regression):
    """Batches on their way to a trainer that starts late: a queue of 40 that is taken from when it is full."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.ready: Queue[torch.Tensor] = Queue(maxsize=40)

    def step(self) -> None:
        if self.ready.full():
            self.train(self.ready.get())
        self.ready.put(self.draw())


@clean(report="BY571/IQN-and-Extensions#3")
def ring_of_120_keys(device: str) -> Callable[[], None]:
    """A list of 120 places that are written in turn; each place is empty until its first turn."""
    return MomentumQueue(device).step


@clean(report="pytorch/pytorch#97432")
def queue_of_40_batches(device: str) -> Callable[[], None]:
    """A `Queue(maxsize=40)` that is filled before the first batch is taken out."""
    return WorkQueue(device).step
