# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A leak that is rarer than a short run is long: every 60th step, and every 150th, something stays."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 64
ROWS = 32


class Trainer:
    """Trains, and samples a gallery of outputs now and then."""

    def __init__(self, device: str, every: int) -> None:
        torch.manual_seed(0)
        self.device = device
        self.every = every
        self.model = nn.Linear(WIDTH, WIDTH).to(device)
        self.gallery: list[torch.Tensor] = []
        self.shown = torch.zeros(ROWS, WIDTH, device=device)
        self.steps = 0

    def train(self) -> bool:
        """Whether it is time to sample."""
        self.steps += 1
        self.model(torch.rand(4, WIDTH, device=self.device)).square().mean().backward()
        self.model.zero_grad()
        return self.steps % self.every == 0

    @torch.no_grad()
    def sampled(self) -> torch.Tensor:
        return self.model(torch.rand(ROWS, WIDTH, device=self.device))

    def step_collecting(self) -> None:
        if self.train():
            self.gallery.append(self.sampled())

    def step_replacing(self) -> None:
        if self.train():
            self.shown = self.sampled()


@leak(
    kind=("detached_activation", "growth"),
    report="Lightning-AI/pytorch-lightning#8583",
    line="self.gallery.append(self.sampled())",
    holder=".gallery",
    bytes_per_step=ROWS * WIDTH * 4.0 / 60,
)
def kept_every_60_steps(device: str) -> Callable[[], None]:
    """The samples of every 60th step are kept: 8 KiB, one of them within the steps of a clean verdict."""
    return Trainer(device, 60).step_collecting


@clean(report="Lightning-AI/pytorch-lightning#8583")
def kept_every_60_steps_clean(device: str) -> Callable[[], None]:
    """Only the newest samples are kept."""
    return Trainer(device, 60).step_replacing


@leak(
    kind=("detached_activation", "growth"),
    report="Lightning-AI/pytorch-lightning#8583",
    line="self.gallery.append(self.sampled())",
    holder=".gallery",
    bytes_per_step=ROWS * WIDTH * 4.0 / 150,
    not_yet="clean after 64 steps, which cannot show it: nightly, or the sources, though the list is empty yet",
)
def kept_every_150_steps(device: str) -> Callable[[], None]:
    """The samples of every 150th step are kept."""
    return Trainer(device, 150).step_collecting


@clean(report="Lightning-AI/pytorch-lightning#8583")
def kept_every_150_steps_clean(device: str) -> Callable[[], None]:
    """Only the newest samples are kept."""
    return Trainer(device, 150).step_replacing
