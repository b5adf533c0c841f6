# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Pages that a step maps for itself, past malloc and torch's allocator."""

import mmap
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

PAGES_BYTES = 1 << 18

# Staging buffers whose transfer was begun, as a loader of its own has them.
IN_FLIGHT: list[mmap.mmap] = []


def staged(batch: torch.Tensor) -> mmap.mmap:
    """A batch in pages that another process could read."""
    pages = mmap.mmap(-1, PAGES_BYTES)
    pages.write(batch.numpy().tobytes())
    return pages


@leak(kind="host_heap", report="pytorch/pytorch#193915", line="IN_FLIGHT.append(staged(batch))", holder="IN_FLIGHT")
def mapped_pages_kept(device: str) -> Callable[[], None]:
    """Each step stages its batch in 256 KiB of shared pages, and nobody asks whether the transfer is over."""
    torch.manual_seed(0)
    IN_FLIGHT.clear()
    model = nn.Linear(1024, 32).to(device)

    def step() -> None:
        batch = torch.rand(64, 1024)
        IN_FLIGHT.append(staged(batch))
        model(batch.to(device)).square().mean().backward()
        model.zero_grad()

    return step


@clean(report="pytorch/pytorch#193915")
def mapped_pages_kept_clean(device: str) -> Callable[[], None]:
    """The pages of the step before are given back."""
    torch.manual_seed(0)
    model = nn.Linear(1024, 32).to(device)
    last: list[mmap.mmap] = []

    def step() -> None:
        batch = torch.rand(64, 1024)
        last.append(staged(batch))
        if len(last) > 1:
            last.pop(0).close()
        model(batch.to(device)).square().mean().backward()
        model.zero_grad()

    return step
