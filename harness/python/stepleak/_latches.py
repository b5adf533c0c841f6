# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a statement runs once and then no more: `if self.rate is None: self.rate = self.found()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stepleak._bounds import SET_UP
from stepleak._syntax import Guard, Module
from stepleak._user_code import UserCode

_MOST_LEVELS = 4
_MOST_CALLERS = 8


def is_latched(code: UserCode, module: Module, node: ast.AST, depth: int = 0) -> bool:
    """Whether a test that its own branch makes false lies on each way to a statement. False where that is not sure."""
    if any(_is_shut_inside(code, module, guard) for guard in module.guards(node)):
        return True
    function = module.function(node)
    calls = [] if function is None or code.is_entry(module, function) else code.calls(function.name)
    if not 0 < len(calls) <= _MOST_CALLERS or depth == _MOST_LEVELS:
        return False
    return all(is_latched(code, home, call, depth + 1) for home, call in calls)


def _is_shut_inside(code: UserCode, module: Module, guard: Guard) -> bool:
    """Whether the branch that a test guards makes it false, and nothing makes it true again once the set-up is over."""
    statement = module.statement(guard.test)
    if guard.is_loop or not isinstance(statement, ast.If):
        return False
    branch = statement.body if guard.holds else statement.orelse
    inside = {node for part in branch for node in ast.walk(part)}
    return any(_is_shut(code, inside, subject, wanted) for subject, wanted in _asked(guard.test, guard.holds))


def _is_shut(code: UserCode, inside: set[ast.AST], subject: ast.Attribute, wanted: object) -> bool:
    stores = [(m, n) for m, n in _stores(code, subject.attr) if getattr(m.function(n), "name", "") not in SET_UP]
    return bool(stores) and all(node in inside and _is_other(home, node, wanted) for home, node in stores)


def _stores(code: UserCode, attribute: str) -> Iterator[tuple[Module, ast.Attribute]]:
    modules, _ = code.mentioning(attribute)
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.Attribute) and node.attr == attribute and not isinstance(node.ctx, ast.Load):
                yield module, node


def _is_other(module: Module, target: ast.Attribute, wanted: object) -> bool:
    """Whether what is assigned there is another value than the one that the test wants."""
    statement, field = module.parent(target)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or field not in ("targets", "target"):
        return False
    if isinstance(statement.value, ast.Constant):
        return bool(statement.value.value) is not bool(wanted)
    # Whatever is computed there is not None.
    return wanted is None and statement.value is not None


def _asked(test: ast.expr, holds: bool) -> Iterator[tuple[ast.Attribute, object]]:
    """The attributes that a test asks about, each with the constant that lets a statement under it run."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _asked(test.operand, not holds)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == holds:
        for part in test.values:
            yield from _asked(part, holds)
    elif isinstance(test, ast.Attribute):
        yield test, holds
    elif isinstance(test, ast.Compare) and isinstance(test.left, ast.Attribute) and len(test.ops) == 1:
        value, op = test.comparators[0], test.ops[0]
        is_none = isinstance(value, ast.Constant) and value.value is None
        if (
            is_none
            and isinstance(op, (ast.Is, ast.Eq)) == holds
            and isinstance(op, (ast.Is, ast.Eq, ast.IsNot, ast.NotEq))
        ):
            yield test.left, None
