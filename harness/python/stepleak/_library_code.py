# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the source of a library's class says of a container of its objects: of a buffer that it empties when full."""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from typing import Any

from stepleak._objects import (
    all_classes_of,
    attributes_of,
    class_namespace_of,
    length_of,
    module_namespace,
    name_of,
)
from stepleak._structure import Structure

_EMPTYING = ("clear", "pop", "popleft", "popitem")
_MAKING = ("__init__", "__new__", "__setstate__")


def of_library_class(owner: Any, container: Any) -> Structure | None:
    """Of a container that is an attribute of an object: "bounded" where a class of that compares its length with a
    number that the object has (`len(self.buffer) >= self.capacity`), and a method empties it or takes from it.

    Which method does when is not followed: a container that has more entries than that number is not bounded by it.
    """
    attributes = attributes_of(owner)
    names = [name for name, value in attributes if value is container]
    if not names:
        return None
    numbers = {name: value for name, value in attributes if type(value) is int and value >= length_of(container)}
    is_emptied = False
    tests: list[tuple[str, int, str]] = []
    for kind in all_classes_of(owner):
        file, definition = _definition_of(class_namespace_of(kind).get("__module__"), name_of(kind))
        for method in definition.body if definition is not None else ():
            if not isinstance(method, ast.FunctionDef) or method.name in _MAKING:
                continue
            nodes = list(ast.walk(method))
            is_emptied = is_emptied or any(_is_emptying(node, names[0]) for node in nodes)
            asked = [(compare, name) for compare in nodes for name in _numbers_asked(compare, names[0])]
            tests += [(file, getattr(compare, "lineno", 0), name) for compare, name in asked if name in numbers]
    if not is_emptied or not tests:
        return None
    file, line, number = tests[0]
    return Structure("bounded", max(1, numbers[number]), file, line, linecache.getline(file, line).strip())


@functools.lru_cache(maxsize=64)
def _definition_of(module: object, name: str) -> tuple[str, ast.ClassDef | None]:
    """The file of a class, and its definition; None where it has none at the top of a file that can be read."""
    file = module_namespace(dict.get(sys.modules, module)).get("__file__") if type(module) is str else None
    if type(file) is not str or not file.endswith(".py"):
        return "", None
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return file, None
    return file, next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name), None)


def _is_own(node: ast.AST, name: str) -> bool:
    """`self.buffer`."""
    if not isinstance(node, ast.Attribute) or node.attr != name:
        return False
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _is_emptying(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _EMPTYING:
        return _is_own(node.func.value, name)
    if isinstance(node, ast.Delete):
        return any(isinstance(t, ast.Subscript) and _is_own(t.value, name) for t in node.targets)
    return isinstance(node, ast.Assign) and any(_is_own(target, name) for target in node.targets)


def _numbers_asked(node: ast.AST, name: str) -> list[str]:
    """The attributes with which the length of the container is compared by order."""
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Gt | ast.GtE | ast.Lt | ast.LtE | ast.Eq):
        return []
    sides = [node.left, node.comparators[0]]
    lengths = [
        side
        for side in sides
        if isinstance(side, ast.Call)
        and isinstance(side.func, ast.Name)
        and side.func.id == "len"
        and any(_is_own(argument, name) for argument in side.args)
    ]
    own = [side.attr for side in sides if isinstance(side, ast.Attribute) and _is_own(side, side.attr)]
    return own if lengths else []
