# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs of an epoch that are cleared at its end."""

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn


class Validation:
    """Scores all outputs of an epoch of ten batches at once."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32)).to(device).eval()
        self.outputs: list[torch.Tensor] = []
        self.score = 0.0

    @torch.no_grad()
    def step(self) -> None:
        self.outputs.append(self.model(torch.rand(8, 32, device=self.device)))
        if len(self.outputs) == 10:
            self.score = torch.cat(self.outputs).std().item()
            self.outputs.clear()


@clean(report="Lightning-AI/pytorch-lightning#5735")
def epoch_metrics_reset(device: str) -> Callable[[], None]:
    """A validation loop keeps the outputs of ten batches to score them together, then clears its list.

    Inside an epoch memory rises with each step, and every epoch starts from the same level.
    """
    return Validation(device).step
