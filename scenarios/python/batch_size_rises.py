# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: the batch gets larger in each step, until it is as large as it may be."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 16
FIRST, LAST = 8, 208


class GrowingBatches:
    """Adds a row to the batch in each step, as a schedule of the gradient's noise asks for; the last output stays."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.rows = FIRST
        self.model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.output = torch.zeros(0, device=device)

    def step(self) -> None:
        inputs = torch.rand(self.rows, WIDTH, device=self.device)
        self.output = self.model(inputs)
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.output, inputs).backward()
        self.optimizer.step()
        self.rows = min(LAST, self.rows + 1)


@clean(report="pytorch/pytorch#42815")
def batch_size_rises_until_step_200(device: str) -> Callable[[], None]:
    """What a step leaves to the next is a row larger each time, for two hundred steps; no step leaves a tensor more."""
    return GrowingBatches(device).step
