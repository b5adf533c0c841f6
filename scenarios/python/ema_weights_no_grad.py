# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: an average of the weights is updated in place without gradients."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn


class MeanTeacher:
    """A student that learns to agree with the moving average of itself."""

    def __init__(self, device: str, decay: float = 0.99) -> None:
        torch.manual_seed(0)
        self.device = device
        self.decay = decay
        self.student = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)).to(device)
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.optimizer = torch.optim.AdamW(self.student.parameters(), lr=1e-3)

    @torch.no_grad()
    def update_teacher(self) -> None:
        for average, weight in zip(self.teacher.parameters(), self.student.parameters(), strict=True):
            average.mul_(self.decay).add_(weight, alpha=1 - self.decay)

    def __call__(self) -> None:
        inputs = torch.randn(8, 32, device=self.device)
        noisy = inputs + 0.1 * torch.randn_like(inputs)
        loss = nn.functional.mse_loss(self.student(noisy), self.teacher(inputs))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.update_teacher()


@clean(report="ultralytics/ultralytics#25315")
def ema_weights_no_grad(device: str) -> Callable[[], None]:
    """The teacher's weights depend on every step so far, which static rules took for an ever-growing graph."""
    return MeanTeacher(device)
