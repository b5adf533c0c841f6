# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Spectral normalisation whose power iteration starts from the vector of the step before."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 32


class SpectralNorm(nn.Module):
    """Divides a weight by its largest singular value."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(WIDTH, WIDTH))
        self.u = nn.functional.normalize(torch.randn(WIDTH), dim=0)

    def iterate(self) -> torch.Tensor:
        v = nn.functional.normalize(self.weight.T @ self.u, dim=0)
        self.u = nn.functional.normalize(self.weight @ v, dim=0)
        return v

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        v = self.iterate()
        return inputs @ (self.weight / (self.u @ self.weight @ v)).T


class SpectralNormWithoutGraph(SpectralNorm):
    """Keeps the iteration out of the graph."""

    def iterate(self) -> torch.Tensor:
        with torch.no_grad():
            return super().iterate()


class Discriminator:
    """Scores batches; the generator that would need a gradient is not trained here."""

    def __init__(self, device: str, norm: SpectralNorm) -> None:
        self.device = device
        self.norm = norm.to(device)
        self.norm.u = self.norm.u.to(device)
        self.score = 0.0

    def step(self) -> None:
        self.score = self.norm(torch.rand(8, WIDTH, device=self.device)).square().mean().item()


@leak(
    kind=("attached_activation", "graph_retention"),
    report="pytorch/pytorch#7261",
    line="self.u = nn.functional.normalize(self.weight @ v",
    holder=".u",
)
def power_iteration_attached(device: str) -> Callable[[], None]:
    """Each step's vector has a graph that reaches back through all vectors before."""
    torch.manual_seed(0)
    return Discriminator(device, SpectralNorm()).step


@clean(report="pytorch/pytorch#7261")
def power_iteration_attached_clean(device: str) -> Callable[[], None]:
    """The vectors are computed under no_grad."""
    torch.manual_seed(0)
    return Discriminator(device, SpectralNormWithoutGraph()).step
