# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A replay buffer without a bound is filled with a policy's attached outputs."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import torch
from stepleak.scenario import clean, leak
from torch import nn


class Transition(NamedTuple):
    """What the policy saw, what it answered, and what that was worth."""

    observation: torch.Tensor
    action_logits: torch.Tensor
    reward: torch.Tensor


class Agent:
    """Acts, remembers, and learns from a sample of what it remembers."""

    def __init__(self, device: str, capacity: int | None) -> None:
        torch.manual_seed(0)
        self.device = device
        self.policy = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 6)).to(device)
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=0.01)
        self.replay: deque[Transition] = deque(maxlen=capacity)
        self.chooser = random.Random(0)

    def act(self) -> Transition:
        observation = torch.randn(4, 32, device=self.device)
        action_logits = self.policy(observation)
        return Transition(observation, action_logits, observation.mean(dim=1))

    def learn(self) -> None:
        sample = self.chooser.choice(self.replay)
        log_ratio = self.policy(sample.observation) - sample.action_logits.detach()
        loss = -(log_ratio.clamp(-0.2, 0.2).mean(dim=1) * sample.reward).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


@leak(
    kind="attached_activation",
    report="recursionpharma/gflownet#130",
    line="agent.replay.append(agent.act())",
    holder=".replay",
)
def replay_attached(device: str) -> Callable[[], None]:
    """The agent stores the logits exactly as the policy returned them.

    Each transition in the buffer owns the graph and the saved activations of its forward, which no backward
    ever runs through, and nothing ever leaves the buffer.
    """
    agent = Agent(device, capacity=None)

    def step() -> None:
        agent.replay.append(agent.act())
        agent.learn()

    return step


@clean(report="recursionpharma/gflownet#130")
def replay_attached_clean(device: str) -> Callable[[], None]:
    """The same agent stores detached logits and forgets the oldest of sixteen transitions."""
    agent = Agent(device, capacity=16)

    def step() -> None:
        transition = agent.act()
        agent.replay.append(transition._replace(action_logits=transition.action_logits.detach()))
        agent.learn()

    return step
