# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A dict of average meters adds up attached metrics over an epoch that never ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from stepleak.scenario import clean, leak
from torch import nn


class AverageMeter:
    """Sum and count of a value, the piece of code that every training script copies."""

    def __init__(self) -> None:
        self.sum: Any = 0.0
        self.count = 0

    def update(self, value: Any, count: int = 1) -> None:
        self.sum = self.sum + value * count
        self.count += count


EPOCH_METRICS: dict[str, AverageMeter] = {}


def make_training(device: str) -> Callable[[], dict[str, torch.Tensor]]:
    """One batch of matching two point sets; returns three losses after the backward of their sum."""
    torch.manual_seed(0)
    EPOCH_METRICS.clear()
    encoder = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)).to(device)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.01)

    def train_batch() -> dict[str, torch.Tensor]:
        source, target = encoder(torch.randn(8, 32, device=device)), encoder(torch.randn(8, 32, device=device))
        losses = {
            "match": (source @ target.T - torch.eye(8, device=device)).square().mean(),
            "flow": (source - target).abs().mean(),
        }
        losses["total"] = losses["match"] + 0.1 * losses["flow"]
        optimizer.zero_grad()
        losses["total"].backward()
        optimizer.step()
        return losses

    return train_batch


@leak(
    kind="graph_retention",
    report="pnnl/neuromancer#292",
    line=("self.sum = self.sum + value * count", ".update(value, 8)"),
    holder="EPOCH_METRICS",
)
def epoch_metrics_dict_attached(device: str) -> Callable[[], None]:
    """Every loss of the batch goes into its meter of a dict that is reset when the epoch ends.

    The meters' sums are tensors with a graph, three chains over the same steps, and the code that
    adds them up is far from the code that computes them.
    """
    train_batch = make_training(device)

    def step() -> None:
        for name, value in train_batch().items():
            EPOCH_METRICS.setdefault(name, AverageMeter()).update(value, 8)

    return step


@clean(report="pnnl/neuromancer#292")
def epoch_metrics_dict_attached_clean(device: str) -> Callable[[], None]:
    """The same meters add up numbers."""
    train_batch = make_training(device)

    def step() -> None:
        for name, value in train_batch().items():
            EPOCH_METRICS.setdefault(name, AverageMeter()).update(value.item(), 8)

    return step
