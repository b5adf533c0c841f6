# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: a replay buffer of forty transitions grows until it is full."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

CAPACITY = 40


class DeepQLearner:
    """Acts, stores what happened in a ring, and learns from a random transition of it."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.network = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.01)
        self.replay: deque[tuple[torch.Tensor, torch.Tensor]] = deque(maxlen=CAPACITY)
        self.chooser = random.Random(0)

    def __call__(self) -> None:
        frames = torch.randn(8, 32, device=self.device)
        with torch.no_grad():
            values = self.network(frames)
        self.replay.append((frames, values))
        old_frames, old_values = self.chooser.choice(self.replay)
        loss = nn.functional.mse_loss(self.network(old_frames), old_values + 1)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


@clean(report="BY571/IQN-and-Extensions#3")
def bounded_replay_buffer_fills(device: str) -> Callable[[], None]:
    """Forty steps of perfectly linear growth in detached tensors, then each new one pushes an old one out."""
    return DeepQLearner(device)
