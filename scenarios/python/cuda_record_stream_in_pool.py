# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors of a custom memory pool are handed to a side stream with record_stream."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

ROWS = 1024
WIDTH = 256


def reducing(device: str, is_recorded: bool) -> Callable[[], None]:
    """Gradient buckets are reduced on a side stream; all of training runs in a pool that a collective library wants."""
    with torch.cuda.device(device):
        pool = torch.cuda.MemPool()
    region = torch.cuda.use_mem_pool(pool, device=torch.device(device))
    region.__enter__()
    side = torch.cuda.Stream(device)
    total = torch.zeros(WIDTH, device=device)

    def step() -> None:
        bucket = torch.ones(ROWS, WIDTH, device=device)
        side.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(side):
            total.add_(bucket.sum(0))
        if is_recorded:
            bucket.record_stream(side)
        else:
            torch.cuda.current_stream(device).wait_stream(side)
        del bucket

    step.region = region  # type: ignore[attr-defined]  # a region that nobody holds is left
    return step


@leak(
    kind=("stuck_free", "raw_cuda"),
    report="pytorch/pytorch#175015",
    line=("bucket.record_stream(side)", "region.__enter__()"),
    needs_cuda=True,
)
def cuda_record_stream_in_pool(device: str) -> Callable[[], None]:
    """Buckets are freed after record_stream while a pool is in use: torch defers such frees until the pool is left."""
    return reducing(device, is_recorded=True)


@clean(report="pytorch/pytorch#175015", needs_cuda=True)
def cuda_record_stream_in_pool_clean(device: str) -> Callable[[], None]:
    """The same reduction makes the current stream wait for the side stream instead, and the block is used again."""
    return reducing(device, is_recorded=False)
