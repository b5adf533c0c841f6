# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: a list of losses as numbers, one float a step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn


@clean(report="OML-Team/open-metric-learning#118")
def loss_items_logged(device: str) -> Callable[[], None]:
    """The loop logs loss.item() and the learning rate, and plots both when training ends.

    Both lists grow for ever, by some sixty bytes a step of Python floats: a log, no tensor and no graph.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=50)
    losses: list[float] = []
    learning_rates: list[float] = []

    def step() -> None:
        inputs, labels = torch.randn(8, 32, device=device), torch.randint(10, (8,), device=device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        learning_rates.append(schedule.get_last_lr()[0])

    return step
