# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether an expression is an amount above zero: a size of something, or for all that is known."""

from __future__ import annotations

import ast
from enum import IntEnum

from stepleak._assignments import assignments
from stepleak._syntax import Module, called_name, is_parameter
from stepleak._user_code import UserCode

_MOST_DEPTH = 4
_SIZES = frozenset(
    {"numel", "nelement", "element_size", "nbytes", "itemsize", "size", "shape", "getsizeof", "__sizeof__", "len"}
    | {"prod", "dim", "ndim", "memory_usage", "get_memory_footprint", "tell", "total_seconds"}
)
_OF_ONE = frozenset({"int", "float", "ceil", "abs", "round", "sum", "list", "tuple"})


class Rise(IntEnum):
    """What adding an expression again and again comes to."""

    MAY_STAY = 0
    """It is zero or less, or may be in each step: `0 if p.grad is None else n`."""
    LIKELY = 1
    SURE = 2


def rise_of(code: UserCode, module: Module, node: ast.AST | None, depth: int = 0) -> Rise:
    """Of what is added to a count."""
    if node is None or depth > _MOST_DEPTH:
        return Rise.LIKELY

    def of(part: ast.AST | None) -> Rise:
        return rise_of(code, module, part, depth + 1)

    if isinstance(node, ast.Constant):
        return Rise.SURE if type(node.value) in (int, float) and node.value > 0 else Rise.MAY_STAY  # type: ignore[operator]
    if isinstance(node, (ast.UnaryOp, ast.Compare, ast.BoolOp)):
        return Rise.MAY_STAY
    if isinstance(node, ast.IfExp):
        return min(of(node.body), of(node.orelse))
    if isinstance(node, ast.BinOp):
        is_product = isinstance(node.op, (ast.Add, ast.Mult, ast.Div, ast.LShift, ast.Pow))
        found = min(of(node.left), of(node.right))
        return found if is_product else min(found, Rise.LIKELY)
    if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
        return of(node.elt) if not any(part.ifs for part in node.generators) else Rise.LIKELY
    if isinstance(node, ast.Subscript):
        return of(node.value)
    if isinstance(node, ast.Call):
        return _of_call(code, module, node, depth)
    if isinstance(node, ast.Attribute):
        return Rise.SURE if node.attr in _SIZES else Rise.LIKELY
    if isinstance(node, ast.Name):
        scope = module.resolve(node, node.id)
        values = [] if is_parameter(scope, node.id) else assignments(module, scope, node.id)
        return min(map(of, values), default=Rise.LIKELY)
    return Rise.LIKELY


def _of_call(code: UserCode, module: Module, call: ast.Call, depth: int) -> Rise:
    name = called_name(call)
    parts = [rise_of(code, module, argument, depth + 1) for argument in call.args]
    if name == "max" and len(parts) > 1:
        return max(parts)
    if name == "min" and len(parts) > 1:
        return min(parts)
    if name in _OF_ONE and len(parts) == 1:
        return parts[0]
    found = code.functions(name) if name else []
    if len(found) == 1 and name not in _SIZES:
        home, function = found[0]
        values = [n.value for n in home.nodes if isinstance(n, ast.Return) and home.scope(n) is function]
        return min((rise_of(code, home, value, depth + 1) for value in values), default=Rise.LIKELY)
    return Rise.SURE if name in _SIZES else Rise.LIKELY
