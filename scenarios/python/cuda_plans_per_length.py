# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A spectral model transforms recordings of many lengths: cuFFT makes and keeps a plan for each of them."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from stepleak.scenario import clean

LENGTHS = [240 * n for n in range(1, 33)]


@clean(report="pytorch/pytorch#94893", needs_cuda=True)
def cuda_plans_per_length(device: str) -> Callable[[], None]:
    """Lengths come at random, some of them late: memory, modules and raw allocations grow until all have come."""
    draw = random.Random(0)

    def step() -> None:
        recording = torch.randn(draw.choice(LENGTHS), device=device)
        torch.fft.fft(recording).abs().sum()

    return step
