# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Every experiment registers a forward hook and drops the handle, so that no hook is ever removed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
from stepleak.scenario import clean, leak
from torch import nn

FAULT_MAP_BYTES = 4096


class FaultInjection:
    """Experiments on how a network answers when some of its outputs flip."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.chooser = random.Random(0)
        self.model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)).to(device).eval()

    def plan_faults(self) -> Callable[[nn.Module, Any, torch.Tensor], None]:
        """A hook for one experiment: counts the faults that its own map asks for in this layer."""
        fault_map = self.chooser.randbytes(FAULT_MAP_BYTES)
        injected = 0

        def inject(layer: nn.Module, inputs: Any, output: torch.Tensor) -> None:
            nonlocal injected
            injected += fault_map[injected % FAULT_MAP_BYTES] & 1

        return inject

    @torch.no_grad()
    def run_model(self) -> None:
        self.model(torch.randn(8, 32, device=self.device)).argmax(dim=1)

    def experiment(self) -> None:
        self.model[0].register_forward_hook(self.plan_faults())  # and drops its handle
        self.run_model()

    def experiment_and_restore(self) -> None:
        handle = self.model[0].register_forward_hook(self.plan_faults())
        try:
            self.run_model()
        finally:
            handle.remove()


@leak(kind="host_heap", report="fffasttime/MRFI#5", line="# and drops its handle", holder="._forward_hooks")
def hook_handle_dropped(device: str) -> Callable[[], None]:
    """Each step plans its faults, hooks them into the first layer and runs the network.

    The handle is thrown away. Layers collect hooks, each with its 4 KB fault map, and forward gets slower by
    one call a step; no tensor is involved, so the device shows nothing.
    """
    return FaultInjection(device).experiment


@clean(report="fffasttime/MRFI#5")
def hook_handle_dropped_clean(device: str) -> Callable[[], None]:
    """The same experiment removes its hook when the network has answered."""
    return FaultInjection(device).experiment_and_restore
