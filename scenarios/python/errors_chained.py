# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A server that keeps the last error of a request."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn


class Server:
    """Some requests fail, and what went wrong last can be asked for."""

    def __init__(self, device: str, *, is_chained: bool) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(64, 8).to(device)
        self.is_chained = is_chained
        self.last_error: Exception | None = None
        self.count = 0

    def answer(self) -> None:
        scores = self.model(torch.rand(4, 64, device=self.device)).square()
        self.count += 1
        if self.count % 2 == 0:
            raise ValueError(f"request {self.count} has no answer among {len(scores)}")

    def step(self) -> None:
        try:
            self.answer()
        except ValueError as error:
            if self.is_chained:
                error.__cause__ = self.last_error
            self.last_error = error


@leak(
    kind=("graph_retention", "attached_activation"),
    report="pytorch/pytorch#18853",
    line="self.last_error = error",
    holder=".last_error",
)
def errors_chained(device: str) -> Callable[[], None]:
    """Each error has the one before as its cause, and with it the variables of the request that failed."""
    return Server(device, is_chained=True).step


@clean(report="pytorch/pytorch#18853")
def errors_chained_clean(device: str) -> Callable[[], None]:
    """The last error takes the place of the one before."""
    return Server(device, is_chained=False).step
