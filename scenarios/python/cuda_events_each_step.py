# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A timer brackets every step with CUDA events of its own making."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 64
EVENTS_A_STEP = 8


class LayerTimer:
    """Records events between layers, through the CUDA runtime."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.cudart = ctypes.CDLL("libcudart.so.13")

    def record(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        stream = ctypes.c_void_p(torch.cuda.current_stream(self.device).cuda_stream)
        with torch.cuda.device(self.device):
            error = self.cudart.cudaEventCreate(ctypes.byref(event)) or self.cudart.cudaEventRecord(event, stream)
        if error != 0:
            raise RuntimeError(f"recording an event failed with error {error}")
        return event

    def destroy(self, event: ctypes.c_void_p) -> None:
        self.cudart.cudaEventDestroy(event)


def timed(device: str, is_destroying: bool) -> Callable[[], None]:
    torch.manual_seed(0)
    timer = LayerTimer(device)
    layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(EVENTS_A_STEP)).to(device)
    batch = torch.randn(16, WIDTH, device=device)

    def step() -> None:
        output = batch
        events = []
        for layer in layers:
            events.append(timer.record())
            output = layer(output)
        output.square().mean().backward()
        layers.zero_grad()
        if is_destroying:
            for event in events:
                timer.destroy(event)

    return step


@leak(
    kind=("raw_cuda", "host_heap"),
    report="llnl/camp#71",
    line=("self.cudart.cudaEventCreate(", "events.append(timer.record())"),
    needs_cuda=True,
)
def cuda_events_each_step(device: str) -> Callable[[], None]:
    """A layer timer creates an event before each layer in every step and destroys none of them."""
    return timed(device, is_destroying=False)


@clean(report="llnl/camp#71", needs_cuda=True)
def cuda_events_each_step_clean(device: str) -> Callable[[], None]:
    """The same timer destroys its events when the step is over."""
    return timed(device, is_destroying=True)
