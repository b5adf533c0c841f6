# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Where something is kept: the way there from a root, and which expressions of a source lead along it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from stepleak._objects import key_text

_TABLES_OF_A_MODULE = frozenset({"_buffers", "_parameters", "_modules"})
"""Of `torch.nn.Module`, which puts there what is assigned to an attribute of such a name."""

_WRAPPERS = {
    "data": frozenset({"WeakKeyDictionary", "WeakValueDictionary", "UserDict", "UserList"}),
    "queue": frozenset({"Queue", "LifoQueue", "PriorityQueue"}),
    "_queue": frozenset({"Queue", "LifoQueue", "PriorityQueue"}),
    "_buffer": frozenset({"Queue", "JoinableQueue"}),
    "_modules": frozenset({"ModuleList", "ModuleDict", "Sequential"}),
    "_parameters": frozenset({"ParameterList", "ParameterDict"}),
}
"""Classes whose objects are used like the container that they keep as an attribute of this name."""


@dataclass(frozen=True)
class Access:
    """One step on the way from a root to what is kept, as the source would write it."""

    kind: str
    """`variable` (also a module's), `attribute`, `key`, `index`; `any_index`; `other` for what no source writes."""
    label: str
    owners: frozenset[str] = frozenset()
    """Of an attribute: the names of the classes that its object is of."""
    scope: tuple[str, int] | None = None
    """Of a function's variable: the file and the line where the function begins."""

    def is_item(self, index: ast.expr) -> bool:
        """Whether `[index]` may lead there: a constant must be the key itself."""
        if self.kind == "any_index":
            return not (isinstance(index, ast.Constant) and isinstance(index.value, str))
        if self.kind not in ("key", "index"):
            return False
        return not isinstance(index, ast.Constant) or self.label in (index.value, key_text(index.value))


@dataclass(frozen=True)
class Place:
    """Where something is kept."""

    way: list[Access]
    """From a root to the innermost container, or to what is held where there is none."""
    beyond: list[Access]
    """From the container to what is held; empty where the container itself is held."""
    is_container: bool
    buffer: type | None = None
    """Of a buffer that grew: its type."""


def as_attribute(place: Place) -> Place | None:
    """The same place as `self.running_mean = ...` writes it, where a module has put that into a table of its own."""
    if not place.way or place.way[-1].kind != "attribute" or place.way[-1].label not in _TABLES_OF_A_MODULE:
        return None
    table, name = place.way[-1], place.beyond[0].label if place.beyond else ""
    if not name.isidentifier():
        return None
    way = [*place.way[:-1], Access("attribute", name, table.owners)]
    return Place(way, place.beyond[1:], is_container=False, buffer=place.buffer)


def as_wrapper(place: Place) -> Place | None:
    """The same place as `features[sample] = ...` writes it, where an object keeps that in a container of its own."""
    if len(place.way) < 2 or not place.way[-1].owners & _WRAPPERS.get(place.way[-1].label, frozenset()):
        return None
    return Place(place.way[:-1], place.beyond, place.is_container, place.buffer)


def leads_to(node: ast.expr, way: list[Access], owner: str) -> bool:
    """Whether an expression inside a class leads to the end of a way: by the names of all that it writes."""
    is_named = False
    for access in reversed(way):
        item = _item_in(node)
        if item is not None:
            node, index = item
            if not access.is_item(index):
                return False
            is_named = is_named or (isinstance(index, ast.Constant) and access.kind != "any_index")
        elif isinstance(node, ast.Attribute):
            if access.kind not in ("attribute", "variable") or node.attr != access.label:
                return False
            is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
            if is_own and owner and access.owners and owner not in access.owners:
                return False
            is_named = True
            node = node.value
        elif isinstance(node, ast.Name) and access.kind == "variable" and node.id == access.label:
            return True
        else:
            break
    # What is left is an object of whatever name.
    return is_named


def is_item_at(target: ast.expr, place: Place, owner: str) -> bool:
    """Whether a target is where in its container something is held: of a list's many items the one that was found
    stands for all, and of a container that grew any.
    """
    if not place.beyond and not place.is_container:
        return False
    item = place.beyond[0] if place.beyond else Access("index", "")
    item = Access("any_index", "") if item.kind == "index" else item
    return leads_to(target, [*place.way, item], owner)


def _item_in(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """What an expression takes an item out of, and by which key: `x[k]`, `x.setdefault(k, [])`, `x.get(k)`."""
    if isinstance(node, ast.Subscript):
        return node.value, node.slice
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        return (node.func.value, node.args[0]) if node.func.attr in ("setdefault", "get") else None
    return None


def is_named_alike(node: ast.expr, name: str) -> bool:
    """Whether an expression ends in the name, and in no key that contradicts: `name`, `x.name`, `x.name[i]`."""
    while (item := _item_in(node)) is not None:
        node, index = item
        if isinstance(index, ast.Constant):
            return False
    if isinstance(node, ast.Attribute):
        return node.attr == name
    return isinstance(node, ast.Name) and node.id == name


def mentions(value: ast.expr, way: list[Access], owner: str) -> bool:
    """Whether an expression reads what is at a place."""
    return any(isinstance(node, ast.expr) and leads_to(node, way, owner) for node in ast.walk(value))


def held_in(value: ast.expr, way: list[Access]) -> ast.expr | None:
    """The part of a value that a way through it leads to, where that is written and may be a tensor."""
    for access in way:
        parts: list[tuple[str, ast.expr]] = []
        if isinstance(value, (ast.Tuple, ast.List)) and not any(isinstance(e, ast.Starred) for e in value.elts):
            parts = [(str(i), element) for i, element in enumerate(value.elts)]
        elif isinstance(value, ast.Dict):
            keys = [(key, item) for key, item in zip(value.keys, value.values, strict=True)]
            parts = [(access.label, item) for key, item in keys if key is not None and access.is_item(key)]
        part = next((part for label, part in parts if label == access.label), None)
        if part is None:
            return None
        value = part
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in ("item", "tolist"):
        return None
    is_tensor = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Await)
    return value if isinstance(value, is_tensor) else None
