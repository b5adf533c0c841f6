# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Sequence lengths grow through training while a few small tensors of each batch are kept for a while."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

MEGABYTE = 1 << 20
KEPT = 2


def training(device: str, bytes_of: Callable[[int], int]) -> Callable[[], None]:
    """Each batch needs one buffer of the batch's size; statistics of the last batches are views that stay a while."""
    recent: deque[torch.Tensor] = deque(maxlen=KEPT)
    indices = itertools.count()

    def step() -> None:
        buffer = torch.empty(bytes_of(next(indices)), dtype=torch.uint8, device=device)
        buffer[:1024].zero_()
        del buffer
        recent.append(torch.zeros(2 * MEGABYTE, dtype=torch.uint8, device=device))

    return step


@leak(
    kind="fragmentation_drift",
    report="ROCm/legacy-rocm-build#6333",
    line="buffer = torch.empty(bytes_of(next(indices))",
    needs_cuda=True,
)
def cuda_sizes_that_grow(device: str) -> Callable[[], None]:
    """Every batch is a little longer than all before: no cached block is large enough, so each takes a new segment.

    The tensors are freed in the same step and live memory stays bounded; what is reserved does not.
    """
    return training(device, lambda index: (10 + index) * MEGABYTE // 2)


@clean(report="ROCm/legacy-rocm-build#6333", needs_cuda=True)
def cuda_sizes_that_grow_clean(device: str) -> Callable[[], None]:
    """The same batches are padded to one of four sizes."""
    return training(device, lambda index: (32 + 16 * (index % 4)) * MEGABYTE)
