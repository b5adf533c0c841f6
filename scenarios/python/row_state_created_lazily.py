# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""An optimizer by hand keeps a state for each row of an embedding, made when the row is first met."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

WIDTH = 16
ROWS = 120
ROWS_A_STEP = 4


class SparseOptimizer:
    """Momentum for the rows that a batch touches."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.draws = random.Random(1)
        self.table = torch.rand(ROWS, WIDTH, device=device)
        self.momentum: dict[int, torch.Tensor] = {}
        self.steps = 0

    def update(self, key: int, row: int) -> None:
        gradient = self.table[row] - 0.5
        if key not in self.momentum:
            self.momentum[key] = torch.zeros(WIDTH, device=self.device)
        self.momentum[key].mul_(0.9).add_(gradient)
        self.table[row] -= 0.01 * self.momentum[key]

    def step_by_row(self) -> None:
        for row in self.draws.sample(range(ROWS), ROWS_A_STEP):
            self.update(row, row)

    def step_by_position(self) -> None:
        for row in self.draws.sample(range(ROWS), ROWS_A_STEP):
            self.update(self.steps * ROWS + row, row)
        self.steps += 1


@leak(
    kind="growth",
    report="nerfstudio-project/gsplat#931",
    line=("self.momentum[key] = torch.zeros(", "self.update(self.steps * ROWS + row, row)"),
    holder=".momentum",
    bytes_per_step=ROWS_A_STEP * WIDTH * 4.0,
)
def row_state_created_lazily(device: str) -> Callable[[], None]:
    """The key tells where in the stream the row was met, so that no state is ever found again."""
    return SparseOptimizer(device).step_by_position


@clean(report="nerfstudio-project/gsplat#931")
def row_state_created_lazily_clean(device: str) -> Callable[[], None]:
    """There are 120 rows: most are met soon, the last ones late."""
    return SparseOptimizer(device).step_by_row
