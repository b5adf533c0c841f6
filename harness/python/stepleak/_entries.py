# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Where what recorded steps left hangs on what was there before: a search downwards from the program's roots.

For what no container leads to that grew: a chain, whose newest or oldest link keeps the others, and a tree, which grows
at many places below one.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stepleak._births import Births, parts_of
from stepleak._limit import TimeLimit
from stepleak._objects import container_kind, is_a
from stepleak._unseen import own_contents_of

_BEYOND: tuple[type, ...] = (types.ModuleType, types.CodeType, types.FrameType)
"""What leads to the program and is kept by all of it."""


@dataclass(frozen=True)
class Entry:
    """The object that leads to the better part of what was left: of all such the one that is furthest from a root."""

    objects: list[Any]
    """From a root to it."""
    children: list[Any]
    """Of what was born, the objects that hang on what was not: itself, where it was born."""


class Entries:
    """A search that goes on with more roots. Runs no code of the user's."""

    def __init__(
        self, births: Births, known: set[int], ignored: set[int], is_as_long: Callable[[Any], bool], limit: TimeLimit
    ) -> None:
        """`known`: the `id` of each that was born and is accounted for. `ignored`: of what is not to be entered.
        `is_as_long`: whether a container has no more entries than when the pass began."""
        self._births = births
        self._is_as_long = is_as_long
        self._limit = limit
        self._ignored = ignored
        self._known = known
        self._parents: dict[int, Any] = {}
        self._hanging: list[Any] = []
        """What was born, and hangs on what was not."""

    def search(self, roots: list[Any]) -> None:
        """Looks at all that these lead to and that was not looked at yet. Raises OutOfTimeError."""
        waiting: deque[Any] = deque()
        for root in roots:
            if id(root) not in self._parents and id(root) not in self._ignored:
                self._parents[id(root)] = None
                waiting.append(root)
        while waiting:
            if len(self._parents) % 256 == 0:
                self._limit.check()
            parent = waiting.popleft()
            for child in own_contents_of(parent):
                if id(child) in self._parents or id(child) in self._ignored or _is_beyond(child):
                    continue
                self._parents[id(child)] = parent
                if id(child) in self._births.all:
                    if not self._births.is_shadow(child) and not self._is_replacement(parent, child):
                        self._hanging.append(child)
                else:
                    waiting.append(child)

    def _is_replacement(self, parent: Any, child: Any) -> bool:
        """Whether it took the place of another one, as in a cache that is full, and keeps none of its like, as the
        newest link of a chain does."""
        if container_kind(parent) is None or not self._is_as_long(parent):
            return False
        parts = parts_of(child)
        items = [item for part in parts if container_kind(part) is not None for item in own_contents_of(part)]
        alike = (part for part in [*parts, *items] if type(part) is type(child) and part is not child)
        # A record of plain containers has some of its own.
        return not any(container_kind(part) is None or id(part) not in self._births.all for part in alike)

    def best(self, fewest: int) -> Entry | None:
        """None where there is none, or so few of the objects that were left hang on any. Raises OutOfTimeError."""
        sizes = self._sizes()
        total = sum(sizes.values())
        if total < fewest:
            return None
        below: dict[int, int] = {}
        ways = {at: self._way(self._hanging[at]) for at in sizes}
        for at, way in ways.items():
            for item in way:
                below[id(item)] = below.get(id(item), 0) + sizes[at]
        # All that more than the half hangs on lie on one way.
        ways_of_most = [[item for item in way if 2 * below[id(item)] > total] for way in ways.values()]
        objects = max(ways_of_most, key=len)
        if not objects:
            return None
        under = [way[-1] for way in ways.values() if any(item is objects[-1] for item in way)]
        return Entry(objects, under)

    def _sizes(self) -> dict[int, int]:
        """How many objects hang on each entry that did not hang on one before it."""
        sizes: dict[int, int] = {}
        covered = set(self._known)
        for at, child in enumerate(self._hanging):
            if id(child) in covered:
                continue
            own = self._births.reached_from([child], self._limit, covered) | {id(child)}
            covered |= own
            sizes[at] = len(own)
        return sizes

    def _way(self, item: Any) -> list[Any]:
        way = [item]
        while (parent := self._parents[id(way[-1])]) is not None:
            way.append(parent)
        return way[::-1]


def _is_beyond(item: Any) -> bool:
    return is_a(item, _BEYOND)  # type: ignore[arg-type]
