# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: the last output stays on the trainer until the next step replaces it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

LENGTHS = (6, 11, 4, 9, 14, 5, 8)


class SequenceTrainer:
    """Keeps its last output and loss where a debugger or a progress bar can find them."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.output: torch.Tensor | None = None
        self.loss: torch.Tensor | None = None
        self.step_count = 0

    def step(self) -> None:
        length = LENGTHS[self.step_count % len(LENGTHS)]
        self.step_count += 1
        tokens = torch.randn(4, length, 32, device=self.device)
        self.output = self.model(tokens)
        self.loss = nn.functional.mse_loss(self.output, tokens)
        self.optimizer.zero_grad()
        self.loss.backward()
        self.optimizer.step()


@clean(report="pytorch/pytorch#40562")
def previous_output_alive(device: str) -> Callable[[], None]:
    """While a step runs, the output and the graph of the step before are still there; lengths vary.

    The second step needs more than the first, and what stays at a boundary goes up and down with the length,
    but it is never more than one step's worth.
    """
    return SequenceTrainer(device).step
