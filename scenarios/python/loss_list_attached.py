# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A list of losses for the plot at the end holds tensors instead of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from stepleak.scenario import clean, leak
from torch import nn


class Classifier(nn.Module):
    """A two-layer classifier of ten classes."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(32, 32)
        self.head = nn.Linear(32, 10)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.hidden(inputs)))


class Trainer:
    """Trains a classifier and remembers its losses."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = Classifier().to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.losses: list[Any] = []

    def train_batch(self) -> torch.Tensor:
        inputs = torch.randn(8, 32, device=self.device)
        labels = torch.randint(10, (8,), device=self.device)
        loss = nn.functional.cross_entropy(self.model(inputs), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


class TrainerKeepingTensors(Trainer):
    """Remembers each loss as the tensor that it is."""

    def training_step(self) -> None:
        self.losses.append(self.train_batch())


class TrainerKeepingNumbers(Trainer):
    """Remembers each loss as a number."""

    def training_step(self) -> None:
        self.losses.append(self.train_batch().item())


@leak(
    kind="graph_retention",
    report="IBM/mi-prometheus#111",
    line="self.losses.append(self.train_batch())",
    holder=".losses",
)
def loss_list_attached(device: str) -> Callable[[], None]:
    """The trainer appends each loss to a list that lives as long as itself.

    Every entry is a scalar tensor with a grad_fn, so each step leaves one scalar and the nodes of its graph.
    """
    return TrainerKeepingTensors(device).training_step


@clean(report="IBM/mi-prometheus#111")
def loss_list_attached_clean(device: str) -> Callable[[], None]:
    """The same trainer appends loss.item(): the list grows by one float a step, which is a log, not a leak."""
    return TrainerKeepingNumbers(device).training_step
