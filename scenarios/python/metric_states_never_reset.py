# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A ranking metric that needs all scores of an epoch, and is not told that the epoch has ended."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 32
BATCH = 16
STEPS_AN_EPOCH = 12


class AveragePrecision(nn.Module):
    """Exact, so that it keeps what it was given until `reset`."""

    def __init__(self) -> None:
        super().__init__()
        self.scores: list[torch.Tensor] = []
        self.labels: list[torch.Tensor] = []

    def update(self, scores: torch.Tensor, labels: torch.Tensor) -> None:
        self.scores.append(scores.detach())
        self.labels.append(labels)

    def compute(self) -> torch.Tensor:
        order = torch.cat(self.scores).argsort(descending=True)
        hits = torch.cat(self.labels)[order]
        precision = hits.cumsum(0) / torch.arange(1, hits.numel() + 1, device=hits.device)
        return (precision * hits).sum() / hits.sum().clamp(min=1)

    def reset(self) -> None:
        self.scores.clear()
        self.labels.clear()


class Ranking:
    """Trains a binary classifier and computes its metric at the end of each epoch."""

    def __init__(self, device: str, metric: AveragePrecision) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, 1).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.metric = metric
        self.steps_done = 0
        self.precision = 0.0

    def train_batch(self) -> bool:
        """Whether the epoch has ended."""
        inputs = torch.randn(BATCH, WIDTH, device=self.device)
        labels = (inputs[:, 0] > 0).float()
        scores = self.model(inputs).squeeze(1)
        self.optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(scores, labels).backward()
        self.optimizer.step()
        self.metric.update(scores, labels)
        self.steps_done += 1
        return self.steps_done % STEPS_AN_EPOCH == 0

    def step(self) -> None:
        if self.train_batch():
            self.precision = self.metric.compute().item()


class RankingByEpoch(Ranking):
    """Resets its metric after reading it."""

    def step(self) -> None:
        if self.train_batch():
            self.precision = self.metric.compute().item()
            self.metric.reset()


@leak(
    kind=("detached_activation", "growth"),
    report="Lightning-AI/torchmetrics#3294",
    line=("self.scores.append(scores.detach())", "self.labels.append(labels)"),
    holder=(".scores", ".labels"),
    bytes_per_step=2 * BATCH * 4.0,
)
def metric_states_never_reset(device: str) -> Callable[[], None]:
    """The metric is computed at each epoch's end over all epochs so far."""
    return Ranking(device, AveragePrecision()).step


@clean(report="Lightning-AI/torchmetrics#3294")
def metric_states_never_reset_clean(device: str) -> Callable[[], None]:
    """The metric is reset when it has been computed."""
    return RankingByEpoch(device, AveragePrecision()).step
