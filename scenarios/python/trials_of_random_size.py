# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A search over sizes: each step builds, trains and judges a network of its own."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

INPUTS = 8
BATCHES = 3


class Trial:
    """A network of a random width and depth, with its optimizer and schedule."""

    def __init__(self, device: str, draws: random.Random) -> None:
        width = draws.randrange(8, 64)
        hidden = [layer for _ in range(draws.randrange(4)) for layer in (nn.Linear(width, width), nn.ReLU())]
        self.device = device
        self.network = nn.Sequential(nn.Linear(INPUTS, width), nn.ReLU(), *hidden, nn.Linear(width, 1)).to(device)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=10 ** draws.uniform(-4, -1))
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: 0.9**step)

    def score(self) -> float:
        loss = torch.zeros((), device=self.device)
        for _ in range(BATCHES):
            inputs = torch.rand(16, INPUTS, device=self.device)
            loss = (self.network(inputs).squeeze(1) - inputs.sum(dim=1)).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
        return loss.item()


class Search:
    """Remembers the best trial."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.draws = random.Random(4)
        self.best: Trial | None = None
        self.best_score = float("inf")
        self.schedules: list[torch.optim.lr_scheduler.LRScheduler] = []

    def step(self) -> None:
        trial = Trial(self.device, self.draws)
        score = trial.score()
        if score < self.best_score:
            self.best, self.best_score = trial, score

    def step_keeping_schedules(self) -> None:
        trial = Trial(self.device, self.draws)
        trial.score()
        self.schedules.append(trial.schedule)


@leak(
    kind=("growth", "detached_activation"),
    report="huggingface/transformers#1134",
    line="self.schedules.append(trial.schedule)",
    holder=".schedules",
)
def trials_of_random_size(device: str) -> Callable[[], None]:
    """Each trial's schedule is kept for a plot, and with it the optimizer, its moments and the network."""
    return Search(device).step_keeping_schedules


@clean(report="huggingface/transformers#1134")
def trials_of_random_size_clean(device: str) -> Callable[[], None]:
    """Only the best is kept; a better one may have any size, and comes ever less often."""
    return Search(device).step
