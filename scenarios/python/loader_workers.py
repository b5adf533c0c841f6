# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Training on batches that worker processes of a `DataLoader` make, with and without the batches kept in the parent."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, MutableSequence

import torch
from stepleak.scenario import clean, leak
from torch import nn
from torch.utils.data import DataLoader, Dataset

BATCH = 8
WIDTH = 64
BATCHES_AN_EPOCH = 16


class Noise(Dataset[torch.Tensor]):
    """Samples that are made where they are read: in a worker."""

    def __len__(self) -> int:
        return BATCH * BATCHES_AN_EPOCH

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((WIDTH,), float(index % 7))


class Training:
    """A step is one batch; where an epoch ends the next begins."""

    def __init__(self, device: str, kept: MutableSequence[torch.Tensor], are_workers_kept: bool) -> None:
        torch.manual_seed(0)
        self.device = device
        self.kept = kept
        self.loader = DataLoader(Noise(), BATCH, num_workers=2, persistent_workers=are_workers_kept)
        self.model = nn.Linear(WIDTH, WIDTH).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)
        self.batches = self.epochs()

    def epochs(self) -> Iterator[torch.Tensor]:
        while True:
            yield from self.loader

    def step(self) -> None:
        batch = next(self.batches)
        self.kept.append(batch)
        inputs = batch.to(self.device)
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.model(inputs), inputs).backward()
        self.optimizer.step()


@leak(
    kind="growth",
    report="pytorch/pytorch#20433",
    line="self.kept.append(batch)",
    holder=".kept",
    bytes_per_step=BATCH * WIDTH * 4.0,
)
def loader_workers_persistent(device: str) -> Callable[[], None]:
    """The same workers make all epochs; the loop keeps each batch, which lies in memory shared with a worker."""
    return Training(device, [], are_workers_kept=True).step


@clean(report="pytorch/pytorch#20433")
def loader_workers_persistent_clean(device: str) -> Callable[[], None]:
    """The loop keeps the last two batches."""
    return Training(device, deque(maxlen=2), are_workers_kept=True).step


@leak(
    kind="growth",
    report="pytorch/pytorch#20433",
    line="self.kept.append(batch)",
    holder=".kept",
    bytes_per_step=BATCH * WIDTH * 4.0,
)
def loader_workers_each_epoch(device: str) -> Callable[[], None]:
    """Each epoch forks its workers anew, beside a run that observes the parent; the loop keeps each batch."""
    return Training(device, [], are_workers_kept=False).step


@clean(report="pytorch/pytorch#20433")
def loader_workers_each_epoch_clean(device: str) -> Callable[[], None]:
    """The loop keeps the last two batches."""
    return Training(device, deque(maxlen=2), are_workers_kept=False).step
