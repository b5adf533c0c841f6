# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A statement of the user's sources as a `stepleak::Statement` tells it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

from stepleak._syntax import FUNCTIONS, first_line

_UNCUT: dict[str, Any] = {"detached": None, "is_used_as_tensor": False}
"""Of a statement of which nothing says where its graph may be cut."""


def no_statement() -> dict[str, Any]:
    """A `stepleak::Statement` that stands nowhere."""
    return {"file": "", "line": 0, "text": "", "expression": "", "calls": []} | _UNCUT


def statement_of(file: str, node: ast.stmt, value: ast.expr | None = None) -> dict[str, Any]:
    """A `stepleak::Statement`; `value`: the expression of what is held, where it is written."""
    text = ast.unparse(node).splitlines()[0]
    expression = "" if value is None else expression_in(node, value, text)
    return {
        "file": file,
        "line": line_of(node),
        "text": text,
        "expression": expression,
        "calls": sorted({call.func.attr for call in own_calls(node) if isinstance(call.func, ast.Attribute)}),
        **_UNCUT,
    }


def line_of(node: ast.stmt) -> int:
    return first_line(node) if isinstance(node, FUNCTIONS) else node.lineno


def has_any(node: ast.stmt | ast.Lambda, lines: Iterable[int]) -> bool:
    """Whether one of these lines is a statement's, or a function's."""
    return any(node.lineno <= line <= (node.end_lineno or line) for line in lines)


def own_calls(statement: ast.stmt) -> Iterator[ast.Call]:
    """Those of a statement, without those of the statements in it."""
    nodes: list[ast.AST] = [statement]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Call):
            yield node
        nodes += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def calls_for_effect(statement: ast.AST) -> Iterator[ast.Call]:
    """Calls whose outcome a statement lets go: its own, and those that it makes if something holds, or for each of
    some."""
    nodes = [] if (value := _let_go(statement)) is None else [value]
    while nodes:
        node = nodes.pop(0)
        if isinstance(node, ast.Call):
            yield node
        elif isinstance(node, (ast.Await, ast.NamedExpr)):
            nodes.append(node.value)
        elif isinstance(node, ast.BoolOp):
            nodes += node.values
        elif isinstance(node, ast.IfExp):
            nodes += [node.body, node.orelse]
        elif isinstance(node, (ast.ListComp, ast.SetComp)):
            nodes.append(node.elt)
        elif isinstance(node, (ast.List, ast.Tuple)):
            nodes += node.elts


def _let_go(statement: ast.AST) -> ast.expr | None:
    """What a statement works out for nobody: `_ = kept.append(x)` has only the name of a variable."""
    if isinstance(statement, ast.Assign):
        is_for_nobody = all(isinstance(target, ast.Name) and target.id == "_" for target in statement.targets)
        return statement.value if is_for_nobody else None
    return statement.value if isinstance(statement, ast.Expr) else None


def makes_of_itself(statement: dict[str, Any]) -> bool:
    """Whether it assigns what is made of what was there: `self.newest = Link(value, self.newest)`."""
    try:
        parsed = ast.parse(statement["text"]).body
    except SyntaxError:  # the first line of more
        return False
    node = parsed[0] if parsed else None
    if not isinstance(node, ast.Assign):
        return False
    made_of = {ast.unparse(part) for part in ast.walk(node.value) if isinstance(part, (ast.Attribute, ast.Name))}
    return any(ast.unparse(target) in made_of for target in node.targets)


def expression_in(statement: ast.stmt, value: ast.expr, text: str) -> str:
    """The value's own text, where it is the last of its kind in the statement's: whoever replaces that replaces it."""
    mark = "kept_value_of_this_statement"
    marked = ast.unparse(Replacing({id(value): ast.Name(mark)}).visit(statement)).splitlines()[0]
    expression = ast.unparse(value)
    return expression if _last_place_of(expression, text) == marked.find(mark) else ""


def _last_place_of(expression: str, text: str) -> int:
    """As whole words: `h` is no part of `torch.rand(8)`; -1: nowhere. As C++ has it, which replaces it there."""
    found = [match.start() for match in re.finditer(rf"(?<![\w.]){re.escape(expression)}(?!\w)", text)]
    return found[-1] if found else -1


class Replacing(ast.NodeTransformer):
    """Replaces nodes of a tree, in a copy of what leads to them."""

    def __init__(self, replaced: dict[int, Any]) -> None:
        self._replaced = replaced
        self._open: set[int] = set()

    def visit(self, node: ast.AST) -> Any:
        instead = self._replaced.get(id(node))
        if instead is None or id(node) in self._open:
            return self._copied(node)
        self._open.add(id(node))  # what takes its place may have it
        try:
            return [self.visit(each) for each in instead] if isinstance(instead, list) else self.visit(instead)
        finally:
            self._open.discard(id(node))

    def _copied(self, node: ast.AST) -> ast.AST:
        fields: dict[str, Any] = {}
        for name, old in ast.iter_fields(node):
            if isinstance(old, list):
                new: list[Any] = []
                for item in old:
                    visited = self.visit(item) if isinstance(item, ast.AST) else item
                    new += visited if isinstance(visited, list) else [visited]
                fields[name] = new
            else:
                fields[name] = self.visit(old) if isinstance(old, ast.AST) else old
        return ast.copy_location(type(node)(**fields), node)
