# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: Adam creates its moments in its first step, which comes a few steps late."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

LEARNING_STARTS = 5


@clean(report="pytorch/pytorch#18643")
def adam_moments_created_lazily(device: str) -> Callable[[], None]:
    """An agent only looks around for five steps; with the first update come gradients and both moments.

    Memory jumps by three times the weights in one step, long after the model was built, and never again.
    """
    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)).to(device)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    steps_done = 0

    def step() -> None:
        nonlocal steps_done
        steps_done += 1
        observations = torch.randn(8, 32, device=device)
        if steps_done <= LEARNING_STARTS:
            with torch.no_grad():
                critic(observations)
            return
        optimizer.zero_grad()
        nn.functional.mse_loss(critic(observations), observations).backward()
        optimizer.step()

    return step
