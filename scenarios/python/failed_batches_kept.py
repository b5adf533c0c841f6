# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A trainer that goes on after a batch that fails, and keeps what failed."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 256
FAILING_PART = 0.1


class Trainer:
    """Some of its batches, at random, hold a value that the loss refuses."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, 8).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.draws = random.Random(0)
        self.failures: list[ValueError] = []
        self.failure_count = 0

    def train(self, batch: torch.Tensor) -> None:
        loss = self.model(batch).square().mean()
        if self.draws.random() < FAILING_PART:
            raise ValueError("a batch out of range")
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def step_keeping_errors(self) -> None:
        try:
            self.train(torch.rand(4, WIDTH, device=self.device))
        except ValueError as error:
            self.failures.append(error)

    def step_counting_errors(self) -> None:
        try:
            self.train(torch.rand(4, WIDTH, device=self.device))
        except ValueError:
            self.failure_count += 1


@leak(
    kind=("graph_retention", "attached_activation", "growth"),
    report="pytorch/pytorch#18853",
    line="self.failures.append(error)",
    holder=".failures",
)
def failed_batches_kept(device: str) -> Callable[[], None]:
    """The exceptions are kept for a summary, and each one's traceback keeps the frame with its batch and its loss."""
    return Trainer(device).step_keeping_errors


@clean(report="pytorch/pytorch#18853")
def failed_batches_kept_clean(device: str) -> Callable[[], None]:
    """The failures are counted; what failed is gone with its frame."""
    return Trainer(device).step_counting_errors
