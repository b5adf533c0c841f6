# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Points that are densified every 25 steps: each time the parameter is replaced by a larger or an equal one."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

POINTS = 64
EVERY = 25


class Splatting:
    """Fits points to a target; those of small weight are moved elsewhere, as a new parameter."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.points = torch.rand(POINTS, 3, device=device).requires_grad_()
        self.optimizer = torch.optim.Adam([self.points], lr=1e-2)
        self.steps_done = 0

    def fit(self) -> bool:
        """Whether it is time to move points."""
        target = torch.rand(POINTS, 3, device=self.device)
        self.optimizer.zero_grad()
        (self.points - target).square().mean().backward()
        self.optimizer.step()
        self.steps_done += 1
        return self.steps_done % EVERY == 0

    def moved(self) -> torch.Tensor:
        order = torch.randperm(POINTS, device=self.device)
        return self.points.detach()[order].clone().requires_grad_()

    def step_replacing(self) -> None:
        if self.fit():
            self.points = self.moved()  # its moments stay
            self.optimizer.param_groups[0]["params"] = [self.points]  # not its state

    def step_replacing_with_state(self) -> None:
        if self.fit():
            state = self.optimizer.state.pop(self.points)
            self.points = self.moved()
            self.optimizer.param_groups[0]["params"] = [self.points]
            self.optimizer.state[self.points] = state


@leak(
    kind="optimizer_state",
    report="nerfstudio-project/gsplat#931",
    line=("self.points = self.moved()  # its", "[self.points]  # not its state"),
    holder=".state",
)
def densified_points(device: str) -> Callable[[], None]:
    """The optimizer's state is keyed by parameter: moments of the replaced one, and itself as the key, stay."""
    return Splatting(device).step_replacing


@clean(report="nerfstudio-project/gsplat#931")
def densified_points_clean(device: str) -> Callable[[], None]:
    """The state moves on to the new parameter."""
    return Splatting(device).step_replacing_with_state
