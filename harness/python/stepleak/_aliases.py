# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Other ways in which a function writes an attribute: a variable that stands for it, `getattr` with its name."""

from __future__ import annotations

import ast
from collections import Counter


class Aliases:
    """Of a function: `kept = self.kept`, where nothing else is assigned to that variable."""

    def __init__(self, function: ast.AST) -> None:
        nodes = list(ast.walk(function))
        stored = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        # What adds to a list in place leaves the variable as it was.
        stored -= Counter(node.target.id for node in nodes if _adds_to_variable(node))  # type: ignore[attr-defined]
        stored += Counter(node.arg for node in nodes if isinstance(node, ast.arg))
        self._meant = {
            target.id: node.value
            for node in nodes
            if isinstance(node, ast.Assign) and _is_of_attribute(node.value)
            for target in node.targets
            if isinstance(target, ast.Name) and stored[target.id] == 1
        }

    def meant(self, node: ast.expr) -> ast.expr:
        """What an expression stands for, as that would be written out."""
        if isinstance(node, ast.Name) and node.id in self._meant:
            return _as_attribute(self._meant[node.id])
        if isinstance(node, ast.Subscript):
            return ast.Subscript(self.meant(node.value), node.slice, node.ctx)
        return _as_attribute(node)


def _adds_to_variable(node: ast.AST) -> bool:
    return isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)


def _is_of_attribute(node: ast.expr) -> bool:
    """Whether it is an attribute, or an item of one."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(_as_attribute(node), ast.Attribute)


def _as_attribute(node: ast.expr) -> ast.expr:
    """`getattr(self, "kept")` as `self.kept`; anything else as it is."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "getattr":
        return node
    name = node.args[1] if len(node.args) > 1 else None
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return node
    return ast.Attribute(node.args[0], name.value, ast.Load())
