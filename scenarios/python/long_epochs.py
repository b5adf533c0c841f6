# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A list that is cleared every 120 or 300 steps, and a second one that gets something each time."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

WIDTH = 64


class EpochMean:
    """Collects the outputs of an epoch, for a mean at its end."""

    def __init__(self, device: str, steps_an_epoch: int) -> None:
        self.device = device
        self.steps_an_epoch = steps_an_epoch
        self.outputs: list[torch.Tensor] = []
        self.worst: list[torch.Tensor] = []
        self.mean = 0.0

    def collect(self) -> bool:
        """Whether the epoch is over."""
        self.outputs.append(torch.rand(WIDTH, device=self.device))
        return len(self.outputs) == self.steps_an_epoch

    def end_epoch(self) -> None:
        self.mean = torch.stack(self.outputs).mean().item()
        self.outputs.clear()

    def step_keeping_worst(self) -> None:
        if self.collect():
            self.worst.append(min(self.outputs, key=lambda output: float(output.sum())))
            self.end_epoch()

    def step(self) -> None:
        if self.collect():
            self.end_epoch()


@leak(
    kind=("growth", "detached_activation"),
    report="Lightning-AI/pytorch-lightning#1510",
    line="self.worst.append(",
    holder=".worst",
    bytes_per_step=WIDTH * 4.0 / 120,
)
def epochs_of_120_steps(device: str) -> Callable[[], None]:
    """Under a saw-tooth of 120 steps the worst output of each epoch stays: 256 B."""
    return EpochMean(device, 120).step_keeping_worst


@clean(report="Lightning-AI/pytorch-lightning#1510")
def epochs_of_120_steps_clean(device: str) -> Callable[[], None]:
    """The saw-tooth alone."""
    return EpochMean(device, 120).step


@leak(
    kind=("growth", "detached_activation"),
    report="Lightning-AI/pytorch-lightning#1510",
    line="self.worst.append(",
    holder=".worst",
    bytes_per_step=WIDTH * 4.0 / 300,
    not_yet="undecided: the third fall, at step 900, shows what each leaves, and 1,024 steps end before it is proven",
)
def epochs_of_300_steps(device: str) -> Callable[[], None]:
    """Under a saw-tooth of 300 steps, three of which are all that a run has, the worst output of each epoch stays."""
    return EpochMean(device, 300).step_keeping_worst


@clean(report="Lightning-AI/pytorch-lightning#1510")
def epochs_of_300_steps_clean(device: str) -> Callable[[], None]:
    """The saw-tooth alone."""
    return EpochMean(device, 300).step
