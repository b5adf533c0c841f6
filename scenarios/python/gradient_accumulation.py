# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: gradients add up over four steps and are then set to None."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

ACCUMULATE = 4


@clean(report="huggingface/transformers#6999")
def gradient_accumulation(device: str) -> Callable[[], None]:
    """Three micro-batches out of four end with gradients in place, the fourth without.

    Memory at the boundary has a period of four steps; a window of another length sees a trend.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    running_loss = torch.zeros((), device=device)
    micro_batches = 0

    def step() -> None:
        nonlocal micro_batches
        inputs = torch.randn(8, 32, device=device)
        loss = nn.functional.mse_loss(model(inputs), inputs) / ACCUMULATE
        loss.backward()
        running_loss.add_(loss.detach())
        micro_batches += 1
        if micro_batches % ACCUMULATE == 0:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            running_loss.zero_()

    return step
