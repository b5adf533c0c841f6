# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which statements of the user's sources stand in functions that nothing calls."""

from __future__ import annotations

import ast

from stepleak._assignments import SET_UP
from stepleak._runs import Runs
from stepleak._syntax import Module, texts
from stepleak._user_code import UserCode


class Unreached:
    """`code`: all of the user's; without it nothing is told. `is_sure`: the stacks of what survived are known, so that
    what really runs may be missed where no statement but such ones is found."""

    def __init__(self, code: UserCode | None, *, is_sure: bool) -> None:
        self._code = code
        self.is_sure = is_sure

    def has(self, file: str, statement: ast.stmt) -> bool:
        """Whether it has a statement of whatever parsed this file."""
        module = None if self._code is None else self._code.file(file)
        node = None if module is None else _same_in(module, statement)
        return module is not None and node is not None and self.has_node(module, node)

    def has_node(self, module: Module, node: ast.AST) -> bool:
        """Whether it has a node of a file. What makes an object ready may do so in each step."""
        name = getattr(module.function(node), "name", "")
        if self._code is None or name in SET_UP:
            return False
        is_asked_for = any(_is_asked_for(home, name) for home in self._code.mentioning(name)[0])
        return not is_asked_for and Runs(self._code).is_uncalled(module, node)


def _is_asked_for(module: Module, name: str) -> bool:
    """Whether a file may get a function by its name: `getattr(logger, "log")`, `globals()["log"]`."""
    around = (module.parent(text) for text in texts(module, name))
    return any(isinstance(outer, (ast.Call, ast.Subscript)) for outer, _ in around)


def _same_in(module: Module, statement: ast.stmt) -> ast.AST | None:
    """The node at the same place; the statement that a lambda's body is taken for is none of the file's."""
    place = _place_of(statement)
    nodes = (node for node in module.nodes if isinstance(node, (ast.stmt, ast.expr)))
    return next((node for node in nodes if _place_of(node) == place), None)


def _place_of(node: ast.stmt | ast.expr) -> tuple[int, int, int | None, int | None]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
