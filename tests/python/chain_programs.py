# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Programs whose steps keep something without a container that grows."""

from __future__ import annotations

import contextvars
import io
import weakref
from typing import Any

from holder_search import STEPS


class Link:
    """Keeps something, and another link."""

    def __init__(self, value: Any, other: Any = None) -> None:
        self.value = value
        self.other = other


CURRENT: contextvars.ContextVar[Link | None] = contextvars.ContextVar("CURRENT", default=None)
ENTERED: contextvars.ContextVar[Link | None] = contextvars.ContextVar("ENTERED", default=None)


class Scope(Link):
    """Is entered, and never left."""

    def enter(self) -> None:
        self.token = ENTERED.set(self)


class Leaf:
    """What another one may hang on."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.below: Leaf | None = None


def payload() -> list[bytes]:
    return [bytes(1000)]


class Program:
    """Some ways in which steps keep something without a container that grows."""

    def __init__(self) -> None:
        self.newest: Any = None
        self.last = self.first = Link(payload())
        self.leaves: dict[str, Any] = {"left": Leaf(payload()), "right": Leaf(payload())}
        self.history: tuple[Any, ...] = ()
        self.batch: Any = None
        self.by_name: weakref.WeakValueDictionary[int, Link] = weakref.WeakValueDictionary()
        self.recent: list[Link] = []
        self.opened: list[Any] = []

    def put_before(self, _: int) -> None:
        value = payload()
        self.newest = Link(value, self.newest)

    def put_tensor_before(self, tensor: Any) -> None:
        self.newest = Link(tensor, self.newest)

    def put_behind(self, _: int) -> None:
        link = Link(payload())
        self.last.other = link
        self.last = link

    def put_below(self, i: int) -> None:
        side = "left" if i % 2 else "right"
        leaf = self.leaves[side]
        while leaf.below is not None:
            leaf = leaf.below
        leaf.below = Leaf(payload())

    def put_aside(self, _: int) -> None:
        self.history = (*self.history, payload())

    def set_context(self, _: int) -> None:
        CURRENT.set(Link(payload(), CURRENT.get()))

    def enter(self, _: int) -> None:
        Scope(payload()).enter()

    def put_in_both(self, i: int) -> None:
        link = Link(payload())
        self.by_name[i] = link
        self.recent = [*self.recent, link]

    def open_now_and_then(self, i: int) -> None:
        if i % 4 == 0:
            self.opened.append(io.BufferedReader(io.BytesIO(bytes(5000))))  # type: ignore[arg-type]

    def load(self, _: int) -> None:
        self.batch = [Link(payload()) for _ in range(24)]

    def load_elsewhere(self, step: int) -> None:
        """The last batch has some of the addresses of the one before the half, and others."""
        others = [Link(payload()) for _ in range(12)] if step == STEPS - 1 else []
        self.load(step)
        del others
