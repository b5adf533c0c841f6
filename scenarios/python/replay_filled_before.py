# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A replay buffer that random play has filled before training, whose transitions are replaced, or appended to."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

CAPACITY = 2000
FEATURES = 64


class Agent:
    """Learns to predict the next observation from transitions that it draws."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(FEATURES, FEATURES).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.transitions = [torch.rand(2, FEATURES, device=device) for _ in range(CAPACITY)]
        self.oldest = 0

    def learn(self) -> None:
        chosen = torch.randint(len(self.transitions), (8,)).tolist()
        before, after = torch.stack([self.transitions[i] for i in chosen]).unbind(1)
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.model(before), after).backward()
        self.optimizer.step()

    def append(self) -> None:
        self.transitions.append(torch.rand(2, FEATURES, device=self.device))
        self.learn()

    def replace(self) -> None:
        self.transitions[self.oldest % CAPACITY] = torch.rand(2, FEATURES, device=self.device)
        self.oldest += 1
        self.learn()


@leak(
    kind="growth",
    report="DLR-RM/stable-baselines3#1966",
    bytes_per_step=2 * FEATURES * 4.0,
    line="self.transitions.append(",
    holder=".transitions",
)
def replay_filled_before(device: str) -> Callable[[], None]:
    """New transitions come after the 2,000 that random play has left, and none is dropped."""
    return Agent(device).append


@clean(report="DLR-RM/stable-baselines3#1966")
def replay_filled_before_clean(device: str) -> Callable[[], None]:
    """Each step replaces the oldest of the 2,000 that random play has left: what dies is the set-up's."""
    return Agent(device).replace
