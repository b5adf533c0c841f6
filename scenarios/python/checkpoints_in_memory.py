# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Copies of the weights that are made now and then, to go back to the best of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 24
EVERY = 7
PARAMETER_BYTES = (WIDTH * WIDTH + WIDTH) * 4


class Training:
    """Trains, and validates every seventh step."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, WIDTH).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.steps_done = 0

    def train(self) -> bool:
        """Whether it is time to validate."""
        inputs = torch.randn(8, WIDTH, device=self.device)
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.model(inputs), inputs).backward()
        self.optimizer.step()
        self.steps_done += 1
        return self.steps_done % EVERY == 0

    @torch.no_grad()
    def score(self) -> float:
        inputs = torch.randn(32, WIDTH, device=self.device)
        return nn.functional.mse_loss(self.model(inputs), inputs).item()


class KeepsAll(Training):
    """Remembers each copy with its score."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.checkpoints: list[tuple[float, dict[str, Any]]] = []

    def step(self) -> None:
        if self.train():
            self.checkpoints.append((self.score(), copy.deepcopy(self.model.state_dict())))


class KeepsBest(Training):
    """Remembers the best copy."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.best_score = float("inf")
        self.best: dict[str, Any] = {}

    def step(self) -> None:
        if self.train() and (score := self.score()) < self.best_score:
            self.best_score = score
            self.best = copy.deepcopy(self.model.state_dict())


@leak(
    kind=("growth", "detached_activation"),
    report="wandb/wandb#2644",
    line="self.checkpoints.append(",
    holder=".checkpoints",
    bytes_per_step=PARAMETER_BYTES / EVERY,
)
def checkpoints_in_memory(device: str) -> Callable[[], None]:
    """Every seventh step adds a copy of the weights to a list, from which only the best one is ever read."""
    return KeepsAll(device).step


@clean(report="wandb/wandb#2644")
def checkpoints_in_memory_clean(device: str) -> Callable[[], None]:
    """Only the best copy is kept; a better one replaces it."""
    return KeepsBest(device).step
