# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds that a program declares of its containers, where its sources do not show them.

Needs neither torch nor a run: what is declared anywhere in the process counts in each check and watch of it.
"""

from __future__ import annotations

import gc
import linecache
import operator
import os
import stat
import sys
import types
import weakref
from dataclasses import dataclass, field
from typing import Any, SupportsIndex, TypeVar

from stepleak._load import UsageError
from stepleak._objects import container_kind, length_of, referents_of, type_name

_Container = TypeVar("_Container")
_MOST_BOUND = 2**53
"""Numbers in results are exact up to it."""
_MOST_TOLD = 32
_MOST_MEMBERS = 10_000
"""Objects that a container may lead to, of which it is asked whether they keep each other: some milliseconds."""
_MOST_LEFT_OUT = 64
"""Collections between two such questions, of a container that something else keeps."""


@dataclass(slots=True)
class Declared:
    """One container, and the most that it is to hold."""

    container: weakref.ref[Any] | None
    """None of what takes no weak references, plain lists and dicts: these are held until nothing else leads to them."""
    bound: int
    file: str
    line: int
    text: str
    name: str
    held: Any = field(repr=False)
    next_look: int = 1
    """Collections until it is asked whether a cycle is all that keeps it."""
    looks_apart: int = 1

    @property
    def alive(self) -> Any:
        return self.held if self.container is None else self.container()


_declared: dict[int, Declared] = {}
"""By the `id` of each container."""


def bounded(container: _Container, n: SupportsIndex) -> _Container:
    """Declares that a list, dict, set or deque is to hold at most `n` entries, and returns it.

        self.replay = stepleak.bounded([], 10_000)

    While it fills it is no leak; one that holds more is, and the report says that it was declared. It changes nothing
    in the container. Declared again, the last one counts.
    """
    most = _most(n)
    if container_kind(container) is None:
        raise UsageError(
            f"bounded() was given a {type_name(container)}", "give it a list, dict, set or deque: the one that grows"
        )
    try:
        reference, held = weakref.ref(container, _forgetter(id(container))), None
    except TypeError:
        reference, held = None, container
        if _let_go not in gc.callbacks:
            gc.callbacks.append(_let_go)
    caller = sys._getframe(1)
    file, line = caller.f_code.co_filename, caller.f_lineno
    text = _line_at(file, line, caller.f_globals)
    _declared[id(container)] = Declared(reference, most, file, line, text, type_name(container), held)
    return container


def _most(n: SupportsIndex) -> int:
    try:
        most = operator.index(n)
    except TypeError:
        raise UsageError(f"the bound is of type {type_name(n)}", "give a whole number") from None
    if not 0 < most < _MOST_BOUND:
        raise UsageError(f"the bound is {most}", "give a number from 1 on: the most entries that there are to be")
    return most


def _forgetter(key: int) -> Any:
    def forget(_: Any) -> None:
        _declared.pop(key, None)

    return forget


def _line_at(file: str, line: int, namespace: dict[str, Any]) -> str:
    """Empty where it cannot be had: what gives a module its source may raise, and a pipe would be waited for."""
    try:
        is_other = os.path.exists(file) and not stat.S_ISREG(os.stat(file).st_mode)
        return "" if is_other else linecache.getline(file, line, namespace).strip()
    except Exception:
        return ""


def _let_go(phase: str, of: Any) -> None:
    """As the collector begins, which it does at each boundary: of what nothing but this module leads to.

    Whoever comes in between, a destructor or another thread, may declare and let go of others.
    """
    if phase != "start":
        return
    is_full = of["generation"] == 2
    lost = [key for key, each in list(_declared.items()) if _is_ours_alone(each) or (is_full and _is_lost_now(each))]
    for key in lost:
        _declared.pop(key, None)


def _is_lost_now(declared: Declared) -> bool:
    """Asked again of one that was kept, which goes on being so mostly, the question comes later each time."""
    if declared.container is not None or length_of(declared.held) > _MOST_MEMBERS:
        return False
    declared.next_look -= 1
    if declared.next_look > 0:
        return False
    declared.looks_apart = min(2 * declared.looks_apart, _MOST_LEFT_OUT)
    declared.next_look = declared.looks_apart
    return _is_lost(declared)


def _is_lost(declared: Declared) -> bool:
    """Whether a cycle is all that keeps it: but for ours, each reference to what leads back to it comes from there.

    That cycle would live as long as our reference, whose end leaves it to the collector.
    """
    members = [declared.held]
    at = {id(declared.held): 0}
    leads_to: list[list[int]] = []
    counts = [0]
    for member in members:  # it grows meanwhile
        leads_to.append([])
        for held in _followed(member):
            if id(held) not in at:
                at[id(held)] = len(members)
                members.append(held)
                counts.append(0)
            counts[at[id(held)]] += 1
            leads_to[-1].append(at[id(held)])
        held = None
        if len(members) > _MOST_MEMBERS:
            return False
    member = None
    _count_ours(at, counts)
    kept = [i for i in range(len(members)) if sys.getrefcount(members[i]) - _IN_A_LIST > counts[i]]
    seen = set(kept)
    while kept and 0 not in seen:
        for index in leads_to[kept.pop()]:
            if index not in seen:
                seen.add(index)
                kept.append(index)
    return 0 not in seen


def _count_ours(at: dict[int, int], counts: list[int]) -> None:
    for each in list(_declared.values()):
        if id(each.held) in at:
            counts[at[id(each.held)]] += 1


def _followed(member: Any) -> list[Any]:
    """What an object refers to, but for what the whole program leads to, which is no part of a lost cycle."""
    namespace = member.__globals__ if type(member) is types.FunctionType else None
    return [
        held
        for held in referents_of(member)
        if held is not namespace and gc.is_tracked(held) and not issubclass(type(held), (type, types.ModuleType))
    ]


_IN_A_LIST = (lambda members: sys.getrefcount(members[0]))([object()])
"""References to what a list alone holds, as it is asked for them."""


def _references(declared: Declared) -> int:
    return sys.getrefcount(declared.held)


_ALONE = _references(Declared(None, 0, "", 0, "", "", []))
"""To what nobody else holds."""


def _is_ours_alone(declared: Declared) -> bool:
    return declared.container is None and _references(declared) <= _ALONE


def of(container: Any) -> Declared | None:
    """What is declared of it."""
    declared = _declared.get(id(container))
    return declared if declared is not None and declared.alive is container else None


def holders() -> list[Any]:
    """What here refers to containers of the program, and is none of its own."""
    return [_declared, *_declared.values()]


def told() -> list[tuple[str, int, int, bytes, int, bytes]]:
    """Of the containers that live, the fullest first: type, length, bound, and file, line and text of what declares it.

    As `stepleak::DeclaredBound` has them.
    """
    _let_go("start", {"generation": 2})
    living = [(each, each.alive) for each in list(_declared.values())]
    found = [
        (each.name, length_of(it), each.bound, _bytes(each.file), each.line, _bytes(each.text))
        for each, it in living
        if it is not None
    ]
    return sorted(found, key=lambda row: -row[1] / row[2])[:_MOST_TOLD]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
