# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A window of what a sensor said last, which is made anew of the one before it in each step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

WIDTH = 64
LENGTH = 400
NEW_ROWS = 4


class Window:
    """The last rows, on which each new one attends."""

    def __init__(self, device: str, *, along_rows: bool) -> None:
        torch.manual_seed(0)
        self.length = LENGTH
        self.along_rows = along_rows
        self.rows = torch.zeros(0 if along_rows else NEW_ROWS, WIDTH, device=device)

    def push(self, new: torch.Tensor) -> None:
        if self.along_rows:
            self.rows = torch.cat([self.rows, new])[-self.length :]
        else:
            self.rows = torch.cat([self.rows, new], dim=1)[-self.length :]

    def step(self) -> None:
        new = torch.randn(NEW_ROWS, WIDTH, device=self.rows.device)
        self.push(new)
        (new @ self.rows[:, :WIDTH].T).softmax(-1).sum().item()


@leak(
    kind="growing_buffer",
    report="MemTensor/MemOS#2303",
    line="self.rows = torch.cat([self.rows, new], dim=1)[-self.length :]",
    holder=".rows",
)
def window_joined(device: str) -> Callable[[], None]:
    """It is cut on another axis than that on which it grows."""
    return Window(device, along_rows=False).step


@clean(report="MemTensor/MemOS#2303")
def window_joined_clean(device: str) -> Callable[[], None]:
    """It grows for a hundred steps, until it is as long as it may be."""
    return Window(device, along_rows=True).step
