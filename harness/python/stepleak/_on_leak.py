# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What happens when a watch over a loop has found a leak, and what is said of watches at exit."""

from __future__ import annotations

import atexit
import inspect
import os
import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from stepleak._load import UsageError

OnLeak = str | Callable[[Any], object]
"""What to do once a leak is found: "warn", "raise", or a function that takes the result."""


class LeakWarning(UserWarning):
    """A watched loop leaks; the message is the report."""

    __module__ = "stepleak"  # as tracebacks show it


def checked(on_leak: OnLeak) -> OnLeak:
    if inspect.iscoroutinefunction(on_leak):
        remedy = "use a function that is no coroutine; it may call loop.create_task(...)"
        raise UsageError("on_leak is a coroutine function, which nobody would await", remedy)
    if callable(on_leak) or on_leak in ("warn", "raise"):
        return on_leak
    raise UsageError(f"on_leak is {on_leak!r}", 'use "warn", "raise" or a function that takes the result')


def act(on_leak: OnLeak, result: Any, error: type[Exception]) -> None:
    """Once for each leak. `error`: made of the report and the result, for "raise"."""
    if callable(on_leak):
        on_leak(result)
    elif on_leak == "raise":
        raise error(result.report, result)
    else:
        warnings.warn(LeakWarning(result.report), stacklevel=_level_of_caller())


def say_unwritten(reasons: list[str]) -> None:
    """Of files that a result was to be written to: a full disk ends nobody's training."""
    for reason in reasons:
        warnings.warn(RuntimeWarning(reason), stacklevel=_level_of_caller())


def say_ended(steps: int) -> None:
    """Of a watch that another loop begins with."""
    reason = (
        f"this watch has ended after {steps:,} steps and sees no more: make one for each loop, or one `with` of all"
    )
    warnings.warn(RuntimeWarning(reason), stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """Of the innermost frame outside of this package, counted from our caller's on, as warnings count."""
    folder = os.path.dirname(__file__) + os.sep
    level = 1
    while sys._getframe(level).f_code.co_filename.startswith(folder) and sys._getframe(level).f_back is not None:
        level += 1
    return level


_watches: weakref.WeakSet[Any] = weakref.WeakSet()
_headlines: list[str] = []


def follow(watch: Any) -> None:
    """What `watch.headline()` gives when the program ends is said then, where that is not empty."""
    if not _watches and not _headlines:
        atexit.register(_say_all)
    _watches.add(watch)


def _forget() -> None:
    _watches.clear()
    _headlines.clear()


# A forked child has no watch: what it would say, its parent says.
os.register_at_fork(after_in_child=_forget)


def say_at_exit(text: str) -> None:
    """Of a watch that will not live that long."""
    if text:
        _headlines.append(text)


def _say_all() -> None:
    for watch in list(_watches):
        say_at_exit(watch.headline())
    # A program without a stderr has None there, which print() takes for the stdout.
    for text in _headlines if sys.stderr is not None else ():
        print(text, file=sys.stderr)
    _headlines.clear()
