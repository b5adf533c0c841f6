# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: random load that is the same all the time: requests that come and go, and graphs of random size."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 32


class Server:
    """Requests arrive at random, take memory of a random size, and are done after a random time."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.draws = random.Random(1)
        self.running: dict[int, tuple[int, torch.Tensor]] = {}
        self.steps_done = 0

    def step(self) -> None:
        self.steps_done += 1
        for number in [number for number, (end, _) in self.running.items() if end <= self.steps_done]:
            del self.running[number]
        if self.draws.random() < 0.7:
            end = self.steps_done + self.draws.randrange(1, 30)
            state = torch.zeros(self.draws.randrange(16, 512), device=self.device)
            self.running[self.steps_done] = end, state
        for _, state in self.running.values():
            state += 1


class MessagePassing:
    """One layer over graphs of 10 to 199 nodes; the last graph stays for a plot."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.draws = random.Random(2)
        self.layer = nn.Linear(WIDTH, WIDTH).to(device)
        self.optimizer = torch.optim.Adam(self.layer.parameters(), lr=1e-3)
        self.shown: tuple[torch.Tensor, torch.Tensor] | None = None

    def step(self) -> None:
        nodes = self.draws.randrange(10, 200)
        edges = torch.randint(nodes, (2, 3 * nodes), device=self.device)
        features = torch.rand(nodes, WIDTH, device=self.device)
        self.optimizer.zero_grad()
        messages = torch.zeros_like(features).index_add(0, edges[1], self.layer(features)[edges[0]])
        messages.relu().mean().backward()
        self.optimizer.step()
        self.shown = features, messages.detach()


@clean(report="BasedHardware/omi#6938")
def requests_come_and_go(device: str) -> Callable[[], None]:
    """About ten requests at a time: the level walks at random around the same height."""
    return Server(device).step


@clean(report="pytorch/pytorch#42815")
def graphs_of_random_size(device: str) -> Callable[[], None]:
    """Each step has another size, and the largest one so far may come at any time."""
    return MessagePassing(device).step
