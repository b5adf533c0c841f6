# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""One watch over all epochs: `for batch in stepleak.watch(loader)` makes one anew in each, which is too short alone."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import types
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_kept: Any = None
_judged: dict[int, tuple[weakref.ref[Any], deque[tuple[Loop, Any]]]] = {}
"""The newest loops that a verdict stands for and their results, by the loader that they are over."""

_MOST_LOOPS = 16
_CHANGING = {int, float, complex, str, bytes}
"""What is told of an epoch; whether something is on is not."""
_PLAIN = _CHANGING | {bool, type(None)}


@dataclass(frozen=True)
class Loop:
    """Which loop over a loader it is: the same one in each epoch. A cell that is run again is another one, and so is
    what a function runs for another model: `train(model, loader)`."""

    code: types.CodeType
    instruction: int
    handed: tuple[_Handed, ...]
    options: str

    def is_as(self, before: Loop) -> bool:
        is_there = self.code is before.code and self.instruction == before.instruction
        if not is_there or self.options != before.options or len(self.handed) != len(before.handed):
            return False
        return all(now.is_as(then) for now, then in zip(self.handed, before.handed, strict=True))


class _Handed:
    """What a function was called with, known by its address as long as it lives, which this does not prolong."""

    def __init__(self, value: Any) -> None:
        self._address = id(value)
        try:
            self._reference: Any = weakref.ref(value)
        except TypeError:  # of a list, say: its address is all that is known
            self._reference = None

    def is_as(self, before: _Handed) -> bool:
        is_alive = before._reference is None or before._reference() is not None
        return is_alive and self._address == before._address


def loop_of(frame: types.FrameType, variables: list[tuple[str, Any]], options: dict[str, Any]) -> Loop:
    """The one that a frame begins, which has these variables. Numbers and texts, as of an epoch, make no other one, nor
    do options that are no values: what is called with a leak may be made anew each time."""
    named = dict(variables)
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    given = [named[name] for name in (*code.co_varnames[:count], *code.co_freevars) if name in named]
    given += _unpacked(code, named, count)
    handed = [_Handed(part) for value in given if type(value) not in _CHANGING for part in _lasting(value)]
    told = {name: value for name, value in options.items() if type(value) in _PLAIN}
    return Loop(code, frame.f_lasti, tuple(handed), repr(sorted(told.items())))


def _lasting(value: Any) -> Iterator[Any]:
    """Of a function that is written down in a call, which is another object each time, what is not."""
    while type(value) is functools.partial:
        value = value.func
    if type(value) is types.MethodType:
        yield value.__self__
        value = value.__func__
    yield value.__code__ if type(value) is types.FunctionType else value


def _unpacked(code: types.CodeType, named: dict[str, Any], count: int) -> Iterator[Any]:
    """Of `*args` and `**kwargs`, which are others in each call."""
    if code.co_flags & inspect.CO_VARARGS:
        yield from named.get(code.co_varnames[count], ())
        count += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        yield from named.get(code.co_varnames[count], {}).values()


def going_on_over(loader: Any, loop: Loop) -> Any:
    """The watch over the same loader with the same options, where it has not decided yet; else None, and what was kept
    has ended."""
    if _kept is not None and _kept.is_over(loader, loop.options):
        return _kept
    end()
    return None


def keep(watch: Any) -> Any:
    """Until it has decided, another watch begins, or the program ends."""
    global _kept
    _kept = watch
    return watch


def remember(loader: Any, loop: Loop, result: Any) -> None:
    """That a verdict stands: the loop's further epochs are not watched."""
    key = id(loader)
    of, loops = _judged.get(key, (None, None))
    if of is None or loops is None or of() is not loader:
        loops = deque(maxlen=_MOST_LOOPS)
        with contextlib.suppress(TypeError):  # of a list, say: to know it again would be to keep it alive
            _judged[key] = weakref.ref(loader, lambda _: _judged.pop(key, None)), loops
    loops.append((loop, result))


def result_of(loader: Any, loop: Loop) -> Any:
    """Of the same loop's epochs before; None where no verdict stands."""
    of, loops = _judged.get(id(loader), (None, None))
    if of is None or loops is None or of() is not loader:
        return None
    return next((result for judged, result in loops if loop.is_as(judged)), None)


def forget(watch: Any) -> None:
    global _kept
    if _kept is watch:
        _kept = None


def end() -> None:
    """Of a loop that is over; one that still runs has its watch."""
    if _kept is not None and not _kept.is_in_loop:
        _kept.headline_at_exit()
        forget(_kept)


def _forget_in_child() -> None:
    global _kept
    _kept = None


os.register_at_fork(after_in_child=_forget_in_child)
