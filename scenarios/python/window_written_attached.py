# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A window of the newest features that is one tensor, each batch written into its next rows."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH, ROWS, BATCH = 16, 64, 4


class FeatureWindow:
    """Compares each batch with the mean of the newest features."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.encoder = nn.Linear(WIDTH, WIDTH).to(device)
        self.optimizer = torch.optim.SGD(self.encoder.parameters(), lr=0.01)
        self.window = torch.zeros(ROWS, WIDTH, device=device)
        self.place = 0
        self.distance = 0.0

    def keep(self, features: torch.Tensor) -> None:
        self.window[self.place : self.place + BATCH] = features
        self.place = (self.place + BATCH) % ROWS

    def step(self) -> None:
        features = self.encoder(torch.rand(BATCH, WIDTH, device=self.device))
        self.distance = (features - self.window.detach().mean(dim=0)).square().mean().item()
        self.keep(features)
        self.optimizer.zero_grad()
        features.square().mean().backward()
        self.optimizer.step()


class FeatureWindowWithoutGraph(FeatureWindow):
    """Writes what has no graph."""

    def keep(self, features: torch.Tensor) -> None:
        super().keep(features.detach())


@leak(
    kind=("attached_activation", "graph_retention"),
    report="pytorch/pytorch#10830",
    line="self.window[self.place : self.place + BATCH] = features",
    holder=".window",
)
def window_written_attached(device: str) -> Callable[[], None]:
    """Each write leads to the one before it, however often the window goes round."""
    torch.manual_seed(0)
    return FeatureWindow(device).step


@clean(report="pytorch/pytorch#10830")
def window_written_attached_clean(device: str) -> Callable[[], None]:
    """What is written was detached."""
    torch.manual_seed(0)
    return FeatureWindowWithoutGraph(device).step
