# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A server that batches what waits, and whose callers give up now and then."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

LATE_PART = 6


class Model:
    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(64, 8).to(device).requires_grad_(False)

    def answer(self, rows: torch.Tensor, is_late: bool) -> torch.Tensor:
        if is_late:
            raise TimeoutError
        return self.layer(rows).argmax()


class Desk(Model):
    """Requests by number until they are answered."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.waiting: dict[int, torch.Tensor] = {}
        self.numbers = itertools.count()

    def ask(self, rows: torch.Tensor, is_late: bool) -> torch.Tensor:
        number = next(self.numbers)
        self.waiting[number] = rows
        answer = self.answer(rows, is_late)
        del self.waiting[number]
        return answer


class TidyDesk(Model):
    """The same, whatever comes of them."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.pending: dict[int, torch.Tensor] = {}
        self.count = itertools.count()

    def ask(self, rows: torch.Tensor, is_late: bool) -> torch.Tensor:
        number = next(self.count)
        self.pending[number] = rows
        try:
            return self.answer(rows, is_late)
        finally:
            del self.pending[number]


def requests(device: str, ask: Callable[[torch.Tensor, bool], torch.Tensor]) -> Callable[[], None]:
    """Four a step, of which every sixth gives up."""
    asked = itertools.count()

    def step() -> None:
        for _ in range(4):
            try:
                ask(torch.rand(64, device=device), next(asked) % LATE_PART == 0)
            except TimeoutError:
                continue

    return step


@leak(kind="growth", report="vllm-project/vllm#48165", line="self.waiting[number] = rows", holder=".waiting")
def timed_out_requests_kept(device: str) -> Callable[[], None]:
    """What raises between the two lines leaves its request behind, and no other call takes it out."""
    return requests(device, Desk(device).ask)


@clean(report="vllm-project/vllm#48165")
def timed_out_requests_kept_clean(device: str) -> Callable[[], None]:
    """The request goes in any case."""
    return requests(device, TidyDesk(device).ask)
