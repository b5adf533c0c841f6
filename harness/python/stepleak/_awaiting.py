# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Runs what the call of a step only promised: a coroutine. What nobody runs is refused: nothing was judged."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import types
from typing import Any

from stepleak._load import UsageError
from stepleak._objects import is_one_of

MANAGERS = (contextlib._GeneratorContextManager, contextlib._AsyncGeneratorContextManager)
"""What a call of a function makes that contextlib.contextmanager or asynccontextmanager has wrapped."""


class Awaiting:
    """One event loop a run, made for the first coroutine: what a step leaves there is still there in the next one."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def finish(self, returned: Any) -> Any:
        """What the step came to: of an awaitable, what that gives; a generator or one of MANAGERS, itself. Raises what
        it raises, and UsageError for what is at rest: none of these is asked by a call of the user's."""
        _refuse_at_rest(returned)
        if is_one_of(type(returned), MANAGERS) or _is_generator(returned):
            return returned
        if _is_in_a_loop():
            _close(returned)
            raise UsageError(
                "the step is a coroutine, and an event loop runs in this thread already",
                "judge it from another thread: await asyncio.to_thread(stepleak.check, step)",
            )
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        came_to = self._loop.run_until_complete(_awaited(returned))
        _refuse_at_rest(came_to)
        if type(came_to) is types.CoroutineType and inspect.getcoroutinestate(came_to) == inspect.CORO_CREATED:
            came_to.close()
            raise UsageError(
                "the step returns a coroutine that gives another one, which nobody awaits, so nothing of it ran",
                "await it in the step",
            )
        return came_to

    def close(self) -> None:
        """Cancels what steps left running, and closes the loop."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        try:
            for task in asyncio.all_tasks(loop):
                task.cancel()
                with contextlib.suppress(Exception, asyncio.CancelledError):
                    loop.run_until_complete(task)
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()


async def _awaited(returned: Any) -> Any:
    return await returned


def _refuse_at_rest(returned: Any) -> None:
    if type(returned) is types.AsyncGeneratorType or _is_unstarted(returned):
        raise UsageError(
            "the step returns a generator that nobody runs, so nothing of it ran",
            "run it in the step: for example `for _ in batches(): pass`, or pass a function that does",
        )
    if is_one_of(type(returned), MANAGERS) and _is_unstarted_or_async(returned.gen):
        raise UsageError(
            "the step returns a context manager that nobody enters, so nothing of it ran",
            "enter it in the step: for example `with managed(): pass`, or pass a function that does",
        )


def _is_generator(returned: Any) -> bool:
    """And nothing to await, as those are that `types.coroutine` makes."""
    return type(returned) is types.GeneratorType and not returned.gi_code.co_flags & inspect.CO_ITERABLE_COROUTINE


def _is_unstarted(returned: Any) -> bool:
    """A generator that the step took values from has run."""
    return _is_generator(returned) and inspect.getgeneratorstate(returned) == inspect.GEN_CREATED


def _is_unstarted_or_async(generator: Any) -> bool:
    """An async one that has not ended: before Python 3.12 it does not tell whether it was started."""
    return _is_unstarted(generator) or getattr(generator, "ag_frame", None) is not None


def _is_in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _close(returned: Any) -> None:
    """Else Python warns of a coroutine that was never awaited."""
    if inspect.iscoroutine(returned):
        returned.close()
