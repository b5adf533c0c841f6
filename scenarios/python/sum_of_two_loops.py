# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Two methods add to one sum of losses, of which one forgets to detach."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 16


class Training:
    """Trains, validates, and adds up what both lost for one number of the run."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.total = torch.zeros((), device=device)

    def loss(self) -> torch.Tensor:
        inputs = torch.rand(8, WIDTH, device=self.device)
        return nn.functional.mse_loss(self.model(inputs), inputs)

    def train(self) -> torch.Tensor:
        loss = self.loss()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def validate(self) -> None:
        with torch.no_grad():
            self.total += self.loss().detach()

    def step_attached(self) -> None:
        self.total = self.total + self.train()  # with its graph
        self.validate()

    def step(self) -> None:
        self.total = self.total + self.train().detach()
        self.validate()


@leak(
    kind="graph_retention",
    report="huggingface/transformers#6999",
    line="# with its graph",
    holder=".total",
)
def sum_of_two_loops(device: str) -> Callable[[], None]:
    """The losses of the training have graphs; those of the validation, added in another method, do not."""
    return Training(device).step_attached


@clean(report="huggingface/transformers#6999")
def sum_of_two_loops_clean(device: str) -> Callable[[], None]:
    """Both are detached."""
    return Training(device).step
