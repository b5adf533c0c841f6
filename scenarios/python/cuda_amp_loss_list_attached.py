# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The log of a mixed-precision training holds the unscaled losses as tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 64


class MixedPrecisionTrainer:
    """Trains in float16 under a gradient scaler."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.device_type = torch.device(device).type
        self.model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH)).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.scaler = torch.amp.GradScaler(self.device_type)
        self.losses: list[Any] = []

    def train_batch(self) -> torch.Tensor:
        inputs = torch.randn(16, WIDTH, device=self.device)
        with torch.autocast(self.device_type, dtype=torch.float16):
            loss = nn.functional.mse_loss(self.model(inputs), inputs)
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss


@leak(
    kind="graph_retention",
    report="IBM/mi-prometheus#111",
    line="trainer.losses.append(trainer.train_batch())",
    holder=".losses",
    needs_cuda=True,
)
def cuda_amp_loss_list_attached(device: str) -> Callable[[], None]:
    """backward() runs on the scaled loss; the unscaled one is appended to the log with its graph.

    Each step leaves one scalar, the nodes of its forward pass and those of autocast's casts.
    """
    trainer = MixedPrecisionTrainer(device)
    return lambda: trainer.losses.append(trainer.train_batch())


@clean(report="IBM/mi-prometheus#111", needs_cuda=True)
def cuda_amp_loss_list_attached_clean(device: str) -> Callable[[], None]:
    """The same trainer appends loss.item(): a log of numbers."""
    trainer = MixedPrecisionTrainer(device)
    return lambda: trainer.losses.append(trainer.train_batch().item())
