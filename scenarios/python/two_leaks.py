# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Two leaks in one step: of two kinds, and of one kind in two containers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, MutableSequence

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 32
AGENTS = 6


class Learner:
    """Acts with a recurrent policy, learns, and keeps statistics for the end of the run."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.policy = nn.GRUCell(WIDTH, WIDTH).to(device)
        self.critic = nn.Linear(WIDTH, 1).to(device)
        parameters = [*self.policy.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.SGD(parameters, lr=1e-2)
        self.losses: list[torch.Tensor] = []
        self.hidden_states: list[torch.Tensor] = []
        self.hidden = torch.zeros(AGENTS, WIDTH, device=device)
        self.loss = 0.0

    def act(self) -> torch.Tensor:
        observation = torch.rand(AGENTS, WIDTH, device=self.device)
        return self.policy(observation)

    def learn(self, hidden: torch.Tensor) -> torch.Tensor:
        loss = self.critic(hidden.detach()).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def step_keeping_both(self) -> None:
        hidden = self.act()
        self.hidden_states.append(hidden)
        self.losses.append(self.learn(hidden))

    def step(self) -> None:
        with torch.no_grad():
            self.hidden = self.act()
        self.loss = self.learn(self.hidden).item()


class Pairs:
    """Keeps what it was shown, pictures and captions apart."""

    def __init__(self, device: str, pictures: MutableSequence[torch.Tensor], captions: MutableSequence[torch.Tensor]):
        torch.manual_seed(0)
        self.device = device
        self.projection = nn.Linear(WIDTH, 8).to(device)
        self.pictures = pictures
        self.captions = captions

    @torch.no_grad()
    def step(self) -> None:
        picture = torch.rand(AGENTS, WIDTH, device=self.device)
        self.pictures.append(picture)
        caption = torch.randint(100, (AGENTS, 8), device=self.device)
        self.captions.append(caption)
        self.projection(picture) @ caption.float().T


@leak(
    kind=("attached_activation", "graph_retention"),
    report="oxwhirl/pymarl#73",
    line=("self.hidden_states.append(hidden)", "self.losses.append(self.learn(hidden))"),
    holder=(".hidden_states", ".losses"),
)
def two_leaks(device: str) -> Callable[[], None]:
    """The buffer has the policy's states with the graphs of their steps, and the statistics have attached losses."""
    return Learner(device).step_keeping_both


@clean(report="oxwhirl/pymarl#73")
def two_leaks_clean(device: str) -> Callable[[], None]:
    """The last state is kept without a graph, and the loss as a number."""
    return Learner(device).step


@leak(
    kind="growth",
    report="microsoft/hi-ml#293",
    line=("self.pictures.append(picture)", "self.captions.append(caption)"),
    holder=(".pictures", ".captions"),
    bytes_per_step=AGENTS * (WIDTH * 4.0 + 8 * 8.0),
)
def two_leaks_of_one_kind(device: str) -> Callable[[], None]:
    """Two lists get a tensor each."""
    return Pairs(device, [], []).step


@clean(report="microsoft/hi-ml#293")
def two_leaks_of_one_kind_clean(device: str) -> Callable[[], None]:
    """The last ten of either are kept."""
    return Pairs(device, deque(maxlen=10), deque(maxlen=10)).step
