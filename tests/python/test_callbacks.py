# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that gain what can be called or runs, and those that gain records of numbers and words."""

from __future__ import annotations

import dataclasses
import functools
import io
import logging
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch
from holder_search import STEPS, search

MODEL = torch.nn.Linear(2, 2)
OPTIMIZER = torch.optim.SGD(MODEL.parameters(), lr=0.1)


class Handler:
    """Has something to call among its attributes."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.on_end: Callable[[], int] = lambda: number

    def close(self) -> None:
        """As a record's class has methods, too."""


@dataclasses.dataclass
class Record:
    step: int
    loss: float
    rates: dict[str, list[float]]
    model: Any = None

    def text(self) -> str:
        return f"{self.step}: {self.loss}"


def record(number: int) -> Record:
    return Record(number, number / 7, {"lr": [float(number)]}, MODEL)


def generated(number: int) -> Any:
    yield number


CALLBACKS: dict[str, Callable[[int], Any]] = {
    "function": lambda number: lambda: number,
    "method": lambda number: Handler(number).close,
    "partial": lambda number: functools.partial(print, number),
    "what has a function": Handler,
    "in a tuple": lambda number: (number, Handler(number)),
    "generator": generated,
    "class": lambda number: type(f"Stage{number}", (Handler,), {}),
    "open file": lambda number: io.StringIO(str(number)),
    "logger's handler": lambda number: logging.StreamHandler(),
    "scheduler": lambda number: torch.optim.lr_scheduler.ExponentialLR(OPTIMIZER, 0.9),
}
RECORDS: dict[str, Callable[[int], Any]] = {
    "number": float,
    "tuple": lambda number: (number, str(number), [float(number)]),
    "dict": lambda number: {"step": number, "losses": [float(number)] * 3},
    "record of what was there before": record,
    "record with a function of the program": lambda number: [number, print, record],
    "tensor": lambda number: torch.ones(2),
}


def gains_callbacks(made: Callable[[int], Any], kind: str) -> bool:
    first = made(-1)
    root: Any = types.SimpleNamespace(gathered=[first] if kind == "list" else {-1: first})

    def keep() -> list[int]:
        for i in range(STEPS):
            if kind == "list":
                root.gathered.append(made(i))
            else:
                root.gathered[i] = made(i)
        return []

    holders = search(root, keep)["holders"]
    return bool(next(h for h in holders if ".gathered" in h["path"])["gains_callbacks"])


@pytest.mark.parametrize("kind", ["list", "dict"])
@pytest.mark.parametrize("name", CALLBACKS)
def test_what_can_be_called_or_runs_is_no_record(name: str, kind: str) -> None:
    assert gains_callbacks(CALLBACKS[name], kind)


@pytest.mark.parametrize("kind", ["list", "dict"])
@pytest.mark.parametrize("name", RECORDS)
def test_records_are_no_callbacks(name: str, kind: str) -> None:
    assert not gains_callbacks(RECORDS[name], kind)


def test_container_that_gained_few_callbacks_is_looked_for() -> None:
    root: Any = types.SimpleNamespace(handlers=[Handler(0)], sink=memoryview(b""))

    def keep() -> list[int]:
        for i in range(2):
            handler = Handler(i)
            handler.sink = root.sink  # type: ignore[attr-defined]
            root.handlers.append(handler)
        return []

    assert any(".handlers" in h["path"] and h["gains_callbacks"] for h in search(root, keep)["holders"])
