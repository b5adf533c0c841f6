# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The cycle of references that keeps what nothing else in the program leads to, and the statement that closes it."""

from __future__ import annotations

import types
from collections import deque
from typing import Any

from stepleak import _tensors
from stepleak._graph import is_unnamed
from stepleak._limit import TimeLimit
from stepleak._sources import Access, Place, Sources, no_statement
from stepleak._unseen import contents_of

_MOST_ASKED = 64
"""Objects that lead to the target, the nearest first, of which one is looked for that leads to itself."""


def cycle_to(target: Any, members: list[Any], limit: TimeLimit) -> list[Any]:
    """From an object through a cycle back to it, and on to the target: of the nearest ones the first that is in a
    cycle, and that a person has a name for, if there is one.

    Only through `members`, among which the target is. Empty where none is found. Raises OutOfTimeError.
    """
    by_id = {id(member): member for member in members}
    leads_to: dict[int, list[int]] = {}
    held_by: dict[int, list[int]] = {}
    for part in limit.parts(members, 256):
        for member in part:
            leads_to[id(member)] = [id(held) for held in _held_by_it(member) if id(held) in by_id]
            for held in leads_to[id(member)]:
                held_by.setdefault(held, []).append(id(member))
    nearest = _way_of_all(id(target), held_by)
    for start in sorted(list(nearest)[:_MOST_ASKED], key=lambda at: is_unnamed(by_id[at])):
        limit.check()
        back = _cycle_at(start, leads_to)
        if back:
            tail = [start]
            while (following := nearest[tail[-1]]) is not None:
                tail.append(following)
            return [by_id[at] for at in [*back, *tail[1:]]]
    return []


def statement_closing(objects: list[Any], way: list[Access], sources: Sources) -> dict[str, Any]:
    """The statement that puts one of a cycle's objects into another; empty where none is known.

    One in a constructor only where there is no other, since what that is given is older. `way`: how the objects lead to
    each other, as `Graph` has it.
    """
    ends = [end for end in range(1, len(way)) if way[end].kind == "attribute"]
    found = [sources.statement_keeping(Place(way[: end + 1], [], is_container=False)) for end in ends]
    later = [statement for statement in found if statement["file"] and not sources.is_in_constructor(statement)]
    codes = [item.__code__ for item in objects if type(item) is types.FunctionType]
    defined = [sources.statement_at(code.co_filename, code.co_firstlineno) for code in codes]
    return next((statement for statement in [*later, *defined, *found] if statement["file"]), no_statement())


def _held_by_it(item: Any) -> list[Any]:
    """A tensor's hooks are seen by the collector only while nothing of C++ uses the tensor."""
    return [*contents_of(item), *_tensors.hook_tables(item)]


def _way_of_all(target: int, held_by: dict[int, list[int]]) -> dict[int, int | None]:
    """Of each that leads to the target, the nearest first: what it leads to on the shortest way."""
    following: dict[int, int | None] = {target: None}
    waiting = deque([target])
    while waiting:
        item = waiting.popleft()
        for holder in held_by.get(item, ()):
            if holder not in following:
                following[holder] = item
                waiting.append(holder)
    return following


def _cycle_at(start: int, leads_to: dict[int, list[int]]) -> list[int]:
    """The shortest way from an object back to it; empty where there is none."""
    came_from: dict[int, int] = {}
    waiting = deque([start])
    while waiting:
        item = waiting.popleft()
        for held in leads_to[item]:
            if held == start:
                way = [start, item]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if held not in came_from:
                came_from[held] = item
                waiting.append(held)
    return []
