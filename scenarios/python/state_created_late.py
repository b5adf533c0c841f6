# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: state that is created where it is first needed, which is late for some."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 32
HEADS = 6
FIRST_NEEDED = (0, 1, 12, 50, 90, 91)
LAYERS = 10
STEPS_A_LAYER = 20
TASKS = 12
STEPS_A_TASK = 12


class MultiTask:
    """One trunk and six heads; the data of each task sets in at its own step, and Adam makes moments there."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.trunk = nn.Linear(WIDTH, WIDTH).to(device)
        self.heads = nn.ModuleList(nn.Linear(WIDTH, 4) for _ in range(HEADS)).to(device)
        self.optimizer = torch.optim.Adam([*self.trunk.parameters(), *self.heads.parameters()], lr=1e-3)
        self.steps_done = 0

    def step(self) -> None:
        known = [head for head, first in zip(self.heads, FIRST_NEEDED, strict=True) if first <= self.steps_done]
        head = known[self.steps_done % len(known)]
        self.optimizer.zero_grad()
        head(self.trunk(torch.rand(8, WIDTH, device=self.device)).relu()).square().mean().backward()
        self.optimizer.step()
        self.steps_done += 1


class GradualUnfreezing:
    """Layers join the training one by one from the last to the first, every twenty steps."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.layers = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))).to(device)
        self.layers.requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.layers.parameters(), lr=1e-3)
        self.steps_done = 0

    def step(self) -> None:
        if self.steps_done % STEPS_A_LAYER == 0 and self.steps_done // STEPS_A_LAYER < LAYERS:
            self.layers[LAYERS - 1 - self.steps_done // STEPS_A_LAYER].requires_grad_(True)
        self.optimizer.zero_grad()
        self.layers(torch.rand(8, WIDTH, device=self.device)).square().mean().backward()
        self.optimizer.step()
        self.steps_done += 1


class AdapterOfEachTask:
    """An adapter with an optimizer of its own for each task, made when the task is first met; what a task did last
    stays in its gradients until it is met again."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.trunk = nn.Linear(WIDTH, WIDTH).to(device)
        self.adapters: dict[int, nn.Module] = {}
        self.optimizers: dict[int, torch.optim.Optimizer] = {}
        self.tasks = random.Random(0)
        self.steps_done = 0

    def step(self) -> None:
        task = self.tasks.randrange(min(TASKS, 1 + self.steps_done // STEPS_A_TASK))
        if task not in self.adapters:
            self.adapters[task] = nn.Linear(WIDTH, WIDTH).to(self.device)
            self.optimizers[task] = torch.optim.AdamW(self.adapters[task].parameters(), lr=1e-3)
        with torch.no_grad():
            features = self.trunk(torch.rand(8, WIDTH, device=self.device))
        loss = self.adapters[task](features).square().mean()
        self.optimizers[task].zero_grad()
        loss.backward()
        self.optimizers[task].step()
        self.steps_done += 1


@clean(report="git-disl/recap#2")
def moments_of_heads_come_late(device: str) -> Callable[[], None]:
    """Six heads get their moments in the steps 1, 2, 13, 51 and 91 and 92."""
    return MultiTask(device).step


@clean(report="git-disl/recap#2")
def layers_unfrozen_one_by_one(device: str) -> Callable[[], None]:
    """Ten layers are unfrozen within two hundred steps: ten stairs, the last at step 180."""
    return GradualUnfreezing(device).step


@clean(report="git-disl/recap#2")
def adapter_of_each_task(device: str) -> Callable[[], None]:
    """Twelve adapters are made within some 150 steps and then used at random: gradients of each live until its next
    turn."""
    return AdapterOfEachTask(device).step
