# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What torch lets us see of a loop that is not ours: steps of optimizers, batches of loaders, calls of modules."""

from __future__ import annotations

import functools
import os
import sys
import threading
import types
import weakref
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from stepleak._class_attributes import replace, tell_of_reading
from stepleak._objects import type_name

_Way = tuple[tuple[types.CodeType, int], ...]
"""Code and where in it, of each call."""
_MOST_CALLERS = 16


class Source(IntEnum):
    """Where steps come from; the surest has the highest value."""

    CALL = 1
    """The outermost call of a module: a request to a server."""
    BATCH = 2
    """A batch that a `DataLoader` hands out."""
    OPTIMIZER = 3


class ScriptEvents:
    """Hooks in torch, which call `on_event(source, name)` until detach(). torch is imported when this is made.

    `on_mark("epoch")` is called where a loader begins anew, and `on_mark("evaluation")` where it does so without
    gradients.

    `on_event` is called before a loader draws its next batch, after an optimizer's step and before a module's outermost
    call, in the thread that this happens in.
    """

    def __init__(self, on_event: Callable[[Source, str], None], on_mark: Callable[[str], None]) -> None:
        self.has_optimizer = False
        """Whether the script has made one."""
        self._on_event = on_event
        self._on_mark = on_mark
        self._names: dict[int, tuple[weakref.ref[Any], str]] = {}
        """Of each optimizer, by its `id`: a class of the user's need not be hashable."""
        self._calls_in_line: dict[tuple[str, int], list[_Way]] = {}
        """By file and line where optimizers are made, each way to a call there."""
        self._updates = threading.local()
        self._undo_calls: list[Callable[[], None]] = []
        self._undo_reading: list[Callable[[], None]] = []
        self._undo: list[Callable[[], None]] = []
        self._attach()

    def detach(self) -> None:
        """All is as it was before. May be called twice, and in an event."""
        self.follow_optimizers_only()
        while self._undo:
            self._undo.pop()()

    def follow_optimizers_only(self) -> None:
        """Batches and calls are told no more. May be called twice, and in an event."""
        self.drop_calls()
        while self._undo_reading:
            self._undo_reading.pop()()

    def _attach(self) -> None:
        from torch.nn.modules import module
        from torch.optim import optimizer
        from torch.utils.data import dataloader

        self._undo.append(optimizer.register_optimizer_step_post_hook(self._after_step).remove)
        # Of what torch calls when an optimizer is made, a batch is drawn and a module is called, these return before
        # anything of the user's can raise: no frame of ours stands in a traceback, counts for the limit of recursion or
        # takes a warning that is meant for the caller.
        self._wrap(optimizer.Optimizer, "_patch_step_function", self._around_patching)
        batches, calls = dataloader._BaseDataLoaderIter, module.Module
        self._undo_reading.append(tell_of_reading(batches, "_profile_name", self._before_batch))
        self._undo_calls.append(tell_of_reading(calls, "_compiled_call_impl", self._before_call))

    def _wrap(self, owner: type, name: str, around: Callable[[Any], Any]) -> None:
        original = owner.__dict__[name]
        self._undo.append(replace(owner, name, functools.wraps(original)(around(original))))

    def _around_patching(self, patch: Any) -> Any:
        def _patch_step_function(optimizer: Any) -> None:
            patch(optimizer)
            self.has_optimizer = True
            # Called again where a state is loaded; it keeps the name that it was made with.
            if self._undo and self._name_of(optimizer) is None:
                names, number = self._names, id(optimizer)
                name = f"{type_name(optimizer)}.step ({self._place()})"
                names[number] = weakref.ref(optimizer, lambda _: names.pop(number, None) and None), name

        return _patch_step_function

    def _name_of(self, optimizer: Any) -> str | None:
        made, name = self._names.get(id(optimizer), (None, None))
        return name if made is not None and made() is optimizer else None

    def _place(self) -> str:
        """Where the user made an optimizer: "train.py:41", or "train.py:41, call 2" of the second one in that line, or
        where that is reached another way: a function that trains may be called for pretraining and for fine-tuning."""
        frame = _maker()
        if frame is None:
            return "?"
        line = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        calls = self._calls_in_line.setdefault((frame.f_code.co_filename, frame.f_lineno), [])
        way = _way_to(frame)
        if way not in calls:
            calls.append(way)
        number = calls.index(way) + 1
        return line if number == 1 else f"{line}, call {number}"

    def _after_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        # torch.compile traces this with the step, and leaves out what is below: a compiled step tells nothing.
        if _is_compiling():
            return
        # Who optimises needs no calls to be found by: those hooks cost something at each submodule. Who has only made
        # an optimizer may do no more than ask the model.
        self.drop_calls()
        name = self._name_of(optimizer) or f"{type_name(optimizer)}.step"
        if not self._is_of_same_update(optimizer, name):
            self._tell(Source.OPTIMIZER, name)

    def _is_of_same_update(self, optimizer: Any, name: str) -> bool:
        """Whether one for each parameter, all made at one place, steps one after the other with what one call of
        `backward()` came to: another one has stepped, and no autograd node was made since."""
        import torch

        update = name, torch.autograd._get_sequence_nr()
        is_same = update == getattr(self._updates, "last", None) and id(optimizer) not in self._updates.stepped
        if not is_same:
            self._updates.last, self._updates.stepped = update, set()
        self._updates.stepped.add(id(optimizer))
        return is_same

    def _before_batch(self, batches: Any) -> None:
        # What a batch ends is the step before the loader's begin.
        is_first = batches.__dict__.get("_num_yielded") == 0
        self._tell(Source.BATCH, "a batch of a DataLoader")
        if is_first and self._undo:
            self._on_mark("epoch" if _has_gradients() else "evaluation")

    def _before_call(self, module: Any) -> None:
        # torch.compile traces what is below.
        if not _is_compiling() and _is_outermost_call(sys._getframe(2)):
            self._tell(Source.CALL, f"a call of {type_name(module)}")

    def drop_calls(self) -> None:
        """Calls are told no more. May be called twice, and in an event."""
        while self._undo_calls:
            self._undo_calls.pop()()

    def _tell(self, source: Source, name: str) -> None:
        if self._undo and not _is_capturing():
            self._on_event(source, name)


