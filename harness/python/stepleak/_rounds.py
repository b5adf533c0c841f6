# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""How often a loop of the user's runs before it ends, where its sources tell."""

from __future__ import annotations

import ast
import math

from stepleak._syntax import Module, called_name
from stepleak._values import Values

_PASSING_ON = {"enumerate", "tqdm", "list", "reversed"}
"""What gives as many items as it gets."""


def rounds_of(values: Values, module: Module, loops: list[ast.AST]) -> float:
    """Of loops in each other: at most so many rounds in all; infinity where that is not known."""
    return math.prod(_items_of(values, module, loop.iter) if isinstance(loop, ast.For) else math.inf for loop in loops)


def _items_of(values: Values, module: Module, items: ast.expr) -> float:
    if isinstance(items, (ast.List, ast.Tuple)):
        return len(items.elts)
    if not isinstance(items, ast.Call):
        return math.inf
    name, args = called_name(items), items.args
    if name in ("range", "trange") and args:
        number = values.number(module, args[min(len(args), 2) - 1])
        return number if number > 0 else math.inf
    if name == "zip" and args:
        return min(_items_of(values, module, arg) for arg in args)
    if name == "islice" and len(args) > 1:
        number = values.number(module, args[min(len(args), 3) - 1])
        return number if number > 0 else math.inf
    return _items_of(values, module, args[0]) if name in _PASSING_ON and args else math.inf
