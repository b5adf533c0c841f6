# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Objects that were born in recorded steps and live: what the two halves of the steps left."""

from __future__ import annotations

import gc
import weakref
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from typing import Any

from stepleak._limit import TimeLimit
from stepleak._objects import is_a, is_namespace_of
from stepleak._unseen import contents_of

_referent_of: Any = weakref.ReferenceType.__call__
_MOST_BORN = 100_000
"""Objects of the recorded steps: of more a search would take seconds."""


class Births:
    """What lives of the recorded steps, by `id`, and what of it lived after half of them already."""

    def __init__(self) -> None:
        self.all: frozenset[int] = frozenset()
        self._early: frozenset[int] = frozenset()
        self._early_by_type: Counter[int] = Counter()

    def halfway(self) -> None:
        """After half of the steps."""
        born = _born()
        self._early = frozenset(map(id, born))
        self._early_by_type = Counter(id(type(item)) for item in born)

    def end(self) -> None:
        """After the last of them."""
        self.all = frozenset(map(id, _born()))

    def leave_out(self, is_older: Callable[[dict[Any, Any]], bool]) -> None:
        """Dicts that are no births."""
        self.all -= {id(item) for item in _born() if type(item) is dict and is_older(item)}

    def is_shadow(self, item: Any) -> bool:
        """Whether it is a weak reference to what was born with it, or where that is not known to what lives: it goes
        with that."""
        if not is_a(item, weakref.ReferenceType):
            return False
        referent = _referent_of(item)
        return referent is not None and (not self.all or id(referent) in self.all)

    def are_lasting(self, but: set[int], fewest: int, limit: TimeLimit) -> bool:
        """Whether there is a type of which both halves of the steps left so many objects, `but` for those of an `id`.

        What only the last step uses is of one half, and so is what the first one made for all. What is made anew in
        each step takes addresses of what the step before let go, and would seem to be of both by its `id`: so there
        must be more of the type than after half of the steps. Raises OutOfTimeError.
        """
        if not self._early or len(self.all) > _MOST_BORN:
            return False
        # By the `id` of its type, which a metaclass may hash.
        early: Counter[int] = Counter()
        grown = Counter({kind: -count for kind, count in self._early_by_type.items()})
        for part in limit.parts(gc.get_objects()):
            for item in part:
                if id(item) not in self.all:
                    continue
                is_early = id(item) in self._early
                if id(item) in but or self.is_shadow(item):
                    grown[id(type(item))] += is_early
                else:
                    grown[id(type(item))] += 1
                    early[id(type(item))] += is_early
        return any(count >= fewest and grown[kind] >= fewest for kind, count in early.items())

    def reached_from(self, items: Iterable[Any], limit: TimeLimit, but: Collection[int] = ()) -> set[int]:
        """What was born and these lead to, over nothing but what was born, and not over those of an `id`; by `id`.
        Raises OutOfTimeError.
        """
        reached: set[int] = set()
        waiting = deque(items)
        while waiting:
            if len(reached) % 256 == 0:
                limit.check()
            for held in parts_of(waiting.popleft()):
                if id(held) in self.all and id(held) not in reached and id(held) not in but:
                    reached.add(id(held))
                    waiting.append(held)
        return reached


def parts_of(item: Any) -> list[Any]:
    """What an object refers to, itself or by its namespace: that is made by the first who asks for it, and is then no
    older than this search."""
    parts = contents_of(item)
    namespace = next((held for held in parts if type(held) is dict and is_namespace_of(item, held)), None)
    return parts if namespace is None else [*parts, *contents_of(namespace)]


def _born() -> list[Any]:
    """Of what the collector tracks; nothing where it has set nothing apart, since what was born is not known then."""
    return gc.get_objects() if gc.get_freeze_count() > 0 else []
