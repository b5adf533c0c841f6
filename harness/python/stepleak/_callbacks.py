# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what a container gains can be called, or runs: hooks, handlers, threads, schedulers.

A log of one small record a step is light, and no leak. A hook a step is as light, and is one: each is called again, or
keeps what it was made for.
"""

from __future__ import annotations

import functools
import io
import itertools
import sys
import threading
import types
from typing import Any

from stepleak import _tensors
from stepleak._limit import TimeLimit
from stepleak._objects import is_a, is_optimizer, items_of, module_namespace
from stepleak._unseen import own_contents_of

_CALLED: tuple[type, ...] = (types.FunctionType, types.MethodType, functools.partial)
_RUNNING: tuple[type, ...] = (
    *(types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, threading.Thread),
    io.IOBase,
)
_ENTRIES = 2
"""The newest: entries of one container are alike."""
_MOST_OBJECTS = 64
"""An entry that leads to more says by these what it is."""
_DEPTH = 3
"""From an entry on: its namespace, what is in it, and what that is made of."""


def gains_callbacks(container: Any, born: frozenset[int], limit: TimeLimit) -> bool:
    """Whether one of the newest entries is something to call, or leads to some that was made for it.

    `born`: the `id` of each object that was born in the recorded steps. Raises OutOfTimeError.
    """
    taken = (entry for entry in reversed(items_of(container)) if entry is not None)
    entries = list(itertools.islice(taken, _ENTRIES))
    limit.check()
    return any(_is_called(entry) or _is_new_class(entry, born) or _leads_to_one(entry, born) for entry in entries)


def _is_called(item: Any) -> bool:
    return issubclass(type(item), _CALLED)


def _is_new_class(item: Any, born: frozenset[int]) -> bool:
    return id(item) in born and issubclass(type(item), type)


def _leads_to_one(entry: Any, born: frozenset[int]) -> bool:
    level, seen = [entry], {id(entry)}
    for _ in range(_DEPTH + 1):
        below: list[Any] = []
        for item in level:
            if id(item) not in born:
                # What works on an optimizer is made for one that was there before.
                if is_optimizer(item):
                    return True
                continue
            if _is_called(item) or _runs(item):
                return True
            if not _tensors.is_tensor(item):
                below.extend(itertools.islice(own_contents_of(item), _MOST_OBJECTS))
        level = [item for item in below[:_MOST_OBJECTS] if id(item) not in seen]
        seen.update(map(id, level))
    return False


def _runs(item: Any) -> bool:
    filterer = dict.get(module_namespace(sys.modules.get("logging")), "Filterer")
    return issubclass(type(item), _RUNNING) or (type(filterer) is type and is_a(item, filterer))
