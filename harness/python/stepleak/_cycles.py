# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The cycle of references that keeps what nothing else in the program leads to, and the statement that closes it."""

from __future__ import annotations

import types
from collections import deque
from typing import Any

from stepleak import _tensors
from stepleak._access import Access, Place
from stepleak._graph import Graph, is_unnamed
from stepleak._limit import TimeLimit
from stepleak._sources import Sources
from stepleak._statement import no_statement
from stepleak._unseen import contents_of

_MOST_ASKED = 64
"""Objects that lead to the target, the nearest first, of which one is looked for that leads to itself."""


class Garbage:
    """A cycle among what a collection found unreachable, by its names: no reference to any of that is kept."""

    def __init__(self, unreachable: list[Any], graph: Graph, limit: TimeLimit) -> None:
        self.graph = graph
        self.holder: dict[str, Any] | None = None
        self._way: list[Access] = []
        self._codes: list[types.CodeType] = []
        target = max(_tensors.tensors_among(tuple(unreachable)), key=_tensors.memory_bytes_of, default=None)
        objects = [] if target is None else Ways(target, unreachable, limit).round()
        if objects:
            self.holder, self._way = graph.add_cycle(objects)
            self._codes = codes_of(objects)

    def statement(self, sources: Sources) -> dict[str, Any]:
        """The one that closes the cycle."""
        return statement_closing(self._codes, self._way, sources)


class Ways:
    """Ways among members that refer to each other, the target being one of them. Raises OutOfTimeError."""

    def __init__(self, target: Any, members: list[Any], limit: TimeLimit) -> None:
        self._target = target
        self._limit = limit
        self._by_id = {id(member): member for member in members}
        self._leads_to: dict[int, list[int]] = {}
        self._held_by: dict[int, list[int]] = {}
        for part in limit.parts(members, 256):
            for member in part:
                held = [id(item) for item in _held_by_it(member) if id(item) in self._by_id]
                self._leads_to[id(member)] = held
                for at in held:
                    self._held_by.setdefault(at, []).append(id(member))
        self._following = _way_of_all(id(target), self._held_by)

    def round(self) -> list[Any]:
        """From an object through a cycle back to it, and on to the target: of the nearest ones the first that is in a
        cycle, and that a person has a name for, if there is one. Empty where none is.
        """
        nearest = list(self._following)[:_MOST_ASKED]
        for start in sorted(nearest, key=lambda at: is_unnamed(self._by_id[at])):
            self._limit.check()
            back = _cycle_at(start, self._leads_to)
            if back:
                return [self._by_id[at] for at in back] + self._way_from(start)[1:]
        return []

    def through_graph(self) -> list[Any]:
        """To a target that has a graph from a tensor that no member holds: then its graph does. Empty where none is."""
        if not _tensors.is_tensor(self._target) or _tensors.graph_of(self._target) is None:
            return []
        starts = (at for at in self._following if at not in self._held_by and _tensors.is_tensor(self._by_id[at]))
        start = next(starts, None)
        return [] if start is None else self._way_from(start)

    def _way_from(self, start: int) -> list[Any]:
        way: list[Any] = []
        at: int | None = start
        while at is not None:
            way.append(self._by_id[at])
            at = self._following[at]
        return way


def statement_closing(codes: list[types.CodeType], way: list[Access], sources: Sources) -> dict[str, Any]:
    """The statement that puts one of a cycle's objects into another; empty where none is known.

    One in a constructor only where there is no other, since what that is given is older. `way`: how the objects lead to
    each other, as `Graph` has it. `codes`: of the functions among them.
    """
    ends = [end for end in range(1, len(way)) if way[end].kind == "attribute"]
    found = [sources.statement_keeping(Place(way[: end + 1], [], is_container=False)) for end in ends]
    later = [statement for statement in found if statement["file"] and not sources.is_in_constructor(statement)]
    defined = [sources.statement_at(code.co_filename, code.co_firstlineno) for code in codes]
    # A gradient has a graph by the call that made it, whoever puts others in its place.
    making = [sources.statement_making_graphs()] if way[-1].label == "grad" else []
    ordered = [*making, *later, *defined, *found]
    return next((statement for statement in ordered if statement["file"]), no_statement())


def codes_of(objects: list[Any]) -> list[types.CodeType]:
    """Of the functions among objects."""
    return [item.__code__ for item in objects if type(item) is types.FunctionType]


def _held_by_it(item: Any) -> list[Any]:
    """A tensor's hooks are seen by the collector only while nothing of C++ uses the tensor."""
    return [*contents_of(item), *_tensors.hook_tables(item)]


def _way_of_all(target: int, held_by: dict[int, list[int]]) -> dict[int, int | None]:
    """Of each that leads to the target, the nearest first: what follows it on the shortest way."""
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
