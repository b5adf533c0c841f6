# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A custom Function that returns a tensor with a view of it, and saves another view: an open issue of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from stepleak.scenario import clean, leak

ROWS = 32


class WithHeadings(torch.autograd.Function):
    """Shifts a table and also returns its two first rows."""

    @staticmethod
    def forward(ctx: Any, table: torch.Tensor) -> Any:
        shifted = table + 1
        headings = shifted[:2]
        ctx.save_for_backward(headings.unsqueeze(0))
        return shifted, headings

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> torch.Tensor:
        return gradients[0]


class WithCopiedHeadings(WithHeadings):
    """Saves a copy of the two rows."""

    @staticmethod
    def forward(ctx: Any, table: torch.Tensor) -> Any:
        shifted = table + 1
        headings = shifted[:2]
        ctx.save_for_backward(headings.unsqueeze(0).clone())
        return shifted, headings


class Report:
    """Shows the headings of a table that is trained elsewhere."""

    def __init__(self, device: str, function: type[torch.autograd.Function]) -> None:
        torch.manual_seed(0)
        self.function = function
        self.table = torch.rand(ROWS, ROWS, device=device, requires_grad=True)
        self.shown = 0.0

    def step(self) -> None:
        _, headings = self.function.apply(self.table)
        self.shown = headings.mean().item()


@leak(
    kind=("reference_cycle", "view_pins_storage"),
    report="pytorch/pytorch#94990",
    line="ctx.save_for_backward(headings.unsqueeze(0))",
)
def saved_view_of_output(device: str) -> Callable[[], None]:
    """Output, its node, the saved view, its base: a cycle inside autograd, as no backward cuts it."""
    return Report(device, WithHeadings).step


@clean(report="pytorch/pytorch#94990")
def saved_view_of_output_clean(device: str) -> Callable[[], None]:
    """The copy that is saved leads nowhere."""
    return Report(device, WithCopiedHeadings).step
