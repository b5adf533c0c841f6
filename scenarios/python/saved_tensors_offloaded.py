# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Saved tensors that hooks put into a pool on the host, and a forward pass that no backward follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 32


class Pool:
    """Keeps what autograd saves, by ticket, until backward asks for it."""

    def __init__(self) -> None:
        self.stored: dict[int, torch.Tensor] = {}
        self.tickets = 0

    def pack(self, tensor: torch.Tensor) -> Any:
        self.tickets += 1
        self.stored[self.tickets] = tensor.detach().to("cpu", copy=True)
        return self.tickets, tensor.device

    def unpack(self, packed: Any) -> torch.Tensor:
        ticket, device = packed
        return self.stored.pop(ticket).to(device)


class Offloading:
    """Trains with a pool; every fourth step the loss on a validation batch is looked at."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.pool = Pool()
        self.validation = 0.0
        self.steps_done = 0

    def loss(self) -> torch.Tensor:
        with torch.autograd.graph.saved_tensors_hooks(self.pool.pack, self.pool.unpack):
            return self.model(torch.randn(8, WIDTH, device=self.device)).square().mean()

    def train(self) -> bool:
        """Whether it is time to validate."""
        self.optimizer.zero_grad()
        self.loss().backward()
        self.optimizer.step()
        self.steps_done += 1
        return self.steps_done % 4 == 0

    def step_validating_with_graph(self) -> None:
        if self.train():
            self.validation = self.loss().item()  # without a backward

    def step_validating_without_graph(self) -> None:
        if self.train():
            with torch.no_grad():
                self.validation = self.loss().item()


@leak(
    kind=("detached_activation", "growth"),
    report="deepspeedai/DeepSpeed#1698",
    line=("self.stored[self.tickets] = tensor.detach()", "# without a backward"),
    holder=".stored",
)
def saved_tensors_offloaded(device: str) -> Callable[[], None]:
    """The validation loss has a graph whose saved tensors are packed and, for want of a backward, never unpacked."""
    return Offloading(device).step_validating_with_graph


@clean(report="deepspeedai/DeepSpeed#1698")
def saved_tensors_offloaded_clean(device: str) -> Callable[[], None]:
    """Validation runs under no_grad, so that nothing is saved."""
    return Offloading(device).step_validating_without_graph
