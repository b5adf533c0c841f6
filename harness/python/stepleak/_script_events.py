# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What torch lets us see of a loop that is not ours: steps of optimizers, batches of loaders, calls of modules."""

from __future__ import annotations

import functools
import os
import sys
import weakref
from collections.abc import Callable
from enum import IntEnum
from typing import Any


class Source(IntEnum):
    """Where steps come from; the surest has the highest value."""

    CALL = 1
    """The outermost call of a module: a request to a server."""
    BATCH = 2
    """A batch that a `DataLoader` hands out."""
    OPTIMIZER = 3


class ScriptEvents:
    """Hooks in torch, which call `on_event(source, name)` until detach(). torch is imported when this is made.

    `on_event` is called before a loader draws its next batch, after an optimizer's step and after a module's outermost
    call, in the thread that this happens in.
    """

    def __init__(self, on_event: Callable[[Source, str], None]) -> None:
        self.has_optimizer = False
        """Whether the script has made one."""
        self._on_event = on_event
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._depth = 0
        self._call_hooks: list[Any] = []
        self._undo: list[Callable[[], None]] = []
        self._attach()

    def detach(self) -> None:
        """All is as it was before. May be called twice, and in an event."""
        self._drop_call_hooks()
        while self._undo:
            self._undo.pop()()

    def _attach(self) -> None:
        from torch.nn.modules import module
        from torch.optim import optimizer
        from torch.utils.data import dataloader

        self._undo.append(optimizer.register_optimizer_step_post_hook(self._after_step).remove)
        self._wrap(optimizer.Optimizer, "__init__", self._around_making)
        self._wrap(dataloader._BaseDataLoaderIter, "__next__", self._around_next)
        self._call_hooks = [
            module.register_module_forward_pre_hook(self._before_call),
            module.register_module_forward_hook(self._after_call, always_call=True),
        ]

    def _wrap(self, owner: type, name: str, around: Callable[[Any], Any]) -> None:
        original = owner.__dict__[name]
        wrapper = functools.wraps(original)(around(original))
        setattr(owner, name, wrapper)

        def restore() -> None:
            # Where somebody has wrapped it again, ours stays below, and does nothing any more.
            if owner.__dict__.get(name) is wrapper:
                setattr(owner, name, original)

        self._undo.append(restore)

    def _around_making(self, make: Any) -> Any:
        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            make(optimizer, *args, **kwargs)
            self.has_optimizer = True
            # Who optimises needs no calls to be found by: those hooks cost something at each submodule.
            self._drop_call_hooks()
            if self._undo:
                self._names[optimizer] = f"{type(optimizer).__name__}.step ({_place()})"

        return __init__

    def _around_next(self, draw: Any) -> Any:
        def __next__(batches: Any) -> Any:
            self._tell(Source.BATCH, "a batch of a DataLoader")
            return draw(batches)

        return __next__

    def _after_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        self._tell(Source.OPTIMIZER, self._names.get(optimizer) or f"{type(optimizer).__name__}.step")

    def _before_call(self, _module: Any, _args: Any) -> None:
        if not _is_compiling():
            self._depth += 1

    def _after_call(self, module: Any, _args: Any, _result: Any) -> None:
        if _is_compiling():
            return
        self._depth -= 1
        if self._depth <= 0:
            self._depth = 0
            self._tell(Source.CALL, f"a call of {type(module).__name__}")

    def _drop_call_hooks(self) -> None:
        while self._call_hooks:
            self._call_hooks.pop().remove()

    def _tell(self, source: Source, name: str) -> None:
        if self._undo:
            self._on_event(source, name)


def _is_compiling() -> bool:
    import torch

    return torch.compiler.is_compiling()


def _place() -> str:
    """Where the user made an optimizer: "train.py:41"."""
    torch_folder = os.path.dirname(sys.modules["torch"].__file__ or "") + os.sep
    frame: Any = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and not file.startswith((torch_folder, "<")):
            return f"{os.path.basename(file)}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"
