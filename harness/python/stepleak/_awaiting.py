# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Runs what the call of a step only promised: a coroutine. What cannot be run is refused: nothing was judged."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from typing import Any

from stepleak._load import UsageError

_RUN_IT = "run it in the step: for example `for _ in batches(): pass`, or pass a function that does"


class Awaiting:
    """One event loop a run, made for the first coroutine: what a step leaves there is still there in the next one."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def finish(self, returned: Any) -> None:
        """Waits for what a step returned where that is awaitable; raises what it raises, and UsageError."""
        if inspect.isasyncgen(returned) or _is_unstarted(returned):
            raise UsageError("the step returns a generator that nobody runs, so nothing of it ran", _RUN_IT)
        if not inspect.isawaitable(returned):
            return
        if _is_in_a_loop():
            _close(returned)
            raise UsageError(
                "the step is a coroutine, and an event loop runs in this thread already",
                "judge it from another thread: await asyncio.to_thread(stepleak.check, step)",
            )
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(_awaited(returned))

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


async def _awaited(returned: Any) -> None:
    await returned


def _is_unstarted(returned: Any) -> bool:
    """A generator that the step took values from has run; `types.coroutine` makes awaitable ones."""
    is_generator = inspect.isgenerator(returned) and not inspect.isawaitable(returned)
    return is_generator and inspect.getgeneratorstate(returned) == inspect.GEN_CREATED


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
