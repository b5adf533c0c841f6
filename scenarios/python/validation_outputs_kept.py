# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A training loop that validates in every 25th step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

EVERY = 25
WIDTH = 64


class Trainer:
    """Trains, and now and then predicts."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, WIDTH).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.predictions: list[torch.Tensor] = []
        self.steps = 0

    def train(self) -> None:
        self.steps += 1
        self.optimizer.zero_grad()
        self.model(torch.rand(8, WIDTH, device=self.device)).square().mean().backward()
        self.optimizer.step()

    def predicted(self) -> torch.Tensor:
        with torch.no_grad():
            return self.model(torch.ones(128, WIDTH, device=self.device))

    def step_keeping(self) -> None:
        self.train()
        if self.steps % EVERY == 0:
            self.predictions.append(self.predicted())

    def step_replacing(self) -> None:
        self.train()
        if self.steps % EVERY == 0:
            self.predictions = [self.predicted()]


@leak(
    kind=("detached_activation", "growth"),
    report="Lightning-AI/pytorch-lightning#8583",
    line="self.predictions.append(self.predicted())",
    holder=".predictions",
)
def validation_outputs_kept(device: str) -> Callable[[], None]:
    """The predictions of each validation are appended to a list that nobody reads: 32 KiB in every 25th step."""
    return Trainer(device).step_keeping


@clean(report="Lightning-AI/pytorch-lightning#8583")
def validation_outputs_kept_clean(device: str) -> Callable[[], None]:
    """Only the newest predictions are kept."""
    return Trainer(device).step_replacing
