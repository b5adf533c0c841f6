# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: a pool starts its threads when the work asks for them, the last one after eighty steps."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 8
THREADS = 8
STEPS_A_THREAD = 12


class Ensemble:
    """Scores a batch in as many parts as it is worth; all parts run at once."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)).to(device).eval()
        self.pool = ThreadPoolExecutor(THREADS)
        self.steps_done = 0

    def score(self, start: threading.Barrier) -> float:
        start.wait()
        # Grad mode is a thread's own.
        with torch.no_grad():
            total = self.model(torch.rand(4, WIDTH, device=self.device)).sum()
        start.wait()
        return float(total)

    def step(self) -> None:
        self.steps_done += 1
        parts = min(THREADS, 1 + self.steps_done // STEPS_A_THREAD)
        start = threading.Barrier(parts)
        for future in [self.pool.submit(self.score, start) for _ in range(parts)]:
            future.result()


@clean(report="pytorch/pytorch#156495")
def thread_pool_grows_late(device: str) -> Callable[[], None]:
    """Each new thread brings a stack and what libraries keep for it, in stairs of twelve steps."""
    return Ensemble(device).step
