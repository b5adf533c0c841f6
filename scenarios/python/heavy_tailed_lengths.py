# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: sequences are short, but for a few that are very long, of which the longest is always still to come."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 16
SHORTEST, LONGEST = 6, 600
TAIL = 1.1


class Tagger(nn.Module):
    """Convolves and attends, for both of which libraries keep plans by the length."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(WIDTH, WIDTH, 5, padding=2)
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        local = self.convolution(tokens.transpose(1, 2)).transpose(1, 2).relu()
        return nn.functional.scaled_dot_product_attention(self.query(local), self.key(local), self.value(local))


class Training:
    """Draws each length from a Pareto distribution; the last output stays for a plot."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.draws = random.Random(3)
        self.tagger = Tagger().to(device)
        self.optimizer = torch.optim.AdamW(self.tagger.parameters(), lr=1e-3)
        self.shown = torch.zeros(0, device=device)

    def step(self) -> None:
        length = min(LONGEST, int(SHORTEST * self.draws.paretovariate(TAIL)))
        tokens = torch.rand(2, length, WIDTH, device=self.device)
        self.shown = self.tagger(tokens)
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.shown, tokens).backward()
        self.optimizer.step()


@clean(report="sgl-project/SpecForge#739")
def lengths_with_a_heavy_tail(device: str) -> Callable[[], None]:
    """Half of the sequences have less than twelve tokens, and every hundredth has more than four hundred."""
    return Training(device).step
