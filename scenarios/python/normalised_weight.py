# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: a weight that is computed anew before each forward pass, which was once reported as a leak."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 32


class Training:
    """Trains length and direction of a weight apart from each other."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.layer = nn.utils.parametrizations.weight_norm(nn.Linear(WIDTH, WIDTH)).to(device)
        self.optimizer = torch.optim.SGD(self.layer.parameters(), lr=1e-2)

    def step(self) -> None:
        inputs = torch.rand(8, WIDTH, device=self.device)
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.layer(inputs), inputs).backward()
        self.optimizer.step()


@clean(report="pytorch/pytorch#73481")
def normalised_weight(device: str) -> Callable[[], None]:
    """The weight of each step has a graph, and is gone with it."""
    return Training(device).step
