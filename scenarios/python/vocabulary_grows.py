# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""An embedding table that is made anew, one row larger, for each new token."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 16


class OnlineVocabulary:
    """Learns tokens as a stream brings them."""

    def __init__(self, device: str, distinct_tokens: int) -> None:
        torch.manual_seed(0)
        self.device = device
        self.draws = random.Random(7)
        self.distinct_tokens = distinct_tokens
        self.rows: dict[int, int] = {}
        self.table = torch.zeros(0, WIDTH, device=device)
        self.head = nn.Linear(WIDTH, 1).to(device)
        self.optimizer = torch.optim.SGD(self.head.parameters(), lr=1e-2)

    def row_of(self, token: int) -> int:
        if token not in self.rows:
            self.rows[token] = len(self.rows)
            self.table = torch.cat([self.table, torch.rand(1, WIDTH, device=self.device)])
        return self.rows[token]

    def step(self) -> None:
        row = self.row_of(self.draws.randrange(self.distinct_tokens))
        self.optimizer.zero_grad()
        self.head(self.table[row]).square().sum().backward()
        self.optimizer.step()


@leak(
    kind=("growing_buffer", "growth"),
    report="MemTensor/MemOS#2303",
    line="self.table = torch.cat([self.table",
    holder=".table",
    bytes_per_step=WIDTH * 4.0,
)
def vocabulary_grows(device: str) -> Callable[[], None]:
    """Tokens carry a time stamp, so that all are new: the table is reborn larger in every step."""
    return OnlineVocabulary(device, 1 << 60).step


@clean(report="MemTensor/MemOS#2303")
def vocabulary_grows_clean(device: str) -> Callable[[], None]:
    """There are twelve tokens."""
    return OnlineVocabulary(device, 12).step
