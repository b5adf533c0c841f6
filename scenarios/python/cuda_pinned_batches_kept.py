# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A data loader's wrapper pins its batches and keeps those that it has handed out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, MutableSequence

import torch
from stepleak.scenario import clean, leak
from torch import nn

BATCH = 64
WIDTH = 256


def read_batches() -> Iterator[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    while True:
        yield torch.randn(BATCH, WIDTH, generator=generator)


class PinningLoader:
    """Pins each batch, and holds on to it so that its memory outlives the asynchronous copy."""

    def __init__(self, device: str, in_flight: MutableSequence[torch.Tensor]) -> None:
        self.device = device
        self.batches = read_batches()
        self.in_flight = in_flight

    def next_batch(self) -> torch.Tensor:
        pinned = next(self.batches).pin_memory()
        self.in_flight.append(pinned)
        return pinned.to(self.device, non_blocking=True)


def training(loader: PinningLoader, device: str) -> Callable[[], None]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> None:
        batch = loader.next_batch()
        optimizer.zero_grad()
        nn.functional.mse_loss(model(batch), batch).backward()
        optimizer.step()

    return step


@leak(
    kind=("pinned_host", "growth"),
    report="pytorch/pytorch#97432",
    line="self.in_flight.append(pinned)",
    holder=".in_flight",
    bytes_per_step=BATCH * WIDTH * 4.0,
    needs_cuda=True,
)
def cuda_pinned_batches_kept(device: str) -> Callable[[], None]:
    """The loader keeps each pinned batch in a list while its copy is in flight, and never takes one out again.

    The device is flat; the host's page-locked memory holds the whole data set in the end.
    """
    return training(PinningLoader(device, []), device)


@clean(report="pytorch/pytorch#97432", needs_cuda=True)
def cuda_pinned_batches_kept_clean(device: str) -> Callable[[], None]:
    """The same loader keeps the last four batches: older copies have long landed."""
    return training(PinningLoader(device, deque(maxlen=4)), device)
