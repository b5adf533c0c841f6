# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A server whose requests come and go at random, each with its cache."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

CANCELLED_PART = 0.15


class Server:
    """Holds a cache for each open request: up to two new ones a step, for 3 to 20 steps."""

    def __init__(self, device: str, frees_cancelled: bool) -> None:
        self.device = device
        self.frees_cancelled = frees_cancelled
        self.caches: dict[int, torch.Tensor] = {}
        self.ends: dict[int, int] = {}
        self.draws = random.Random(0)
        self.steps = 0
        self.requests = 0

    def admit(self) -> None:
        self.requests += 1
        self.caches[self.requests] = torch.zeros(self.draws.randint(64, 4096), device=self.device)
        self.ends[self.requests] = self.steps + self.draws.randint(3, 20)

    def finish(self, request: int) -> None:
        del self.ends[request]
        is_cancelled = self.draws.random() < CANCELLED_PART
        if self.frees_cancelled or not is_cancelled:
            del self.caches[request]

    def step(self) -> None:
        self.steps += 1
        for request in [request for request, end in self.ends.items() if end <= self.steps]:
            self.finish(request)
        for _ in range(self.draws.randint(0, 2)):
            self.admit()


@leak(
    kind="growth",
    report="vllm-project/vllm#48165",
    line=("self.caches[self.requests] = torch.zeros", "if self.frees_cancelled or not is_cancelled"),
    holder=".caches",
)
def cancelled_requests_kept(device: str) -> Callable[[], None]:
    """Of requests that were cancelled, about one in seven, the cache stays."""
    return Server(device, frees_cancelled=False).step


@clean(report="vllm-project/vllm#48165")
def cancelled_requests_kept_clean(device: str) -> Callable[[], None]:
    """Every request that ends gives its cache back: a random load about a level."""
    return Server(device, frees_cancelled=True).step
