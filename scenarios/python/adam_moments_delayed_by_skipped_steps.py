# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: a loss scaler skips the first twenty steps, so that Adam's moments arrive late."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn


class LossScaler:
    """Dynamic loss scaling: halves the scale and skips the step whenever a gradient overflows."""

    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.skipped = 0

    def step(self, loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
        (loss * self.scale).backward()
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if not all(torch.isfinite(grad).all() for grad in grads):
            self.scale /= 2
            self.skipped += 1
            return
        for grad in grads:
            grad.div_(self.scale)
        optimizer.step()


@clean(report="pytorch/pytorch#18643")
def adam_moments_delayed_by_skipped_steps(device: str) -> Callable[[], None]:
    """The scale starts far too high: twenty steps overflow and are skipped, the next creates the moments.

    Memory is flat for twenty steps, jumps once by two copies of the weights, and is flat for ever after.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 32)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = LossScaler(scale=2.0**148)

    def step() -> None:
        inputs = torch.randn(8, 32, device=device)
        optimizer.zero_grad()
        scaler.step(nn.functional.mse_loss(model(inputs), inputs), optimizer)

    return step
