# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Variables of running functions, of every thread: roots that the collector does not know.

A running frame is not tracked, so `gc.get_referrers` never answers with it. `frame.f_locals` would make a dict that
keeps all of them alive until the function returns; the caller hands in a reader that does not.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from stepleak._folders import UserFiles
from stepleak._objects import is_a

ReadLocals = Callable[[types.FrameType], list[tuple[str, Any]]]

Position = tuple[str, int]
"""A file and a line in it."""


class Variable(NamedTuple):
    """A variable of a function that runs. One of the user's code comes before one of a library's."""

    is_library: bool
    function: str
    name: str
    scope: Position
    """Where the function begins."""


_SUSPENDED: dict[type, str] = {
    types.GeneratorType: "gi_frame",
    types.CoroutineType: "cr_frame",
    types.AsyncGeneratorType: "ag_frame",
}


def is_ours(frame: types.FrameType) -> bool:
    """Whether a frame runs this package."""
    name = dict.get(frame.f_globals, "__name__")
    return type(name) is str and (name == "stepleak" or name.startswith("stepleak."))


def frame_of(item: Any) -> types.FrameType | None:
    """The frame of a suspended generator or coroutine, and of a frame itself."""
    if type(item) is types.FrameType:
        return item
    attribute = next((name for kind, name in _SUSPENDED.items() if type(item) is kind), None)
    return None if attribute is None else getattr(item, attribute)


class Call:
    """A call that runs, known without its frame: who keeps that keeps the variables alive, too."""

    def __init__(self, frame: types.FrameType) -> None:
        self._frame, self._code = id(frame), frame.f_code

    @property
    def runs(self) -> bool:
        """Whether it has not returned or raised yet, in any thread."""
        for frame in sys._current_frames().values():
            caller: types.FrameType | None = frame
            while caller is not None:
                if id(caller) == self._frame and caller.f_code is self._code:
                    return True
                caller = caller.f_back
        return False


def position_of(frame: types.FrameType) -> Position:
    """Where a frame stands."""
    return frame.f_code.co_filename, frame.f_lineno


def beginning_of(code: types.CodeType) -> Position:
    """Where a function's source begins, its decorators included."""
    return code.co_filename, code.co_firstlineno


def name_in(frame: types.FrameType, value: Any, read_locals: ReadLocals) -> str | None:
    """The variable of a frame that holds a value."""
    return next((name for name, held in read_locals(frame) if held is value), None)


def running_frames() -> Iterator[types.FrameType]:
    """Frames of all threads, the innermost first, but for those of this package."""
    # One of them is this very frame: no variable may go on naming it, or it would live until a collection, and the
    # frames below with it.
    threads = list(sys._current_frames().values())
    while threads:
        yield from _users(threads.pop())


def threads_in(code: types.CodeType) -> int:
    """How many threads run a function."""
    return sum(any(frame.f_code is code for frame in _users(newest)) for newest in sys._current_frames().values())


def frames_of_this_thread() -> Iterator[types.FrameType]:
    """The same of the thread that asks."""
    return _users(sys._getframe())


def frames_of_thread(thread: int) -> Iterator[types.FrameType]:
    """The same of the thread with this identifier; none once it has ended."""
    return _users(sys._current_frames().get(thread))


def _is_torchs(frame: types.FrameType) -> bool:
    name = dict.get(frame.f_globals, "__name__")
    return type(name) is str and name.partition(".")[0] == "torch"


def _users(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    while frame is not None:
        if not is_ours(frame):
            yield frame
        frame = frame.f_back


class RunningFrames:
    """What the running functions hold, by `id`: no reference to any of it is kept.

    But for torch's functions in which this thread stands: what the call that ends a step holds goes with it.
    """

    def __init__(self, read_locals: ReadLocals) -> None:
        self.names: dict[int, Variable] = {}
        """Of a variable's value."""
        self.namespaces: dict[int, str] = {}
        """Of the dict in which a function's globals live: its module's name."""
        self.waiting: dict[int, Position] = {}
        """Of a variable's value, where the function is of another thread: where that stands."""
        own: set[types.FrameType] = set()
        passing: set[types.FrameType] = set()
        is_passing = True
        frame: types.FrameType | None = sys._getframe()
        while frame is not None:
            own.add(frame)
            is_passing = is_passing and (is_ours(frame) or _is_torchs(frame))
            if is_passing:
                passing.add(frame)
            frame = frame.f_back
        self.files = UserFiles()
        for is_library in (False, True):
            for running in running_frames():
                if running not in passing and self.files.has(running.f_code.co_filename) is not is_library:
                    self._add(running, read_locals, is_library, is_waiting=running not in own)
        own.clear()
        passing.clear()

    def _add(self, frame: types.FrameType, read_locals: ReadLocals, is_library: bool, is_waiting: bool) -> None:
        module = dict.get(frame.f_globals, "__name__")
        self.namespaces.setdefault(id(frame.f_globals), module if type(module) is str else frame.f_code.co_name)
        for name, value in read_locals(frame):
            if not is_a(value, (types.ModuleType, types.FunctionType, type)):  # type: ignore[arg-type]
                self.names.setdefault(
                    id(value), Variable(is_library, frame.f_code.co_name, name, beginning_of(frame.f_code))
                )
                if is_waiting:
                    self.waiting.setdefault(id(value), position_of(frame))
