# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the statement in the user's sources that keeps something under a name."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any


class Sources:
    """Statements of the user's sources that keep something under a name."""

    _ADDING = frozenset({"append", "add", "extend", "appendleft", "insert", "put", "update", "setdefault"})

    def __init__(self, lines: dict[str, set[int]]) -> None:
        self._lines = lines
        self._trees: dict[str, ast.Module] = {}
        for file in lines:
            try:
                self._trees[file] = ast.parse(Path(file).read_text(encoding="utf-8"))
            except (OSError, SyntaxError, ValueError):
                continue

    def statement_keeping(self, name: str) -> dict[str, Any]:
        """The likeliest statement inside a function that keeps something under `name`; empty where none does.

        Adding beats assigning (`self.history = []` in the set-up keeps nothing); of several such statements, one in a
        function that a survivor was born in or below beats one elsewhere; then the first.
        """
        best: tuple[tuple[int, bool], str, ast.stmt, ast.expr] | None = None
        for file, tree in self._trees.items():
            for function in ast.walk(tree):
                if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    continue
                body = range(function.lineno, (function.end_lineno or function.lineno) + 1)
                is_elsewhere = not any(line in body for line in self._lines[file])
                for node in ast.walk(function):
                    match = self._match(node, name)
                    if match is not None and (best is None or (match[0], is_elsewhere) < best[0]):
                        best = ((match[0], is_elsewhere), file, match[1], match[2])
        if best is None:
            return {"file": "", "line": 0, "text": "", "expression": ""}
        _, file, statement, expression = best
        return {
            "file": file,
            "line": statement.lineno,
            "text": ast.unparse(statement).splitlines()[0],
            "expression": ast.unparse(expression),
        }

    def _match(self, node: ast.AST, name: str) -> tuple[int, ast.stmt, ast.expr] | None:
        """Rank (the smaller the likelier), statement and kept expression, where the statement keeps under `name`."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            is_adding = isinstance(call.func, ast.Attribute) and call.func.attr in self._ADDING and bool(call.args)
            if is_adding and _names(call.func.value, name):  # type: ignore[attr-defined]
                return 0, node, call.args[-1]
        if isinstance(node, (ast.Expr, ast.Assign)) and isinstance(node.value, ast.Call):
            # torch's hook tables are filled by its own register_...() methods.
            call = node.value
            is_registering = isinstance(call.func, ast.Attribute) and call.func.attr.startswith("register_")
            if name.endswith("_hooks") and is_registering and call.args:
                return 0, node, call.args[-1]
        if isinstance(node, ast.AugAssign) and _names(node.target, name):
            return 1, node, node.value
        if isinstance(node, ast.Assign) and any(_names(target, name) for target in node.targets):
            # A literal or a constructor is how an empty container is made.
            if isinstance(node.value, ast.Call):
                return 3, node, node.value
            if not isinstance(node.value, (ast.List, ast.Dict, ast.Constant)):
                return 2, node, node.value
        return None


def _names(node: ast.AST, name: str) -> bool:
    """Whether an expression ends in the name: `name`, `x.name`, `x.name[i]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr == name
    return isinstance(node, ast.Name) and node.id == name
