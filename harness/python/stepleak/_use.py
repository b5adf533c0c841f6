# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A name under which a container goes in the sources, and one thing that they do with it there."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from stepleak._syntax import Module

Keys = tuple[object, ...]
"""Keys of the items between what is named and the container; None where any may be it."""

VALUE = object()
"""In the place of a key: what is named is a context variable, whose `get()` is what it has."""
CHANGING = frozenset({"fill", "put", "remove", "reset", "trim"})
"""Kinds of uses after which other items are in the container."""
TAKING = frozenset({"remove", "reset", "trim"})
"""Those of them that may take items out."""
_OF_MANY = frozenset({"extend", "extendleft", "update", "__iadd__", "__ior__"})


@dataclass(frozen=True)
class Name:
    """One name under which the container goes."""

    kind: str
    """"attribute", "variable", "call" (of a function that returns it) or "self" (in methods of its class)."""
    name: str
    keys: Keys = ()
    module: Module | None = None
    scope: ast.AST | None = None
    is_slot: bool = False
    """Whether the container is kept under it, so that an assignment replaces the container."""
    is_guess: bool = False
    """Whether it may be any attribute of some object, and where it goes says nothing."""
    given_to: ast.ClassDef | None = None
    """Of an attribute: the class in whose methods another object than the one that keeps the container gets it."""


@dataclass(frozen=True)
class Use:
    """One thing that the sources do with it."""

    kind: str
    """fill, remove, trim, reset, assign, ask, length, truth, or escape: it goes where it cannot be followed."""
    module: Module
    node: ast.expr
    """The expression that is the container."""
    detail: ast.expr | None = None
    """Of a fill the key or the item, of a trim the slice, of an assignment the value."""
    is_sure: bool = True

    def puts_many(self) -> bool:
        """Whether a fill puts in all that something gives, and not that as one item: `kept.extend(rows)`."""
        outer, _ = self.module.parent(self.node)
        return self.kind == "fill" and not (isinstance(outer, ast.Attribute) and outer.attr not in _OF_MANY)
