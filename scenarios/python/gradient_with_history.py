# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients that are made with a graph and added up without being zeroed."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 24


class PenalisedTraining:
    """Trains with a penalty on the norm of the gradient, which needs the gradient's own graph."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.weight = nn.Parameter(torch.randn(WIDTH, WIDTH, device=device) / WIDTH)

    def loss(self) -> torch.Tensor:
        return torch.tanh(torch.randn(8, WIDTH, device=self.device) @ self.weight).square().mean()

    def update(self, gradient: torch.Tensor) -> None:
        with torch.no_grad():
            self.weight -= 1e-2 * gradient

    def step_accumulating(self) -> None:
        (gradient,) = torch.autograd.grad(self.loss(), self.weight, create_graph=True)
        self.weight.grad = gradient if self.weight.grad is None else self.weight.grad + gradient
        self.update(self.weight.grad.detach())

    def step_afresh(self) -> None:
        (gradient,) = torch.autograd.grad(self.loss(), self.weight, create_graph=True)
        (penalty,) = torch.autograd.grad(gradient.norm(), self.weight)
        self.update(gradient.detach() + 0.1 * penalty)


@leak(
    kind=("graph_retention", "attached_activation", "reference_cycle"),
    report="pytorch/pytorch#1346",
    line="self.weight.grad = gradient if self.weight.grad is None",
    holder=".weight",
)
def gradient_with_history(device: str) -> Callable[[], None]:
    """`.grad` carries the graph of its own making and is never zeroed, so that each step's graph hangs on it."""
    return PenalisedTraining(device).step_accumulating


@clean(report="pytorch/pytorch#1346")
def gradient_with_history_clean(device: str) -> Callable[[], None]:
    """The gradient and its graph are gone with the step."""
    return PenalisedTraining(device).step_afresh
