# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A wrapper of a native decoder takes device memory from the CUDA runtime, beside torch's allocator."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 64
# The driver hands out memory in chunks of this size: less would show only now and then.
SCRATCH_BYTES = 2 << 20


class NativeDecoder:
    """Calls a decoder library, which wants scratch memory on the device."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.cudart = ctypes.CDLL("libcudart.so.13")
        self.cudart.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
        self.cudart.cudaMemset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]

    def new_scratch(self) -> int:
        scratch = ctypes.c_void_p()
        with torch.cuda.device(self.device):
            error = self.cudart.cudaMalloc(ctypes.byref(scratch), SCRATCH_BYTES)
        if error != 0 or scratch.value is None:
            raise RuntimeError(f"cudaMalloc failed with error {error}")
        return scratch.value

    def scratch(self) -> int:
        return self.new_scratch()

    def decode(self, seeds: torch.Tensor) -> torch.Tensor:
        with torch.cuda.device(self.device):
            error = self.cudart.cudaMemset(self.scratch(), 0, SCRATCH_BYTES)
        if error != 0:
            raise RuntimeError(f"cudaMemset failed with error {error}")
        return torch.sin(seeds)


class NativeDecoderWithWorkspace(NativeDecoder):
    """Takes the scratch memory once, when it is first wanted."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.workspace: int | None = None

    def scratch(self) -> int:
        if self.workspace is None:
            self.workspace = self.new_scratch()
        return self.workspace


def training(decoder: NativeDecoder, device: str) -> Callable[[], None]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        images = decoder.decode(torch.randn(16, WIDTH, device=device))
        optimizer.zero_grad()
        nn.functional.mse_loss(model(images), images).backward()
        optimizer.step()

    return step


@leak(
    kind="raw_cuda",
    report="pytorch/vision#4378",
    line=("self.cudart.cudaMalloc(", "return self.new_scratch()"),
    needs_cuda=True,
)
def cuda_malloc_by_ctypes(device: str) -> Callable[[], None]:
    """The wrapper takes new scratch memory by cudaMalloc for each batch and forgets the address.

    torch's allocator knows nothing of it: live and reserved bytes are flat while the process takes ever more.
    """
    return training(NativeDecoder(device), device)


@clean(report="pytorch/vision#4378", needs_cuda=True)
def cuda_malloc_by_ctypes_clean(device: str) -> Callable[[], None]:
    """The same wrapper takes its scratch memory once and uses it for every batch."""
    return training(NativeDecoderWithWorkspace(device), device)
