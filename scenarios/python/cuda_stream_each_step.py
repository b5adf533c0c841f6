# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A copy engine makes a CUDA stream for every transfer."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

WIDTH = 64


class CopyEngine:
    """Copies batches on streams of its own, through the CUDA runtime."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.cudart = ctypes.CDLL("libcudart.so.13")

    def new_stream(self) -> torch.cuda.ExternalStream:
        handle = ctypes.c_void_p()
        with torch.cuda.device(self.device):
            error = self.cudart.cudaStreamCreateWithFlags(ctypes.byref(handle), 1)
        if error != 0 or handle.value is None:
            raise RuntimeError(f"cudaStreamCreate failed with error {error}")
        return torch.cuda.ExternalStream(handle.value, device=self.device)

    def copy(self, batch: torch.Tensor, target: torch.Tensor, stream: torch.cuda.ExternalStream) -> None:
        with torch.cuda.stream(stream):
            target.copy_(batch, non_blocking=True)
        stream.synchronize()


def copying(
    device: str, stream_of: Callable[[CopyEngine], Callable[[], torch.cuda.ExternalStream]]
) -> Callable[[], None]:
    engine = CopyEngine(device)
    next_stream = stream_of(engine)
    batch = torch.randn(16, WIDTH, device=device)
    target = torch.empty_like(batch)
    return lambda: engine.copy(batch, target, next_stream())


@leak(
    kind=("raw_cuda", "host_heap"),
    report="inducer/pycuda#370",
    line=("self.cudart.cudaStreamCreateWithFlags(", "lambda engine: engine.new_stream"),
    needs_cuda=True,
)
def cuda_stream_each_step(device: str) -> Callable[[], None]:
    """Each transfer gets a stream of its own, and nothing ever destroys one: the driver keeps them all."""
    return copying(device, lambda engine: engine.new_stream)


@clean(report="inducer/pycuda#370", needs_cuda=True)
def cuda_stream_each_step_clean(device: str) -> Callable[[], None]:
    """The same engine keeps one stream for all its transfers."""

    def one_stream(engine: CopyEngine) -> Callable[[], torch.cuda.ExternalStream]:
        stream = engine.new_stream()
        return lambda: stream

    return copying(device, one_stream)
