# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A list that is cleared every fifty steps, and a second one that gets something each time."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 32
STEPS_AN_EPOCH = 50


class Epochs:
    """Collects the outputs of an epoch, and looks for the hardest example among them."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, WIDTH).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.outputs: list[torch.Tensor] = []

    def train(self) -> bool:
        """Whether the epoch is over."""
        inputs = torch.randn(8, WIDTH, device=self.device)
        self.optimizer.zero_grad()
        output = self.model(inputs)
        nn.functional.mse_loss(output, inputs).backward()
        self.optimizer.step()
        self.outputs.append(output.detach())
        return len(self.outputs) == STEPS_AN_EPOCH

    def hardest(self) -> torch.Tensor:
        return max(self.outputs, key=lambda output: float(output.square().mean()))


class GalleryOfAll(Epochs):
    """Keeps the hardest batch of each epoch."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.gallery: list[torch.Tensor] = []

    def step(self) -> None:
        if self.train():
            self.gallery.append(self.hardest())
            self.outputs.clear()


class GalleryOfLast(Epochs):
    """Keeps the hardest batch of the last epoch."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.shown = torch.zeros(8, WIDTH, device=device)

    def step(self) -> None:
        if self.train():
            self.shown = self.hardest()
            self.outputs.clear()


@leak(
    kind=("detached_activation", "growth"),
    report="Lightning-AI/pytorch-lightning#1510",
    line="self.gallery.append(self.hardest())",
    holder=".gallery",
    bytes_per_step=8 * WIDTH * 4.0 / STEPS_AN_EPOCH,
)
def best_of_each_epoch(device: str) -> Callable[[], None]:
    """Under a saw-tooth of fifty steps one batch in fifty stays."""
    return GalleryOfAll(device).step


@clean(report="Lightning-AI/pytorch-lightning#1510")
def best_of_each_epoch_clean(device: str) -> Callable[[], None]:
    """The saw-tooth alone."""
    return GalleryOfLast(device).step
