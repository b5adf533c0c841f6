# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A kernel is compiled at run time, and loaded, for each step."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }
"""


class Kernels:
    """Loads what a template engine has written, through the driver."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.driver = ctypes.CDLL("libcuda.so.1")

    def load(self) -> ctypes.c_void_p:
        module = ctypes.c_void_p()
        with torch.cuda.device(self.device):
            error = self.driver.cuModuleLoadData(ctypes.byref(module), PTX)
        if error != 0:
            raise RuntimeError(f"cuModuleLoadData failed with error {error}")
        return module

    def unload(self, module: ctypes.c_void_p) -> None:
        self.driver.cuModuleUnload(module)


def computing(device: str, is_unloading: bool) -> Callable[[], None]:
    kernels = Kernels(device)
    batch = torch.ones(16, 64, device=device)

    def step() -> None:
        torch.sin(batch)
        module = kernels.load()
        if is_unloading:
            kernels.unload(module)

    return step


@leak(
    kind="raw_cuda",
    report="gwoltman/gpuowl#5",
    line=("self.driver.cuModuleLoadData(", "module = kernels.load()"),
    needs_cuda=True,
)
def cuda_module_each_step(device: str) -> Callable[[], None]:
    """The module of every step stays loaded."""
    return computing(device, is_unloading=False)


@clean(report="gwoltman/gpuowl#5", needs_cuda=True)
def cuda_module_each_step_clean(device: str) -> Callable[[], None]:
    """The same kernels are unloaded when the step is over."""
    return computing(device, is_unloading=True)
