# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which exceptions the user's sources catch around a place, by their names."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator

from stepleak._syntax import LEAVING, Guard, Module, called_name, last_name
from stepleak._user_code import UserCode

_ALL = "BaseException"


def caught_around(module: Module, node: ast.AST) -> Iterator[str]:
    """Names of what is caught around a place within its scope, and not raised again."""
    for outer, field, _ in module.within_scope(node):
        if field != "body":
            continue
        if isinstance(outer, ast.Try):
            for handler in outer.handlers:
                if not isinstance(handler.body[-1], ast.Raise):
                    yield from _names_of(handler.type)
        elif isinstance(outer, (ast.With, ast.AsyncWith)):
            for item in outer.items:
                if isinstance(item.context_expr, ast.Call) and called_name(item.context_expr) == "suppress":
                    yield from map(last_name, item.context_expr.args)


def is_left_by(caught: Collection[str], statement: ast.stmt) -> bool:
    """Whether a statement leaves what is around it, where these exceptions are caught further out."""
    if isinstance(statement, LEAVING):
        return True
    if isinstance(statement, ast.Assert):
        raised = "AssertionError"
    elif isinstance(statement, ast.Raise) and statement.exc is not None:
        raised = called_name(statement.exc) or last_name(statement.exc)
    else:
        return False
    return raised in caught or not _bases_of(raised).isdisjoint(caught)


def raised_before(
    module: Module, node: ast.AST, caught: Collection[str], code: UserCode
) -> Iterator[tuple[Module, Guard]]:
    """Tests with which functions that are called before a place raise what is caught behind it, `self.budget.take()`:
    with the place where they don't hold."""
    for _, _, before in module.within_scope(node):
        for statement in before:
            names = set(caught)
            if isinstance(statement, ast.Try):
                leaving = (handler for handler in statement.handlers if isinstance(handler.body[-1], LEAVING))
                names.update(name for handler in leaving for name in _names_of(handler.type))
            for call in ast.walk(statement) if names else ():
                functions = code.functions(called_name(call)) if isinstance(call, ast.Call) else []
                if len(functions) == 1:
                    yield from _raised_in(*functions[0], names)


def _raised_in(home: Module, function: ast.AST, caught: Collection[str]) -> Iterator[tuple[Module, Guard]]:
    for node in home.nodes:
        if isinstance(node, ast.Raise) and home.scope(node) is function and is_left_by(caught, node):
            guards = home.guards(node)
            if len(guards) == 1 and not guards[0].is_loop:
                yield home, Guard(guards[0].test, not guards[0].holds, False)


def _names_of(caught: ast.expr | None) -> list[str]:
    if caught is None:
        return [_ALL]
    return list(map(last_name, caught.elts)) if isinstance(caught, ast.Tuple) else [last_name(caught)]


def _bases_of(raised: str) -> set[str]:
    """Of an exception of Python's those that it derives from; of the user's those that it most likely does."""
    kind = getattr(builtins, raised, None)
    bases = kind.__mro__ if isinstance(kind, type) else Exception.__mro__
    return {base.__name__ for base in bases}