def _is_outermost_call(reader: types.FrameType) -> bool:
    """Whether `reader` is a module's `__call__`, and none further up the stack is: of those in other tasks of the
    thread's event loop none is."""
    import torch

    call = torch.nn.Module._wrapped_call_impl.__code__
    if reader.f_code is not call:
        return False
    caller = reader.f_back
    while caller is not None and caller.f_code is not call:
        caller = caller.f_back
    return caller is None


def _is_compiling() -> bool:
    import torch

    return torch.compiler.is_compiling()


def _is_capturing() -> bool:
    """Into a CUDA graph: what is captured does not run, and nothing may be waited for."""
    import torch

    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()


def _has_gradients() -> bool:
    import torch

    return torch.is_grad_enabled()


def _way_to(frame: types.FrameType) -> _Way:
    """The calls by which a frame was reached, the innermost first."""
    way: list[tuple[types.CodeType, int]] = []
    caller: types.FrameType | None = frame
    while caller is not None and len(way) < _MOST_CALLERS:
        way.append((caller.f_code, caller.f_lasti))
        caller = caller.f_back
    return tuple(way)


def _maker() -> types.FrameType | None:
    """The user's frame that makes an optimizer."""
    torch_folder = os.path.dirname(sys.modules["torch"].__file__ or "") + os.sep
    frame = sys._getframe(1).f_back
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and not file.startswith((torch_folder, "<")):
            return frame
        frame = frame.f_back
    return None
