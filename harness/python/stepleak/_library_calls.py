# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""By which of its methods a library's object fills an attribute of its own: `update` of a metric that gathers.

What calls one of these is the user's to change. Read from the sources of the object's classes, and only there.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from collections.abc import Collection
from typing import Any

from stepleak._objects import module_namespace, mro_of, name_of
from stepleak._syntax import FUNCTIONS, Function

_FILLING = frozenset({"append", "appendleft", "extend", "insert", "add", "put", "setdefault", "update"})
_MOST_CHARACTERS = 1_000_000
_module_of: Any = type.__dict__["__module__"].__get__


class LibraryCalls:
    """Sources of one search: what was parsed once is kept, and goes with it."""

    def __init__(self) -> None:
        self._trees: dict[str, ast.Module | None] = {}

    def methods_filling(self, owner: Any, attribute: str) -> frozenset[str]:
        """Names of the methods that fill it, or call one that does; empty where none is found."""
        functions = self._functions_of(owner)
        found = {f.name for f in functions if any(_fills(node, attribute) for node in ast.walk(f))}
        before = 0
        while len(found) > before:
            before = len(found)
            found |= {f.name for f in functions if any(_calls_one_of(node, found) for node in ast.walk(f))}
            found = _with_call(found)
        return frozenset(found)

    def methods_handing_on(self, owner: Any, names: Collection[str]) -> frozenset[str]:
        """Names of the methods by which it calls one of these methods of what lies in it."""
        found = {
            function.name
            for function in self._functions_of(owner)
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names
        }
        return frozenset(_with_call(found))

    def _functions_of(self, owner: Any) -> list[Function]:
        found: list[Function] = []
        for kind in mro_of(type(owner)):
            tree, name = self._tree_of(_module_of(kind)), name_of(kind)
            nodes = [] if tree is None else ast.walk(tree)
            classes = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name == name]
            found += [node for known in classes for node in known.body if isinstance(node, FUNCTIONS)]
        return found

    def _tree_of(self, module: str) -> ast.Module | None:
        if module not in self._trees:
            self._trees[module] = _parsed(module)
        return self._trees[module]


def _parsed(module: str) -> ast.Module | None:
    file = module_namespace(dict.get(sys.modules, module)).get("__file__")
    if type(file) is not str or not file.endswith(".py"):
        return None
    try:
        with tokenize.open(file) as source:
            text = source.read(_MOST_CHARACTERS)
        return ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def _with_call(names: set[str]) -> set[str]:
    """A module of torch's is called, and calls its `forward`."""
    return names | {"__call__"} if "forward" in names else names


def _fills(node: ast.AST, attribute: str) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FILLING:
        return _is_own(node.func.value, attribute)
    if isinstance(node, ast.Assign):
        return any(isinstance(t, ast.Subscript) and _is_own(t.value, attribute) for t in node.targets)
    return isinstance(node, ast.AugAssign) and _is_own(node.target, attribute)


def _calls_one_of(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Call) and any(_is_own(node.func, name) for name in names)


def _is_own(node: ast.expr, attribute: str) -> bool:
    is_one = isinstance(node, ast.Attribute) and node.attr == attribute
    return is_one and isinstance(node.value, ast.Name) and node.value.id == "self"  # type: ignore[attr-defined]
