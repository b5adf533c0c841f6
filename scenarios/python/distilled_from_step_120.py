# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A second phase of training begins at step 120, and with it the leak."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 32
ROWS = 8
BEGIN = 120


class Distillation:
    """Trains alone for a while, then towards what a teacher says."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.student = nn.Linear(WIDTH, WIDTH).to(device)
        self.teacher = nn.Linear(WIDTH, WIDTH).to(device).requires_grad_(False)
        self.optimizer = torch.optim.SGD(self.student.parameters(), lr=1e-2)
        self.targets: list[torch.Tensor] = []
        self.steps = 0

    def train(self, inputs: torch.Tensor, target: torch.Tensor) -> None:
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.student(inputs), target).backward()
        self.optimizer.step()

    def step_keeping_targets(self) -> None:
        self.steps += 1
        inputs = torch.rand(ROWS, WIDTH, device=self.device)
        if self.steps < BEGIN:
            self.train(inputs, inputs)
            return
        self.targets.append(self.teacher(inputs))
        self.train(inputs, self.targets[-1])

    def step(self) -> None:
        self.steps += 1
        inputs = torch.rand(ROWS, WIDTH, device=self.device)
        self.train(inputs, inputs if self.steps < BEGIN else self.teacher(inputs))


@leak(
    kind=("detached_activation", "growth"),
    report="PaddlePaddle/PaddleNLP#6003",
    line="self.targets.append(self.teacher(inputs))",
    holder=".targets",
    bytes_per_step=ROWS * WIDTH * 4.0,
    not_yet="clean after 64 steps, before it begins: nightly, or the sources, though the list is empty yet",
)
def distilled_from_step_120(device: str) -> Callable[[], None]:
    """From step 120 on the teacher's answers are kept, a batch a step; until then nothing moves."""
    return Distillation(device).step_keeping_targets


@clean(report="PaddlePaddle/PaddleNLP#6003")
def distilled_from_step_120_clean(device: str) -> Callable[[], None]:
    """Each answer is gone with its step."""
    return Distillation(device).step
