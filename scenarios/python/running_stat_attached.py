# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A hand-written normalisation updates its running variance with gradients on."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn


class RunningNorm(nn.Module):
    """Scales its input by the batch's deviation in training and by a running one afterwards."""

    running_variance: torch.Tensor

    def __init__(self, width: int, momentum: float = 0.1) -> None:
        super().__init__()
        self.momentum = momentum
        self.register_buffer("running_variance", torch.ones(width))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return inputs / (self.running_variance.sqrt() + 1e-5)
        self.update(inputs.var(dim=0))
        return inputs / (inputs.std(dim=0) + 1e-5)

    def update(self, variance: torch.Tensor) -> None:
        self.running_variance = (1 - self.momentum) * self.running_variance + self.momentum * variance


class RunningNormDetached(RunningNorm):
    """The same normalisation, whose running variance stays apart from the graph."""

    def update(self, variance: torch.Tensor) -> None:
        super().update(variance.detach())


def make_step(device: str, norm: nn.Module) -> Callable[[], None]:
    """One training step of a network with `norm` in its middle."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), norm, nn.Linear(32, 8)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        model(torch.randn(8, 32, device=device)).pow(2).mean().backward()
        optimizer.step()

    return step


@leak(
    kind="attached_activation",
    report="pytorch/pytorch#20275",
    line=("self.running_variance = (1 - self.momentum)", "self.update(inputs.var(dim=0))"),
    holder=".running_variance",
)
def running_stat_attached(device: str) -> Callable[[], None]:
    """Each forward blends the batch's variance, a vector with a graph, into the running variance.

    The running variance becomes the end of a chain through all steps. Backward never runs through it, so each
    link keeps the activation that it was computed from.
    """
    return make_step(device, RunningNorm(32))


@clean(report="pytorch/pytorch#20275")
def running_stat_attached_clean(device: str) -> Callable[[], None]:
    """The same normalisation detaches the batch's variance before it enters the running one."""
    return make_step(device, RunningNormDetached(32))
