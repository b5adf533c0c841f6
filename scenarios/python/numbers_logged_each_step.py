# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: the log of a trainer, a dict of numbers for each step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 32


class Trainer:
    """Logs what a progress bar and a plot need."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, WIDTH).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.log_history: list[dict[str, float]] = []

    def step(self) -> None:
        inputs = torch.rand(8, WIDTH, device=self.device)
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(inputs), inputs)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.log_history.append({"loss": loss.item(), "grad_norm": norm.item(), "step": len(self.log_history)})


@clean(report="OML-Team/open-metric-learning#118")
def numbers_logged_each_step(device: str) -> Callable[[], None]:
    """A few hundred bytes of host memory a step, and no tensor: a log of the run, and meant to be one."""
    return Trainer(device).step
