# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""An ensemble of a model's snapshots, one of each cycle of its learning rate."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

CYCLE = 25
MEMBERS = 6


class Trainer:
    """Each cycle's end adds a copy of the model: some hundred Python objects, and tensors."""

    def __init__(self, device: str, most: int | None) -> None:
        torch.manual_seed(0)
        self.device = device
        layers = (nn.Linear(32, 48), nn.ReLU(), nn.BatchNorm1d(48), nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 4))
        self.model = nn.Sequential(*layers).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.members: deque[nn.Module] = deque(maxlen=most)
        self.steps = 0

    def step(self) -> None:
        loss = self.model(torch.rand(16, 32, device=self.device)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        if self.steps % CYCLE == 0:
            self.members.append(copy.deepcopy(self.model).eval())


@leak(
    kind="detached_activation",
    report="wandb/wandb#2644",
    line="self.members.append(copy.deepcopy(self.model).eval())",
    holder=".members",
)
def snapshot_ensemble(device: str) -> Callable[[], None]:
    """Nothing bounds the ensemble."""
    return Trainer(device, None).step


@clean(report="wandb/wandb#2644")
def snapshot_ensemble_clean(device: str) -> Callable[[], None]:
    """A newer member takes the oldest one's place. What a record pass sets apart of these dies unseen."""
    return Trainer(device, MEMBERS).step
