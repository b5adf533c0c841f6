# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The way from a container down to what it keeps, where a search upwards met something shorter-lived first."""

from __future__ import annotations

import types
from typing import Any

from stepleak._frames import frame_of
from stepleak._limit import TimeLimit
from stepleak._objects import is_a, items_of, referents_of

_MOST_VISITED = 20_000
_MOST_DEPTH = 12
_BEYOND: tuple[type, ...] = (types.ModuleType, type, types.CodeType, types.GeneratorType)
"""What an entry refers to and does not keep for itself: the program."""


def way_down(container: Any, target: Any, limit: TimeLimit) -> list[Any]:
    """Objects from `container` to `target`, both included; empty where none leads there. Raises OutOfTimeError."""
    came_from: dict[int, Any] = {id(container): None}
    layer = [container]
    for _ in range(_MOST_DEPTH):
        following: list[Any] = []
        for part in limit.parts(layer, 256):
            for parent in part:
                for child in _kept_by(parent):
                    if id(child) in came_from or _is_beyond(child):
                        continue
                    if type(child) is types.FunctionType and not _is_entry(parent, container):
                        continue
                    came_from[id(child)] = parent
                    if child is target:
                        return _chain(child, came_from)
                    following.append(child)
            if len(came_from) > _MOST_VISITED:
                return []
        layer = following
    return []


def _is_entry(parent: Any, container: Any) -> bool:
    """Whether what `parent` holds was put into the container, itself or in a tuple: a hook, a name and a callback."""
    return parent is container or (type(parent) is tuple and any(item is parent for item in items_of(container)))


def _kept_by(item: Any) -> list[Any]:
    """What an object refers to; of a function what it alone keeps, and not its module's globals."""
    if type(item) is not types.FunctionType:
        return referents_of(item)
    own = (item.__closure__, item.__defaults__, item.__kwdefaults__)
    return [held for held in own if held is not None]


def _is_beyond(item: Any) -> bool:
    return is_a(item, _BEYOND) or frame_of(item) is not None  # type: ignore[arg-type]


def _chain(item: Any, came_from: dict[int, Any]) -> list[Any]:
    found = [item]
    while (parent := came_from[id(found[-1])]) is not None:
        found.append(parent)
    return found[::-1]
