# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that return their work in place of doing it: never clean without a word."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import stepleak
import torch

PARENTHESES = "are its parentheses missing?"
RUN_IT = "run it in the step: for example"


def report(step: Callable[[], Any]) -> str:
    result = stepleak.check(step, effort="quick", device="cpu", steps=16)
    assert result.is_clean, result.report
    return result.report


class Training:
    def __init__(self) -> None:
        self.kept: list[torch.Tensor] = []

    def step(self, batch: int = 0) -> None:
        self.kept.append(torch.ones(4))


class Strange:
    """Its attributes are code that fails."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __call__(self) -> None:
        pass


training, strange = Training(), Strange()


def train() -> None:
    training.step()


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (lambda: training.step, "Training.step"),
        (lambda: train, "train"),
        (lambda: torch.ones, "ones"),
        (lambda: training.kept.clear, "list.clear"),
        (lambda: functools.partial(training.step, 1), "Training.step"),
        (lambda: functools.partial(strange), "Strange"),
    ],
    ids=["method", "function", "of_torch", "builtin_method", "partial", "partial_of_an_object"],
)
def test_function_without_its_parentheses_is_told(step: Callable[[], Any], name: str) -> None:
    told = report(step)
    assert f"{name}, and stepleak does not call what a step returns" in told
    assert PARENTHESES in told
    assert training.kept == []


@pytest.mark.parametrize(
    "iterator",
    [map, filter, itertools.starmap, lambda step, batches: zip(batches, map(step, batches), strict=True)],
    ids=["map", "filter", "starmap", "zip"],
)
def test_iterator_that_nobody_asked_is_told(iterator: Callable[..., Any]) -> None:
    told = report(lambda: iterator(training.step, [1, 2]))
    assert "iterator, which runs nothing until something takes from it" in told
    assert RUN_IT in told
    assert training.kept == []


def trains_and_returns_a_method() -> Any:
    torch.ones(4)
    return training.step


def takes_from_its_iterator() -> Any:
    tensors = map(torch.zeros, range(1, 4))
    next(tensors)
    return tensors


@pytest.mark.parametrize(
    "step",
    [
        trains_and_returns_a_method,
        takes_from_its_iterator,
        lambda: None,
        lambda: Training,
        lambda: strange,
        lambda: [training.step],
        lambda: training,
    ],
    ids=["ran", "took", "none", "class", "callable_object", "list", "object"],
)
def test_what_a_step_may_well_return_is_not_told(step: Callable[[], Any]) -> None:
    told = report(step)
    assert PARENTHESES not in told
    assert RUN_IT not in told


@pytest.mark.parametrize("outcome", [torch.nn.Linear(2, 2), torch.ones(4)], ids=["module", "tensor"])
def test_module_and_tensor_are_not_told(outcome: object) -> None:
    assert PARENTHESES not in report(lambda: outcome)


@pytest.mark.parametrize("other", [0, 15], ids=["first", "last"])
def test_function_of_all_steps_but_one_is_not_told(other: int) -> None:
    numbers = itertools.count()
    assert PARENTHESES not in report(lambda: train if next(numbers) != other else None)
