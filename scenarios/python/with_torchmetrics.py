# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of torchmetrics that are computed at the end of each epoch, and reset there or not."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 16
BATCH = 12
STEPS_AN_EPOCH = 10


class Classification:
    """Trains a binary classifier; an exact curve needs all scores of its epoch, an accuracy only counts."""

    def __init__(self, device: str) -> None:
        from torchmetrics.classification import BinaryAccuracy, BinaryAveragePrecision

        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, 1).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.accuracy = BinaryAccuracy().to(device)
        self.precision = BinaryAveragePrecision().to(device)
        self.steps_done = 0
        self.shown = (0.0, 0.0)

    def train(self) -> bool:
        """Whether the epoch has ended."""
        inputs = torch.randn(BATCH, WIDTH, device=self.device)
        labels = (inputs[:, 0] > 0).long()
        scores = self.model(inputs).squeeze(1)
        self.optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(scores, labels.float()).backward()
        self.optimizer.step()
        self.accuracy.update(scores.detach(), labels)
        self.precision.update(scores.detach(), labels)
        self.steps_done += 1
        return self.steps_done % STEPS_AN_EPOCH == 0

    def show(self) -> None:
        self.shown = self.accuracy.compute().item(), self.precision.compute().item()

    def step_without_reset(self) -> None:
        if self.train():
            self.show()

    def step(self) -> None:
        if self.train():
            self.show()
            self.accuracy.reset()
            self.precision.reset()


@leak(
    kind=("detached_activation", "growth"),
    report="Lightning-AI/torchmetrics#3294",
    line="self.precision.update(scores.detach(), labels)",
    holder=".precision",
    needs="torchmetrics",
)
def with_torchmetrics_never_reset(device: str) -> Callable[[], None]:
    """The metric keeps the scores of all epochs."""
    return Classification(device).step_without_reset


@clean(report="Lightning-AI/torchmetrics#3294", needs="torchmetrics")
def with_torchmetrics_never_reset_clean(device: str) -> Callable[[], None]:
    """The metric is reset when it has been read."""
    return Classification(device).step
