# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What bounds a length in the user's sources: which one a test allows, and how many items a slice keeps."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from stepleak._assignments import assignments, is_only_assigned, is_setting
from stepleak._syntax import Module
from stepleak._user_code import UserCode
from stepleak._values import Values


class Bounds:
    """Of the length of one container. `objects`: the chain that leads to it. `is_length`: whether an expression is made
    of its length; none is where there is no container."""

    def __init__(
        self,
        code: UserCode,
        objects: list[Any],
        is_length: Callable[[Module, ast.AST], bool] = lambda *_: False,
    ) -> None:
        self._code = code
        self._is_length = is_length
        self._values = Values(code, objects)

    def allowed(self, module: Module, test: ast.AST, holds: bool) -> tuple[bool, int] | None:
        """Whether a test lets short ones through (else long ones), and the length that it names.

        None where it does not compare the length. `holds`: whether the test is true where its statement runs.
        """
        for node in ast.walk(test):
            if isinstance(node, ast.Compare) and len(node.ops) == 1:
                found = self._compared(module, node, holds != _is_negated(test, node))
                if found is not None:
                    return found
        if any(self._is_length(module, n) for n in ast.walk(test)):
            return not holds, -1
        return None

    def _compared(self, module: Module, node: ast.Compare, holds: bool) -> tuple[bool, int] | None:
        left, right, op = node.left, node.comparators[0], node.ops[0]
        is_left = any(self._is_length(module, n) for n in ast.walk(left))
        if not is_left and not any(self._is_length(module, n) for n in ast.walk(right)):
            return None
        side, other = (left, right) if is_left else (right, left)
        limit = self._values.number(module, other)
        if self._values.value(module, other) == 0 and type(self._values.value(module, other)) is int:
            limit = 0
        if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Sub) and limit == 0:
            limit = self._values.number(module, side.right)
        elif not self._is_length(module, side):
            limit = -1
        if isinstance(op, (ast.Eq, ast.NotEq)):
            is_long = isinstance(op, ast.Eq) == holds
            return not is_long, limit
        is_below = isinstance(op, (ast.Lt, ast.LtE)) == is_left
        if not isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
            return None
        is_short = is_below == holds
        # "Up to and including n" lets one more in.
        is_inclusive = isinstance(op, (ast.LtE, ast.GtE)) == holds
        return is_short, limit + 1 if is_short and is_inclusive and limit >= 0 else limit

    def kept_by_slice(self, module: Module, cut: ast.Slice) -> int:
        """How many items `x[cut]` keeps at most; -1 unknown, 0: all but a fixed number."""
        if cut.lower is None and cut.upper is None:
            return 0
        negative = _negated(cut.lower)
        if cut.upper is None and negative is not None:
            return self._values.number(module, negative)
        if cut.lower is None and _negated(cut.upper) is None:
            return self._values.number(module, cut.upper)
        if cut.upper is None and (left := self._left_by_excess(module, cut.lower)) is not None:
            return self._values.number(module, left)
        constant = cut.lower if cut.lower is not None else cut.upper
        return 0 if isinstance(constant, (ast.Constant, ast.UnaryOp)) else -1

    def _left_by_excess(self, module: Module, lower: ast.expr | None) -> ast.expr | None:
        """The n of `len(x) - n`, which may have a name."""
        if isinstance(lower, ast.Name):
            scope = module.resolve(lower, lower.id)
            values = assignments(module, scope, lower.id) if is_only_assigned(module, scope, lower.id) else []
            lower = values[0] if len(values) == 1 else None
            if not isinstance(lower, ast.BinOp) or not self._is_length(module, lower.left):
                return None
        return lower.right if isinstance(lower, ast.BinOp) and isinstance(lower.op, ast.Sub) else None

    def is_fixed(self, module: Module, node: ast.AST) -> bool:
        """Whether an expression is of the length and of what nothing changes once it is made: what is counted up is no
        bound."""
        if self._is_length(module, node):
            return True
        if isinstance(node, ast.Attribute):
            return is_setting(self._code, module, node)
        if isinstance(node, ast.Name):
            return module.resolve(node, node.id) is not module.tree or is_setting(self._code, module, node)
        return all(self.is_fixed(module, part) for part in ast.iter_child_nodes(node))


def _negated(node: ast.expr | None) -> ast.expr | None:
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else None


def _is_negated(test: ast.AST, inner: ast.AST) -> bool:
    return any(
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and any(n is inner for n in ast.walk(node))
        for node in ast.walk(test)
    )
