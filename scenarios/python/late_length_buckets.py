# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: a cache with one entry for each length bucket, of which some are first seen late."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 32
# Step at which each bucket's length is first drawn: most early, the longest sentence at step thirty.
FIRST_SEEN = {4: 0, 8: 1, 12: 3, 16: 6, 20: 10, 24: 15, 28: 22, 32: 30}


class PositionalEncoding(nn.Module):
    """Adds sines and cosines of the position, computed once for each length."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: dict[int, torch.Tensor] = {}

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        length = tokens.shape[1]
        if length not in self.tables:
            position = torch.arange(length, device=tokens.device).unsqueeze(1)
            rate = torch.exp(torch.arange(0, WIDTH, 2, device=tokens.device) * (-math.log(10000.0) / WIDTH))
            self.tables[length] = torch.cat([torch.sin(position * rate), torch.cos(position * rate)], dim=1)
        return tokens + self.tables[length]


@clean(report="uxlfoundation/oneDNN#489")
def late_length_buckets(device: str) -> Callable[[], None]:
    """Sentences come in eight lengths; each length's table is made when it first turns up, the last at step 30.

    Memory climbs in stairs that get longer, as a slow leak would, and stops when the last bucket is known.
    """
    torch.manual_seed(0)
    model = nn.Sequential(PositionalEncoding(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    chooser = random.Random(0)
    steps_done = 0

    def draw_length() -> int:
        for length, first_step in FIRST_SEEN.items():
            if first_step == steps_done:
                return length
        return chooser.choice([length for length, first_step in FIRST_SEEN.items() if first_step < steps_done])

    def step() -> None:
        nonlocal steps_done
        tokens = torch.randn(4, draw_length(), WIDTH, device=device)
        optimizer.zero_grad()
        model(tokens).square().mean().backward()
        optimizer.step()
        steps_done += 1

    return step
