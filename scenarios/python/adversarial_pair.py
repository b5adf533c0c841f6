# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Two models in turn: a generator and a critic, and the samples that the critic has seen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, MutableSequence

import torch
from stepleak.scenario import clean, leak
from torch import nn

NOISE = 8
SAMPLE = 16
BATCH = 12


class Adversarial:
    """Even steps train the critic on old and new fakes, odd ones the generator."""

    def __init__(self, device: str, seen: MutableSequence[torch.Tensor]) -> None:
        torch.manual_seed(0)
        self.device = device
        self.generator = nn.Sequential(nn.Linear(NOISE, 32), nn.ReLU(), nn.Linear(32, SAMPLE)).to(device)
        self.critic = nn.Sequential(nn.Linear(SAMPLE, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)).to(device)
        self.generator_optimizer = torch.optim.Adam(self.generator.parameters(), lr=1e-3)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=1e-3)
        self.seen = seen
        self.is_critics_turn = False

    def fakes(self) -> torch.Tensor:
        return self.generator(torch.randn(BATCH, NOISE, device=self.device))

    def train_critic(self) -> None:
        fakes = self.fakes().detach()
        self.seen.append(fakes)
        real = torch.randn(BATCH, SAMPLE, device=self.device)
        older = self.seen[int(torch.randint(len(self.seen), ()))]
        self.critic_optimizer.zero_grad()
        (self.critic(torch.cat([fakes, older])).relu().mean() + (1 - self.critic(real)).relu().mean()).backward()
        self.critic_optimizer.step()

    def train_generator(self) -> None:
        self.generator_optimizer.zero_grad()
        (-self.critic(self.fakes()).mean()).backward()
        self.generator_optimizer.step()

    def step(self) -> None:
        self.is_critics_turn = not self.is_critics_turn
        if self.is_critics_turn:
            self.train_critic()
        else:
            self.train_generator()


@leak(
    kind=("detached_activation", "growth"),
    report="recursionpharma/gflownet#130",
    line="self.seen.append(fakes)",
    holder=".seen",
    bytes_per_step=BATCH * SAMPLE * 4.0 / 2,
)
def adversarial_pair(device: str) -> Callable[[], None]:
    """The critic is shown old fakes too, and all of them are kept: one batch every second step."""
    return Adversarial(device, []).step


@clean(report="recursionpharma/gflownet#130")
def adversarial_pair_clean(device: str) -> Callable[[], None]:
    """The last twenty batches are kept."""
    return Adversarial(device, deque(maxlen=20)).step
