# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A rollout's key-value cache on the GPU grows by torch.cat and is never reset."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 64
# Key and value of one token, together one block of torch's allocator.
TOKEN_BYTES = 2 * WIDTH * 4
CAPACITY = 128


class Policy(nn.Module):
    """Attends from the newest token to all in its cache."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key_value = nn.Linear(WIDTH, 2 * WIDTH)
        self.to(device)
        self.cache = torch.zeros(1, 2 * WIDTH, device=device)

    def extend(self, new: torch.Tensor) -> torch.Tensor:
        self.cache = torch.cat([self.cache, new])
        return self.cache

    def forward(self, token: torch.Tensor) -> torch.Tensor:
        keys, values = self.extend(self.key_value(token)).chunk(2, dim=-1)
        return torch.softmax(self.query(token) @ keys.T, dim=-1) @ values


class PolicyWithWindow(Policy):
    """Keeps its cache in a buffer of fixed length, in which the newest token replaces the oldest."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.cache = torch.zeros(CAPACITY, 2 * WIDTH, device=device)
        self.position = 0

    def extend(self, new: torch.Tensor) -> torch.Tensor:
        self.cache[self.position] = new[0]
        self.position = (self.position + 1) % CAPACITY
        return self.cache


def rollout(policy: Policy, device: str) -> Callable[[], None]:
    @torch.no_grad()
    def step() -> None:
        policy(torch.rand(1, WIDTH, device=device))

    return step


@leak(
    kind="growing_buffer",
    report="MemTensor/MemOS#2303",
    line="self.cache = torch.cat([self.cache, new])",
    holder=".cache",
    bytes_per_step=TOKEN_BYTES,
    needs_cuda=True,
)
def cuda_kv_cache_cat(device: str) -> Callable[[], None]:
    """A policy appends key and value of each token to its cache on the device, in all episodes together.

    One tensor is alive at a time; it is reborn one token longer each step, and nobody resets it between episodes.
    """
    torch.manual_seed(0)
    return rollout(Policy(device), device)


@clean(report="MemTensor/MemOS#2303", needs_cuda=True)
def cuda_kv_cache_cat_clean(device: str) -> Callable[[], None]:
    """The same policy writes into a buffer allocated once for the longest context."""
    torch.manual_seed(0)
    return rollout(PolicyWithWindow(device), device)
