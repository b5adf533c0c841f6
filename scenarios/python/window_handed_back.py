# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Keys and values of what a decoder has read, which a call is given and hands back longer."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 32
WINDOW = 300


Cache = tuple[torch.Tensor, torch.Tensor]


class Attention(nn.Module):
    """Attends to what it is given, and to the new token."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH)

    def forward(self, token: torch.Tensor, cache: Cache | None) -> tuple[torch.Tensor, Cache]:
        query, keys, values = self.project(token).chunk(3, dim=-1)
        if cache is not None:
            keys, values = torch.cat([cache[0], keys]), torch.cat([cache[1], values])  # for ever
        return (query @ keys.T).softmax(-1) @ values, (keys, values)


class WindowedAttention(Attention):
    """Attends to the last tokens only."""

    def forward(self, token: torch.Tensor, cache: Cache | None) -> tuple[torch.Tensor, Cache]:
        query, keys, values = self.project(token).chunk(3, dim=-1)
        if cache is not None:
            keys, values = torch.cat([cache[0], keys]), torch.cat([cache[1], values])
        keys, values = keys[-WINDOW:].clone(), values[-WINDOW:].clone()
        return (query @ keys.T).softmax(-1) @ values, (keys, values)


class Stream:
    """One conversation."""

    def __init__(self, attention: type[Attention], device: str) -> None:
        torch.manual_seed(0)
        self.attention = attention().to(device)
        self.token = torch.randn(1, WIDTH, device=device)
        self.caches: list[Cache | None] = [None]

    @torch.no_grad()
    def step(self) -> None:
        self.token, self.caches[0] = self.attention(self.token, self.caches[0])


@leak(kind="growing_buffer", report="MemTensor/MemOS#2303", line=("# for ever", "self.caches[0] = "), holder=".caches")
def window_handed_back(device: str) -> Callable[[], None]:
    """Nothing cuts them: each token is one row more."""
    return Stream(Attention, device).step


@clean(report="MemTensor/MemOS#2303")
def window_handed_back_clean(device: str) -> Callable[[], None]:
    """They are cut to a window, which is full after 300 steps: no variable of the sources holds what is cut."""
    return Stream(WindowedAttention, device).step
