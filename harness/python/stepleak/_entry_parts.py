# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What an entry of a container has beside a tensor that it keeps: `log.append((loss, acc))` keeps two graphs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from stepleak import _tensors
from stepleak._objects import is_a
from stepleak._statement import expression_in

_LITERALS = (ast.Tuple, ast.List, ast.Dict)
_MOST_LEVELS = 4


def parts_with_graph(statement: ast.stmt, expression: str, way: list[Any]) -> tuple[str, ...] | None:
    """All expressions of an entry's tensors with a graph, that of what is kept first; none where one of them is not
    known; None where no other has one. `way`: from the entry to what is kept."""
    text = ast.unparse(statement).splitlines()[0]
    value = _expression_of(statement, expression, text)
    literals = [] if value is None else _literals_around(statement, value)
    found = [expression]
    for at, holder in enumerate(way[:-1]):
        for key, item in _items(holder):
            if item is way[at + 1] or not _has_graph(item):
                continue
            part = _part(literals[at], key) if len(literals) == len(way) - 1 else None
            told = "" if part is None or not _tensors.is_tensor(item) else expression_in(statement, part, text)
            if not told:
                return ()
            found.append(told)
    return tuple(found) if len(found) > 1 else None


def _expression_of(statement: ast.stmt, expression: str, text: str) -> ast.expr | None:
    parts = (node for node in ast.walk(statement) if isinstance(node, ast.expr) and ast.unparse(node) == expression)
    return next((node for node in parts if expression_in(statement, node, text)), None)


def _literals_around(statement: ast.stmt, value: ast.expr) -> list[ast.expr]:
    """The outermost first."""
    return [
        node
        for node in ast.walk(statement)
        if isinstance(node, _LITERALS) and node is not value and any(part is value for part in ast.walk(node))
    ]


def _part(literal: ast.expr, key: Any) -> ast.expr | None:
    if isinstance(literal, ast.Dict):
        keys = zip(literal.keys, literal.values, strict=True)
        return next((value for name, value in keys if isinstance(name, ast.Constant) and name.value == key), None)
    parts = literal.elts if isinstance(literal, (ast.Tuple, ast.List)) else []
    is_plain = not any(isinstance(part, ast.Starred) for part in parts)
    return parts[key] if is_plain and type(key) is int and key < len(parts) else None


def _items(holder: Any) -> Iterator[tuple[Any, Any]]:
    if is_a(holder, dict):
        yield from list(dict.items(holder))
    elif is_a(holder, tuple):
        yield from enumerate(tuple.__iter__(holder))
    elif is_a(holder, list):
        yield from enumerate(list.__iter__(holder))


def _has_graph(item: Any, levels: int = _MOST_LEVELS) -> bool:
    """Whether it is a tensor with a graph, or a container of such."""
    if _tensors.is_tensor(item):
        return _tensors.graph_of(item) is not None
    return levels > 0 and any(_has_graph(each, levels - 1) for _, each in _items(item))
