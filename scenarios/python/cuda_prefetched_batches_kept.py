# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A prefetcher copies batches on a side stream and keeps each one that it has fetched."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, MutableSequence

import torch
from stepleak.scenario import clean, leak
from torch import nn

BATCH = 16
WIDTH = 256


class Prefetcher:
    """Copies the next batch on a stream of its own while the model works on the current one."""

    def __init__(self, device: str, fetched: MutableSequence[torch.Tensor]) -> None:
        self.device = device
        self.stream = torch.cuda.Stream(device=device)
        self.generator = torch.Generator().manual_seed(0)
        self.staging = torch.empty(BATCH, WIDTH, pin_memory=True)
        self.fetched = fetched
        self.fetch()

    def fetch(self) -> None:
        self.stream.synchronize()  # the staging memory is read until here
        self.staging.normal_(generator=self.generator)
        with torch.cuda.stream(self.stream):
            self.fetched.append(self.staging.to(self.device, non_blocking=True))

    def next_batch(self) -> torch.Tensor:
        current = torch.cuda.current_stream(self.device)
        current.wait_stream(self.stream)
        batch = self.fetched[-1]
        batch.record_stream(current)
        self.fetch()
        return batch


def training(prefetcher: Prefetcher, device: str) -> Callable[[], None]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, WIDTH)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        batch = prefetcher.next_batch()
        optimizer.zero_grad()
        nn.functional.mse_loss(model(batch), batch).backward()
        optimizer.step()

    return step


@leak(
    kind=("growth", "detached_activation"),
    report="microsoft/hi-ml#293",
    line="self.fetched.append(",
    holder=".fetched",
    bytes_per_step=BATCH * WIDTH * 4.0,
    needs_cuda=True,
)
def cuda_prefetched_batches_kept(device: str) -> Callable[[], None]:
    """The prefetcher appends each batch that lands on its side stream to a list and hands out the last.

    It never drops the ones before, so that the data set collects on the device.
    """
    return training(Prefetcher(device, []), device)


@clean(report="microsoft/hi-ml#293", needs_cuda=True)
def cuda_prefetched_batches_kept_clean(device: str) -> Callable[[], None]:
    """The same prefetcher holds the next batch only; the one handed out goes when the step is done with it."""
    return training(Prefetcher(device, deque(maxlen=1)), device)
