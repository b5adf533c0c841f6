# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that only promise to run: coroutines are awaited, and generators refused."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Iterator

import pytest
import stepleak
from small_training import Training
from stepleak import _core  # type: ignore[attr-defined]  # built, not written


class AsyncTraining(Training):
    """A training whose steps are coroutines, and whose objects are callables that give one."""

    def __init__(self) -> None:
        super().__init__()
        self.loops: set[int] = set()

    async def __call__(self) -> None:
        await asyncio.sleep(0)
        self.loops.add(id(asyncio.get_running_loop()))
        self.leaky()

    async def healthy(self) -> None:
        await self.nothing()
        self.clean()

    async def nothing(self) -> None:
        await asyncio.sleep(0)

    def batches(self) -> Iterator[None]:
        self.leaky()
        yield

    async def async_batches(self) -> AsyncIterator[None]:
        self.leaky()
        yield

    def takes_one_batch(self) -> Iterator[None]:
        batches = self.batches()
        next(batches)
        return batches


def test_coroutine_that_leaks_leaks() -> None:
    training = AsyncTraining()
    result = stepleak.check(training, steps=600)
    assert result.verdict == "leak", result.report
    assert "self.losses.append(self.loss())" in result.report
    assert len(training.losses) == result.steps
    assert len(training.loops) == 1


def test_coroutine_of_a_lambda_is_awaited_too() -> None:
    training = AsyncTraining()
    result = stepleak.check(lambda: training(), effort="quick", steps=64)
    assert len(training.losses) == result.steps


def test_coroutine_that_keeps_nothing_is_clean() -> None:
    result = stepleak.check(AsyncTraining().healthy)
    assert result.is_clean, result.report
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()


def test_coroutine_that_raises_fails_the_run() -> None:
    async def step() -> None:
        raise ValueError("no more batches")

    result = stepleak.check(step)
    assert result.verdict == "failure"
    assert "ValueError: no more batches" in result.report


def test_task_that_a_step_leaves_behind_ends_with_the_run() -> None:
    left: list[asyncio.Task[None]] = []

    async def step() -> None:
        left.append(asyncio.ensure_future(asyncio.sleep(1000)))

    stepleak.check(step, effort="quick", steps=16)
    assert all(task.cancelled() for task in left)


@pytest.mark.parametrize("step", ["batches", "async_batches"])
def test_generator_is_wrong_use(step: str) -> None:
    training = AsyncTraining()
    with pytest.raises(stepleak.UsageError, match=r"a generator that nobody runs.*; run it in the step"):
        stepleak.check(getattr(training, step))
    assert training.losses == []


def test_generator_that_the_step_took_from_is_no_wrong_use() -> None:
    assert stepleak.check(AsyncTraining().takes_one_batch, effort="quick", steps=600).verdict == "leak"


def test_coroutine_within_a_running_loop_is_wrong_use() -> None:
    async def test() -> None:
        stepleak.check(AsyncTraining().healthy)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(stepleak.UsageError, match="an event loop runs in this thread already"):
            asyncio.run(test())
    assert not _core.attachments()["is_observing"]
