# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""backward(create_graph=True) on a fresh leaf ties the leaf and its gradient into a cycle."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn


def make_objective(device: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """The function that is minimised: a small fixed network of the point."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)).to(device).requires_grad_(False)
    return lambda point: network(point).square().sum()


@leak(kind="reference_cycle", report="pytorch/pytorch#7343", line="objective(point).backward(create_graph=True)")
def param_grad_cycle(device: str) -> Callable[[], None]:
    """A Newton-like search starts each step from a new point and differentiates twice.

    The point's .grad has a graph that leads back to the point. Half of the cycle lives in C++, where Python's
    collector does not look, so the point, its gradient and their graph outlive the step for good.
    """
    objective = make_objective(device)

    def step() -> None:
        point = torch.randn(8, 32, device=device, requires_grad=True)
        objective(point).backward(create_graph=True)
        assert point.grad is not None
        torch.autograd.grad(point.grad.square().sum(), point, retain_graph=True)

    return step


@clean(report="pytorch/pytorch#7343")
def param_grad_cycle_clean(device: str) -> Callable[[], None]:
    """The same search asks torch.autograd.grad for the gradient, which leaves .grad alone."""
    objective = make_objective(device)

    def step() -> None:
        point = torch.randn(8, 32, device=device, requires_grad=True)
        (gradient,) = torch.autograd.grad(objective(point), point, create_graph=True)
        torch.autograd.grad(gradient.square().sum(), point, retain_graph=True)

    return step
