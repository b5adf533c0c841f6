# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A gradient hook on a parameter that lives for the whole run is registered anew in every step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 32


class Pruning:
    """Trains a sparse layer: the gradients of pruned weights are masked."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.layer = nn.Linear(WIDTH, WIDTH).to(device)
        self.optimizer = torch.optim.SGD(self.layer.parameters(), lr=1e-2)

    def mask(self) -> torch.Tensor:
        weight = self.layer.weight.detach().abs()
        return (weight > weight.median()).float()

    def train(self) -> None:
        inputs = torch.randn(8, WIDTH, device=self.device)
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.layer(inputs), inputs).backward()
        self.optimizer.step()

    def step_adding_a_hook(self) -> None:
        mask = self.mask()
        self.layer.weight.register_hook(lambda gradient: gradient * mask)  # never removed
        self.train()

    def step_within_a_hook(self) -> None:
        mask = self.mask()
        handle = self.layer.weight.register_hook(lambda gradient: gradient * mask)
        self.train()
        handle.remove()


@leak(
    kind=("optimizer_state", "growth", "detached_activation"),
    report="fffasttime/MRFI#5",
    line="# never removed",
    holder="._backward_hooks",
    bytes_per_step=WIDTH * WIDTH * 4.0,
)
def parameter_hook_each_step(device: str) -> Callable[[], None]:
    """Each step's mask goes into a hook of its own, and no hook is removed: masks pile up, and backward slows down."""
    return Pruning(device).step_adding_a_hook


@clean(report="fffasttime/MRFI#5")
def parameter_hook_each_step_clean(device: str) -> Callable[[], None]:
    """The hook is removed after its backward."""
    return Pruning(device).step_within_a_hook
