# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: a backbone is unfrozen after twenty-five steps and gets gradients and moments of its own."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

UNFREEZE_AT = 25


class FineTuning:
    """Trains the head first; the backbone joins the optimizer later, with a smaller learning rate."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.backbone = nn.Linear(32, 32).to(device).requires_grad_(False)
        self.head = nn.Linear(32, 8).to(device)
        self.optimizer = torch.optim.Adam(self.head.parameters(), lr=1e-3)
        self.step_count = 0

    def unfreeze(self) -> None:
        self.backbone.requires_grad_(True)
        self.optimizer.add_param_group({"params": list(self.backbone.parameters()), "lr": 1e-4})

    def step(self) -> None:
        if self.step_count == UNFREEZE_AT:
            self.unfreeze()
        self.step_count += 1
        inputs = torch.randn(8, 32, device=self.device)
        labels = torch.randint(8, (8,), device=self.device)
        loss = nn.functional.cross_entropy(self.head(torch.relu(self.backbone(inputs))), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


@clean(report="git-disl/recap#2")
def parameters_unfrozen_late(device: str) -> Callable[[], None]:
    """Long after any warm-up, one step adds a parameter group: memory and graph nodes jump once and stay."""
    return FineTuning(device).step
