# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Weights are averaged after a warm-up: from then on each step leaves a copy."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 24
WARM_UP = 40


class Training:
    """Trains with a constant rate; the second phase begins at step 40."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, WIDTH, bias=False).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.steps_done = 0

    def train(self) -> bool:
        """Whether the warm-up is over."""
        inputs = torch.randn(8, WIDTH, device=self.device)
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.model(inputs), inputs).backward()
        self.optimizer.step()
        self.steps_done += 1
        return self.steps_done > WARM_UP


class CollectsWeights(Training):
    """Collects weights, to average them when all is done."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.collected: list[torch.Tensor] = []

    def step(self) -> None:
        if self.train():
            self.collected.append(self.model.weight.detach().clone())


class AveragesWeights(Training):
    """Averages as it goes."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.mean: torch.Tensor | None = None
        self.count = 0

    def step(self) -> None:
        if not self.train():
            return
        self.count += 1
        weight = self.model.weight.detach()
        self.mean = weight.clone() if self.mean is None else self.mean.lerp(weight, 1 / self.count)


@leak(
    kind=("growth", "detached_activation"),
    report="PaddlePaddle/PaddleNLP#6003",
    line="self.collected.append(",
    holder=".collected",
    bytes_per_step=WIDTH * WIDTH * 4.0,
)
def collected_after_warm_up(device: str) -> Callable[[], None]:
    """Nothing leaks for forty steps; then a copy of the weights a step."""
    return CollectsWeights(device).step


@clean(report="PaddlePaddle/PaddleNLP#6003")
def collected_after_warm_up_clean(device: str) -> Callable[[], None]:
    """A running mean is made once, at step 41, and updated."""
    return AveragesWeights(device).step
