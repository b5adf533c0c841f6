# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""One autocast region around the whole run caches the cast of each weight, and weights are made anew in every step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 32


class HyperNetwork:
    """Generates weights of a small network for each batch, as leaves that are refined before use."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.outer = nn.Linear(WIDTH, WIDTH).to(device)

    def refine(self) -> None:
        weight = self.outer.weight.detach().clone().requires_grad_()
        inputs = torch.randn(8, WIDTH, device=self.device)
        loss = nn.functional.linear(inputs, weight).float().square().mean()
        (gradient,) = torch.autograd.grad(loss, weight)
        with torch.no_grad():
            self.outer.weight -= 0.01 * gradient

    def step_within_one_region(self) -> None:
        self.refine()

    def step_with_its_region(self) -> None:
        with torch.autocast(torch.device(self.device).type, dtype=torch.bfloat16):
            self.refine()


@leak(
    kind=("growth", "detached_activation", "attached_activation", "graph_retention"),
    report="pytorch/pytorch#48049",
    line=("dtype=torch.bfloat16).__enter__()", "nn.functional.linear(inputs, weight)"),
)
def autocast_around_the_run(device: str) -> Callable[[], None]:
    """The region is entered in the set-up; its cache is cleared on exit only, and never finds a weight again."""
    training = HyperNetwork(device)
    torch.autocast(torch.device(device).type, dtype=torch.bfloat16).__enter__()
    return training.step_within_one_region


@clean(report="pytorch/pytorch#48049")
def autocast_around_the_run_clean(device: str) -> Callable[[], None]:
    """Each step enters and leaves a region of its own."""
    return HyperNetwork(device).step_with_its_region
