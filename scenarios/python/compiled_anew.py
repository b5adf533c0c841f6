# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""`torch.compile` at run time: one function that is compiled anew in each step, or once for each length."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 16
LENGTHS = (4, 8, 12, 16)


class Service:
    """Answers requests of several lengths with compiled functions; the backend runs the graph as it is."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, WIDTH).to(device).eval()
        self.compiled: list[Callable[[torch.Tensor], torch.Tensor]] = []
        self.of_length: dict[int, Callable[[torch.Tensor], torch.Tensor]] = {}
        self.requests = 0

    def compile(self) -> Callable[[torch.Tensor], torch.Tensor]:
        return torch.compile(lambda inputs: self.model(inputs).relu(), backend="eager", dynamic=False)

    def request(self) -> torch.Tensor:
        self.requests += 1
        return torch.rand(LENGTHS[self.requests % len(LENGTHS)], WIDTH, device=self.device)

    @torch.no_grad()
    def step_compiling(self) -> None:
        self.compiled.append(self.compile())
        self.compiled[-1](self.request())

    @torch.no_grad()
    def step_looking_up(self) -> None:
        request = self.request()
        if len(request) not in self.of_length:
            self.of_length[len(request)] = self.compile()
        self.of_length[len(request)](request)


@leak(
    kind="host_heap",
    report="pytorch/pytorch#104095",
    line=("self.compiled.append(self.compile())", "torch.compile(lambda inputs"),
    holder=".compiled",
)
def compiled_anew(device: str) -> Callable[[], None]:
    """Each request has its function, which is kept for a profile: guards, code and graph of each stay."""
    return Service(device).step_compiling


@clean(report="pytorch/pytorch#104095")
def compiled_anew_clean(device: str) -> Callable[[], None]:
    """There are four lengths, and a function for each."""
    return Service(device).step_looking_up
