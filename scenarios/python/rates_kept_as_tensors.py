# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The smallest leak there is: one number of four bytes a step, as a tensor."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 16


class Scheduler:
    """Trains with a cosine schedule that it computes on the device."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, WIDTH).to(device)
        self.rate = torch.ones((), device=device)

    def train(self, step_number: int) -> None:
        inputs = torch.randn(4, WIDTH, device=self.device)
        loss = nn.functional.mse_loss(self.model(inputs), inputs)
        gradients = torch.autograd.grad(loss, list(self.model.parameters()))
        self.rate = torch.cos(torch.full((), step_number / 1000, device=self.device))
        with torch.no_grad():
            for parameter, gradient in zip(self.model.parameters(), gradients, strict=True):
                parameter -= 1e-2 * self.rate * gradient


class KeepingRates(Scheduler):
    """Keeps each step's rate for a plot."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.rates: list[torch.Tensor] = []

    def step(self) -> None:
        self.train(len(self.rates))
        self.rates.append(self.rate)


class KeepingLastRate(Scheduler):
    """Keeps the last rate."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.steps_done = 0

    def step(self) -> None:
        self.train(self.steps_done)
        self.steps_done += 1


@leak(
    kind=("detached_activation", "growth"),
    report="Kaixhin/Rainbow#33",
    line="self.rates.append(self.rate)",
    holder=".rates",
    bytes_per_step=4.0,
)
def rates_kept_as_tensors(device: str) -> Callable[[], None]:
    """A scalar tensor a step: four bytes of storage, and a hundred times that around it."""
    return KeepingRates(device).step


@clean(report="Kaixhin/Rainbow#33")
def rates_kept_as_tensors_clean(device: str) -> Callable[[], None]:
    """Only the rate of the last step is kept."""
    return KeepingLastRate(device).step
