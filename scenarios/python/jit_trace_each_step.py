# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A module is traced anew for each batch, as an exporter that is called from the training loop does it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 32


class Deployment:
    """Serves requests with a traced module, while the weights still change."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, WIDTH).to(device)

    def draw(self) -> torch.Tensor:
        return torch.rand(8, WIDTH, device=self.device)

    def traced(self) -> torch.nn.Module:
        return torch.jit.trace(self.model, self.draw(), check_trace=False)


class TracesEachTime(Deployment):
    """Traces before each request."""

    def step(self) -> None:
        self.traced()(self.draw()).argmax(dim=1)


class TracesOnce(Deployment):
    """Traces in the set-up: a trace refers to the module's parameters, so that it serves new weights too."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.module = self.traced()

    def step(self) -> None:
        self.module(self.draw()).argmax(dim=1)


@leak(
    kind="host_heap", report="pytorch/pytorch#86537", line=("torch.jit.trace(self.model", "self.traced()(self.draw())")
)
def jit_trace_each_step(device: str) -> Callable[[], None]:
    """torch keeps the types and methods of all traces in a store of its own: an open issue, which 2.11 still shows."""
    return TracesEachTime(device).step


@clean(report="pytorch/pytorch#86537")
def jit_trace_each_step_clean(device: str) -> Callable[[], None]:
    """The module is traced once."""
    return TracesOnce(device).step
