# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A loop that shows the running mean of its loss, corrected for the start as Adam corrects its moments."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn


class RunningMean:
    def __init__(self, decay: float = 0.98) -> None:
        self.decay, self.mean, self.count = decay, torch.zeros(()), 0

    def update(self, value: torch.Tensor) -> torch.Tensor:
        self.count += 1
        self.mean = self.decay * self.mean + (1 - self.decay) * value
        return self.mean / (1 - self.decay**self.count)


class Loop:
    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.mean = RunningMean()
        self.mean.mean = self.mean.mean.to(device)
        self.shown = torch.zeros(())
        self.device = device

    def train(self) -> torch.Tensor:
        loss = self.model(torch.rand(8, 16, device=self.device)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


@leak(
    kind="graph_retention",
    report="alexhernandezgarcia/gflownet#133",
    line="self.mean = self.decay * self.mean + (1 - self.decay) * value",
    holder=".mean (RunningMean) .mean",
)
def running_mean_shown(device: str) -> Callable[[], None]:
    """The mean keeps the graph of every loss; what is shown is made of it, and is no more than the newest of these."""
    loop = Loop(device)

    def step() -> None:
        loop.shown = loop.mean.update(loop.train())

    return step


@clean(report="alexhernandezgarcia/gflownet#133")
def running_mean_shown_clean(device: str) -> Callable[[], None]:
    """The mean is of numbers without a graph."""
    loop = Loop(device)

    def step() -> None:
        loop.shown = loop.mean.update(loop.train().detach())

    return step
