# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds that a program declares of its containers, where its sources do not show them.

Needs neither torch nor a run: what is declared anywhere in the process counts in each check and watch of it.
"""

from __future__ import annotations

import gc
import linecache
import operator
import sys
import weakref
from dataclasses import dataclass, field
from typing import Any, SupportsIndex, TypeVar

from stepleak._load import UsageError
from stepleak._objects import container_kind, length_of, type_name

_Container = TypeVar("_Container")
_MOST_BOUND = 2**53
"""Numbers in results are exact up to it."""
_MOST_TOLD = 32


@dataclass(slots=True)
class Declared:
    """One container, and the most that it is to hold."""

    container: weakref.ref[Any] | None
    """None of what takes no weak references, plain lists and dicts: these are held until nobody else holds them."""
    bound: int
    file: str
    line: int
    text: str
    name: str
    held: Any = field(repr=False)

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
    text = linecache.getline(file, line, caller.f_globals).strip()
    _declared[id(container)] = Declared(reference, most, file, line, text, type_name(container), held)
    return container


def _most(n: SupportsIndex) -> int:
    try:
        most = operator.index(n)
    except TypeError:
        raise UsageError(f"the bound is of type {type(n).__name__}", "give a whole number") from None
    if not 0 < most < _MOST_BOUND:
        raise UsageError(f"the bound is {most}", "give a number from 1 on: the most entries that there are to be")
    return most


def _forgetter(key: int) -> Any:
    def forget(_: Any) -> None:
        _declared.pop(key, None)

    return forget


def _let_go(phase: str, _: Any) -> None:
    """As the collector begins, which it does at each boundary: of what only this module still holds."""
    if phase != "start":
        return
    for key in [key for key, declared in _declared.items() if _is_ours_alone(declared)]:
        del _declared[key]


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
    _let_go("start", None)
    living = [(each, each.alive) for each in list(_declared.values())]
    found = [
        (each.name, length_of(it), each.bound, _bytes(each.file), each.line, _bytes(each.text))
        for each, it in living
        if it is not None
    ]
    return sorted(found, key=lambda row: -row[1] / row[2])[:_MOST_TOLD]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
