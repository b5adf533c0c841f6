# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Constants that an expression can be, by how the sources write it out."""

from __future__ import annotations

import ast
from typing import Any

from stepleak._assignments import variable_stores
from stepleak._syntax import Module, called_name, is_parameter


def may_be(module: Module, node: ast.expr | None, key: object) -> bool:
    """Whether an index may be this key; None: which one is not known."""
    return key is None or (known := _literals(module, node)) is None or key in known


def _literals(module: Module, node: ast.expr | None) -> list[Any] | None:
    """All that it can be: a constant, or a variable of a loop over some, `for name in ("loss", "lr")`. None where that
    is not all."""
    if isinstance(node, ast.Constant):
        return [node.value]
    if not isinstance(node, ast.Name):
        return None
    scope = module.resolve(node, node.id)
    stored = [] if is_parameter(scope, node.id) else variable_stores(module, scope, node.id)
    known = [_literals_given(module, target) for target in stored]
    return None if not known or None in known else [value for values in known for value in values or ()]


def _literals_given(module: Module, target: ast.Name) -> list[Any] | None:
    outer, field = module.parent(target)
    place = None
    if isinstance(outer, ast.Tuple) and field == "elts":
        place = outer.elts.index(target)
        outer, field = module.parent(outer)
    if not isinstance(outer, (ast.For, ast.comprehension)) or field != "target":
        return None
    items = _items_of(module, outer.iter)
    if place is not None and items is not None:
        rows = [item.elts for item in items if isinstance(item, ast.Tuple) and len(item.elts) > place]
        items = [row[place] for row in rows] if len(rows) == len(items) else None
    if items is None or not all(isinstance(item, ast.Constant) for item in items):
        return None
    return [item.value for item in items]  # type: ignore[attr-defined]


def _items_of(module: Module, over: ast.expr) -> list[ast.expr] | None:
    """What a loop goes over: a display of items, which may have a name of its own, or the items of one of a dict."""
    if isinstance(over, ast.Name):
        scope = module.resolve(over, over.id)
        stored = [] if is_parameter(scope, over.id) else variable_stores(module, scope, over.id)
        assigned = module.parent(stored[0])[0] if len(stored) == 1 else None
        over = assigned.value if isinstance(assigned, ast.Assign) and isinstance(assigned.value, ast.Tuple) else over
    if isinstance(over, (ast.Tuple, ast.List, ast.Set)):
        return over.elts
    if isinstance(over, ast.Call) and called_name(over) == "items" and isinstance(over.func, ast.Attribute):
        table = over.func.value
        if isinstance(table, ast.Dict) and None not in table.keys:
            return [ast.Tuple([key, value]) for key, value in zip(table.keys, table.values, strict=True) if key]
    return None
