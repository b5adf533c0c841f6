# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: tasks of an event loop, kept in a set from which each discards itself when it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 32


class Service:
    """Answers each request in a task of its own, as asyncio's documents advise it."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, 4).to(device).eval()
        self.loop = asyncio.new_event_loop()
        self.tasks: set[asyncio.Task[None]] = set()
        self.answers = 0

    async def answer(self, request: torch.Tensor) -> None:
        await asyncio.sleep(0)
        with torch.no_grad():
            self.answers += int(self.model(request).argmax())

    async def accept(self) -> None:
        task = asyncio.ensure_future(self.answer(torch.rand(WIDTH, device=self.device)))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        # The task begins, and ends.
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def step(self) -> None:
        self.loop.run_until_complete(self.accept())


@clean(report="Lightning-AI/pytorch-lightning#18640")
def background_tasks(device: str) -> Callable[[], None]:
    """Each task holds its request, and is a cycle with its frame until it is done."""
    return Service(device).step
