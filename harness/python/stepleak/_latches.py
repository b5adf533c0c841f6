# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a statement runs once and no more: `if count == 70`, or `if self.rate is None: self.rate = self.found()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stepleak._bounds import SET_UP, Bounds, IsOnce, parts_of
from stepleak._syntax import Guard, Module
from stepleak._user_code import UserCode

_MOST_LEVELS = 4
_MOST_CALLERS = 8


class Latches:
    """Tests under which what runs once never runs again. `is_once`: as Places has it."""

    def __init__(self, code: UserCode, bounds: Bounds, is_once: IsOnce) -> None:
        self._code = code
        self._bounds = bounds
        self._is_once = is_once

    def has(self, module: Module, node: ast.AST, depth: int = 0) -> bool:
        """Whether such a test lies on each way to a statement. False where that is not sure."""
        if any(self._is_latch(module, guard) for guard in module.guards(node)):
            return True
        function = module.function(node)
        is_first = function is None or self._code.is_entry(module, function)
        calls = [] if is_first or function is None else self._code.calls(function.name)
        if not 0 < len(calls) <= _MOST_CALLERS or depth == _MOST_LEVELS:
            return False
        return all(self.has(home, call, depth + 1) for home, call in calls)

    def _is_latch(self, module: Module, guard: Guard) -> bool:
        if guard.is_loop:
            return False
        parts = parts_of(guard)
        if any(self._bounds.holds_once(module, part, self._is_once) for part in parts):
            return True
        statement = module.statement(guard.test)
        if not isinstance(statement, ast.If):
            return False
        branch = statement.body if guard.holds else statement.orelse
        inside = {node for part in branch for node in ast.walk(part)}
        return any(self._is_shut_in(inside, *asked) for asked in map(_asked, parts) if asked is not None)

    def _is_shut_in(self, inside: set[ast.AST], attribute: str, wanted: object) -> bool:
        """Whether what a test guards gives the attribute another value than the one that the test wants, and nothing
        gives it that back once the set-up is over."""
        stores = [
            (home, node)
            for home, node in self._stores(attribute)
            if getattr(home.function(node), "name", "") not in SET_UP
        ]
        return bool(stores) and all(node in inside and _is_other(home, node, wanted) for home, node in stores)

    def _stores(self, attribute: str) -> Iterator[tuple[Module, ast.Attribute]]:
        modules, _ = self._code.mentioning(attribute)
        for module in modules:
            for node in module.nodes:
                if isinstance(node, ast.Attribute) and node.attr == attribute and not isinstance(node.ctx, ast.Load):
                    yield module, node


def _asked(part: Guard) -> tuple[str, object] | None:
    """The attribute that a test asks about, and the constant that lets a statement under it run."""
    test, holds = part.test, part.holds
    if isinstance(test, ast.Attribute):
        return test.attr, holds
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Attribute) or len(test.ops) != 1:
        return None
    value = test.comparators[0]
    is_for_none = isinstance(value, ast.Constant) and value.value is None
    is_wanted = isinstance(test.ops[0], (ast.Is, ast.Eq) if holds else (ast.IsNot, ast.NotEq))
    return (test.left.attr, None) if is_for_none and is_wanted else None


def _is_other(module: Module, target: ast.Attribute, wanted: object) -> bool:
    statement, field = module.parent(target)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or field not in ("targets", "target"):
        return False
    if isinstance(statement.value, ast.Constant):
        return (
            bool(statement.value.value) is not bool(wanted) if wanted is not None else statement.value.value is not None
        )
    # Whatever is computed there is not None.
    return wanted is None and statement.value is not None
