# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A library multiplies on streams of its own: cuBLAS wants a workspace for each."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

WIDTH = 64


def make_stream(device: str) -> torch.cuda.ExternalStream:
    cudart = ctypes.CDLL("libcudart.so.13")
    handle = ctypes.c_void_p()
    with torch.cuda.device(device):
        error = cudart.cudaStreamCreateWithFlags(ctypes.byref(handle), 1)
    if error != 0 or handle.value is None:
        raise RuntimeError(f"cudaStreamCreate failed with error {error}")
    return torch.cuda.ExternalStream(handle.value, device=device)


def multiplying(device: str, next_stream: Callable[[], torch.cuda.ExternalStream]) -> Callable[[], None]:
    torch.manual_seed(0)
    left = torch.randn(WIDTH, WIDTH, device=device)
    right = torch.randn(WIDTH, WIDTH, device=device)

    def step() -> None:
        stream = next_stream()
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            left @ right
        stream.synchronize()

    return step


@leak(
    kind=("growth", "detached_activation", "raw_cuda"),
    report="pytorch/pytorch#99196",
    line=("left @ right", "lambda: make_stream(device)"),
    needs_cuda=True,
)
def cuda_cublas_workspaces(device: str) -> Callable[[], None]:
    """Each step multiplies on a new stream, and torch keeps a cuBLAS workspace for every pair of handle and stream."""
    return multiplying(device, lambda: make_stream(device))


@clean(report="pytorch/pytorch#99196", needs_cuda=True)
def cuda_cublas_workspaces_clean(device: str) -> Callable[[], None]:
    """The same multiplication always takes the library's one side stream."""
    stream = make_stream(device)
    return multiplying(device, lambda: stream)
