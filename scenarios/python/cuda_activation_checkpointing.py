# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: activations are dropped in the forward pass and computed again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn
from torch.utils.checkpoint import checkpoint

WIDTH = 64
LAYERS = 4


class CheckpointedModel(nn.Module):
    """Blocks with dropout, each of which is checkpointed."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))
            for _ in range(LAYERS)
        )

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        hidden = inputs
        for block in self.blocks:
            hidden = hidden + checkpoint(block, hidden, use_reentrant=False)
        return hidden


@clean(report="pytorch/pytorch#77284", needs_cuda=True)
def cuda_activation_checkpointing(device: str) -> Callable[[], None]:
    """Each block saves its input and the generator's state, and runs a second time when its gradient is wanted.

    Activations are born in the backward pass and die in it; nothing of a step outlives it.
    """
    torch.manual_seed(0)
    model = CheckpointedModel().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> None:
        inputs = torch.randn(32, WIDTH, device=device)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), inputs).backward()
        optimizer.step()

    return step
