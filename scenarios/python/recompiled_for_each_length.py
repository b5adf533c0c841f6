# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: a compiled model meets new lengths, and is compiled again, with a dynamic dimension then."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 16


@clean(report="pytorch/pytorch#174704")
def recompiled_for_each_length(device: str) -> Callable[[], None]:
    """The second length makes the dimension dynamic, two modes are compiled each, and that was all."""
    torch.manual_seed(0)
    draws = random.Random(0)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(device)
    compiled = torch.compile(model, backend="eager")
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1
        inputs = torch.rand(draws.randrange(2, 60), WIDTH, device=device)
        if steps % 10 == 0:
            with torch.no_grad():
                compiled(inputs)
            return
        compiled(inputs).square().mean().backward()
        model.zero_grad()

    return step
