# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the source of a library's class says of a container of its objects: of a buffer that it empties when full, and
of a table that it fills once a key."""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from stepleak._objects import (
    all_classes_of,
    attributes_of,
    class_namespace_of,
    container_kind,
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
    name = _name_of(container, attributes)
    if name is None:
        return None
    numbers = {number: value for number, value in attributes if type(value) is int and value >= length_of(container)}
    is_emptied = False
    tests: list[tuple[str, int, str]] = []
    for file, method in _methods_of(owner):
        nodes = list(ast.walk(method))
        is_emptied = is_emptied or any(_is_emptying(node, name) for node in nodes)
        asked = [(compare, number) for compare in nodes for number in _numbers_asked(compare, name)]
        tests += [(file, getattr(compare, "lineno", 0), number) for compare, number in asked if number in numbers]
    if not is_emptied or not tests:
        return None
    file, line, number = tests[0]
    return _at("bounded", file, line, max(1, numbers[number]))


def filled_once_a_key(owner: Any, container: Any) -> Structure | None:
    """Of a dict that is an attribute of an object: "keyed" where a method of its class makes an entry only for a key
    that it looked for and did not find (`if key not in self.made: self.made[key] = ...`)."""
    name = _name_of(container, attributes_of(owner)) if container_kind(container) is dict else None
    if name is None:
        return None
    for file, method in _methods_of(owner):
        for node in ast.walk(method):
            for statement in _where_missing(node, name):
                line = next((n.lineno for n in ast.walk(statement) if _is_item(n, name, ast.Store)), 0)
                if line > 0:
                    return _at("keyed", file, line)
    return None


def _at(kind: str, file: str, line: int, bound: int = -1) -> Structure:
    return Structure(kind, bound, file, line, linecache.getline(file, line).strip())


def _name_of(container: Any, attributes: Iterable[tuple[str, Any]]) -> str | None:
    return next((name for name, value in attributes if value is container), None)


def _methods_of(owner: Any) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Of its classes, but for those that make it; each with its file."""
    for kind in all_classes_of(owner):
        file, definition = _definition_of(class_namespace_of(kind).get("__module__"), name_of(kind))
        for method in definition.body if definition is not None else ():
            if isinstance(method, ast.FunctionDef) and method.name not in _MAKING:
                yield file, method


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


def _where_missing(node: ast.AST, name: str) -> list[ast.stmt]:
    """The statements that run where a key is not in it: those that a test guards, or that handle a failed look-up."""
    if isinstance(node, ast.If):
        test, is_negated = node.test, False
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, is_negated = test.operand, True
        if isinstance(test, ast.Compare) and _is_own(test.comparators[0], name):
            if isinstance(test.ops[0], ast.NotIn):
                return node.orelse if is_negated else node.body
            if isinstance(test.ops[0], ast.In):
                return node.body if is_negated else node.orelse
    if isinstance(node, ast.Try) and any(_is_item(n, name, ast.Load) for s in node.body for n in ast.walk(s)):
        return [s for h in node.handlers if getattr(h.type, "id", "") == "KeyError" for s in h.body]
    return []


def _is_item(node: ast.AST, name: str, context: type[ast.expr_context]) -> TypeGuard[ast.Subscript]:
    return isinstance(node, ast.Subscript) and isinstance(node.ctx, context) and _is_own(node.value, name)


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
