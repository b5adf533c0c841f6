# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A native extension takes a little scratch memory from the driver in each step."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

SCRATCH_BYTES = 40 << 10


class NativeFilter:
    """Calls a library that wants scratch memory on the device, less than a page of the driver's."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.cudart = ctypes.CDLL("libcudart.so.13")
        self.cudart.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
        self.cudart.cudaFree.argtypes = [ctypes.c_void_p]

    def run(self) -> ctypes.c_void_p:
        scratch = ctypes.c_void_p()
        with torch.cuda.device(self.device):
            error = self.cudart.cudaMalloc(ctypes.byref(scratch), SCRATCH_BYTES)
        if error != 0:
            raise RuntimeError(f"cudaMalloc failed with error {error}")
        return scratch

    def release(self, scratch: ctypes.c_void_p) -> None:
        self.cudart.cudaFree(scratch)


def filtering(device: str, is_releasing: bool) -> Callable[[], None]:
    native = NativeFilter(device)
    batch = torch.ones(16, 64, device=device)

    def step() -> None:
        torch.sin(batch)
        scratch = native.run()
        if is_releasing:
            native.release(scratch)

    return step


@leak(
    kind="raw_cuda",
    report="pytorch/pytorch#599",
    line=("self.cudart.cudaMalloc(ctypes.byref", "scratch = native.run()"),
    needs_cuda=True,
)
def cuda_small_scratch(device: str) -> Callable[[], None]:
    """40 KiB of every step are never freed: the driver's own account shows them once in fifty steps."""
    return filtering(device, is_releasing=False)


@clean(report="pytorch/pytorch#599", needs_cuda=True)
def cuda_small_scratch_clean(device: str) -> Callable[[], None]:
    """The same extension frees its scratch memory when the step is over."""
    return filtering(device, is_releasing=True)
