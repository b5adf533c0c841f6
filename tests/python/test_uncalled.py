# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that return their work in place of doing it: never clean without a word."""

from __future__ import annotations

import contextlib
import functools
import itertools
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import stepleak
import torch

PARENTHESES = "are its parentheses missing?"
RUN_IT = "run it in the step: for example"
USE_IT = "use it in the step: `with ...: pass`"


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
ran: list[int] = []


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
    [
        map,
        filter,
        itertools.starmap,
        itertools.takewhile,
        lambda step, batches: zip(batches, map(step, batches), strict=True),
        lambda step, batches: iter(step, batches),
    ],
    ids=["map", "filter", "starmap", "takewhile", "zip", "callable"],
)
def test_iterator_that_nobody_asked_is_told(iterator: Callable[..., Any]) -> None:
    told = report(lambda: iterator(training.step, [1, 2]))
    assert "iterator, which runs nothing until something takes from it" in told
    assert RUN_IT in told
    assert training.kept == []


class Manager:
    """Works where it is entered; its attributes are code that fails."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __enter__(self) -> None:
        training.step()

    def __exit__(self, *error: object) -> None: ...


class AsyncManager:
    async def __aenter__(self) -> None:
        training.step()

    async def __aexit__(self, *error: object) -> None: ...


@pytest.mark.parametrize("manager", [Manager, AsyncManager])
def test_context_manager_that_nobody_enters_is_told(manager: type) -> None:
    told = report(lambda: manager())
    assert f"a context manager ({manager.__name__}), and stepleak does not enter what a step returns" in told
    assert USE_IT in told
    assert training.kept == []


def enters_and_returns_it() -> Any:
    manager = Manager()
    with manager:
        pass
    training.kept.clear()
    return manager


async def gives_a_function() -> Any:
    return training.step


def test_what_a_coroutine_gives_is_looked_at() -> None:
    assert "Training.step, and stepleak does not call what a step returns" in report(gives_a_function)


@contextlib.contextmanager
def managed() -> Iterator[None]:
    training.step()
    yield


@contextlib.asynccontextmanager
async def async_managed() -> AsyncIterator[None]:
    training.step()
    yield


async def trains() -> None:
    training.step()


def batches() -> Iterator[None]:
    training.step()
    yield


async def gives_a_coroutine() -> Any:
    return trains()


async def gives_a_generator() -> Any:
    return batches()


@pytest.mark.parametrize(
    ("step", "what", "remedy"),
    [
        (managed, "a context manager that nobody enters", "enter it in the step"),
        (async_managed, "a context manager that nobody enters", "enter it in the step"),
        (functools.partial(batches), "a generator that nobody runs", "run it in the step"),
        (gives_a_generator, "a generator that nobody runs", "run it in the step"),
        (gives_a_coroutine, "a coroutine that gives another one", "await it in the step"),
    ],
)
def test_what_nobody_runs_is_refused(step: Callable[[], Any], what: str, remedy: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a coroutine that was never awaited
        with pytest.raises(stepleak.UsageError, match=f"the step returns {what}.*nothing of it ran; {remedy}"):
            stepleak.check(step)
    assert training.kept == []


def enters_contextlib_s_and_returns_it() -> Any:
    manager = managed()
    with manager:
        training.kept.clear()
    return manager


async def enters_the_async_one_and_returns_it() -> Any:
    manager = async_managed()
    async with manager:
        training.kept.clear()
    return manager


async def gives_what_it_awaited() -> Any:
    coroutine = trains()
    await coroutine
    training.kept.clear()
    return coroutine


@pytest.mark.parametrize(
    "step", [enters_contextlib_s_and_returns_it, enters_the_async_one_and_returns_it, gives_what_it_awaited]
)
def test_what_the_step_ran_is_not_refused(step: Callable[[], Any]) -> None:
    assert USE_IT not in report(step)


class Cached:
    @functools.lru_cache  # noqa: B019
    def step(self) -> None:
        training.step()


@pytest.mark.parametrize(
    "step",
    [functools.cache(train), functools.lru_cache(maxsize=8)(train), Cached().step, functools.partial(Cached().step)],
    ids=["cache", "lru_cache", "method", "partial"],
)
def test_step_that_is_cached_is_refused(step: Callable[[], Any]) -> None:
    with pytest.raises(stepleak.UsageError, match=r"its body would run in the first step alone; .*__wrapped__"):
        stepleak.check(step, name="step")
    assert training.kept == []


@pytest.mark.parametrize(
    "step",
    [functools.lru_cache(maxsize=0)(lambda: ran.append(0)), functools.cache(lambda index: ran.append(index))],
    ids=["of_none", "by_index"],
)
def test_cache_that_lets_each_step_run_is_none(step: Callable[..., Any]) -> None:
    before = len(ran)
    result = stepleak.check(step, effort="quick", device="cpu", steps=16)
    assert len(ran) - before == result.steps == 16


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
        enters_and_returns_it,
        takes_from_its_iterator,
        lambda: None,
        lambda: Training,
        lambda: strange,
        lambda: [training.step],
        lambda: training,
    ],
    ids=["ran", "entered", "took", "none", "class", "callable_object", "list", "object"],
)
def test_what_a_step_may_well_return_is_not_told(step: Callable[[], Any]) -> None:
    told = report(step)
    assert PARENTHESES not in told
    assert RUN_IT not in told
    assert USE_IT not in told


@pytest.mark.parametrize("outcome", [torch.nn.Linear(2, 2), torch.ones(4)], ids=["module", "tensor"])
def test_module_and_tensor_are_not_told(outcome: object) -> None:
    assert PARENTHESES not in report(lambda: outcome)


@pytest.mark.parametrize("other", [0, 15], ids=["first", "last"])
def test_function_of_all_steps_but_one_is_not_told(other: int) -> None:
    numbers = itertools.count()
    assert PARENTHESES not in report(lambda: train if next(numbers) != other else None)
