# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A thread is started for each batch that is to be prepared ahead."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 32


def prepare(device: str) -> torch.Tensor:
    return torch.full((8, WIDTH), 0.5, device=device)


class Training:
    """What both ways to prefetch train."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, WIDTH).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)

    def train(self, batch: torch.Tensor) -> None:
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.model(batch), batch).backward()
        self.optimizer.step()


class ThreadForEach(Training):
    """Each thread waits, with its batch, for an event that tells it that the batch was taken."""

    def step(self) -> None:
        is_ready, is_taken = threading.Event(), threading.Event()
        prepared: list[torch.Tensor] = []

        def work() -> None:
            batch = prepare(self.device)
            prepared.append(batch)
            is_ready.set()
            is_taken.wait()

        threading.Thread(target=work, daemon=True).start()
        is_ready.wait()
        self.train(prepared[0])


class Pool(Training):
    """A pool of two threads, of which the second starts when there is work for two."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.pool = ThreadPoolExecutor(2)
        self.ahead: list[Future[torch.Tensor]] = []

    def step(self) -> None:
        while len(self.ahead) < 2:
            self.ahead.append(self.pool.submit(prepare, self.device))
        self.train(self.ahead.pop(0).result())


@leak(
    kind=("growth", "host_heap"),
    report="pytorch/pytorch#61920",
    line=("is_taken.wait()", "threading.Thread(target=work"),
    holder="local of work",
    bytes_per_step=8 * WIDTH * 4.0,
)
def threads_wait_for_ever(device: str) -> Callable[[], None]:
    """The event is never set: each step leaves a thread, its stack, and the batch that its frame holds."""
    return ThreadForEach(device).step


@clean(report="pytorch/pytorch#61920")
def threads_wait_for_ever_clean(device: str) -> Callable[[], None]:
    """A pool of two threads prepares all batches."""
    return Pool(device).step
