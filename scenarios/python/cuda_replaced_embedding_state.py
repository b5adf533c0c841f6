# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""An embedding on the GPU is replaced now and then, and Adam keeps the state of the old one."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

ROWS = 64
WIDTH = 32
STEPS_BETWEEN = 4


class CodebookTraining:
    """Trains a codebook, of which dead entries are revived every few steps in a new embedding."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.encoder = nn.Linear(WIDTH, WIDTH).to(device)
        self.codebook = nn.Embedding(ROWS, WIDTH).to(device)
        self.optimizer = torch.optim.Adam(self.encoder.parameters(), lr=1e-3)
        self.optimizer.add_param_group({"params": list(self.codebook.parameters())})
        self.steps_done = 0

    def training_step(self) -> None:
        inputs = torch.randn(8, WIDTH, device=self.device)
        codes = torch.randint(ROWS, (8,), device=self.device)
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.encoder(inputs), self.codebook(codes)).backward()
        self.optimizer.step()
        self.steps_done += 1
        if self.steps_done % STEPS_BETWEEN == 0:
            self.revive()

    def revive(self) -> None:
        self.codebook = nn.Embedding.from_pretrained(self.codebook.weight.detach() + 0.01, freeze=False)
        self.optimizer.add_param_group({"params": list(self.codebook.parameters())})  # beside the old one


class CodebookTrainingWithClearedState(CodebookTraining):
    """Takes the old embedding out of the optimizer before the new one goes in."""

    def revive(self) -> None:
        del self.optimizer.state[self.codebook.weight]
        del self.optimizer.param_groups[-1]
        super().revive()


@leak(
    kind=("optimizer_state", "detached_activation", "growth"),
    report="nerfstudio-project/gsplat#931",
    line="# beside the old one",
    holder=(".param_groups", ".state"),
    bytes_per_step=3 * ROWS * WIDTH * 4.0 / STEPS_BETWEEN,
    needs_cuda=True,
)
def cuda_replaced_embedding_state(device: str) -> Callable[[], None]:
    """Every fourth step the embedding is replaced, and its successor joins Adam as a further parameter group.

    The old group keeps the old weight, and the state its two moments: three copies a replacement.
    """
    return CodebookTraining(device).training_step


@clean(report="nerfstudio-project/gsplat#931", needs_cuda=True)
def cuda_replaced_embedding_state_clean(device: str) -> Callable[[], None]:
    """The same training removes the old embedding's group and state first."""
    return CodebookTrainingWithClearedState(device).training_step
