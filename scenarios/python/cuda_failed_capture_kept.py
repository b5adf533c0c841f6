# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A capture of the step fails each time, and the attempt is kept for the report of what went wrong."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 64


class OptionalGraph:
    """Tries to capture the forward pass; one that reads a value back cannot be captured."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()).to(device)
        self.inputs = torch.randn(512, WIDTH, device=device)
        self.attempts: list[tuple[torch.cuda.CUDAGraph, str]] = []
        with torch.no_grad():
            self.model(self.inputs)

    def try_capture(self) -> tuple[torch.cuda.CUDAGraph, str]:
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.no_grad(), torch.cuda.device(self.device), torch.cuda.graph(graph):
                output = self.model(self.inputs)
                if output.sum().item() > 0:  # not permitted while a stream is captured
                    output.mul_(0.5)
        except RuntimeError as error:
            return graph, str(error).splitlines()[0]
        return graph, ""


def training(device: str, most_attempts: int) -> Callable[[], None]:
    optional = OptionalGraph(device)

    def step() -> None:
        if len(optional.attempts) < most_attempts:
            optional.attempts.append(optional.try_capture())
        with torch.no_grad():
            optional.model(optional.inputs)

    return step


@leak(
    kind=("raw_cuda", "fragmentation_drift", "growth"),
    report="pytorch/pytorch#190348",
    line="optional.attempts.append(optional.try_capture())",
    holder=".attempts",
    needs_cuda=True,
)
def cuda_failed_capture_kept(device: str) -> Callable[[], None]:
    """Every step tries the capture again and keeps the failed graph beside its error, and with it a private pool."""
    return training(device, most_attempts=1 << 30)


@clean(report="pytorch/pytorch#190348", needs_cuda=True)
def cuda_failed_capture_kept_clean(device: str) -> Callable[[], None]:
    """The same model gives up after the first attempt and runs without a graph."""
    return training(device, most_attempts=1)
