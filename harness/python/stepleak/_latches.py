# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a statement runs once and no more: `if count == 70`, or `if self.rate is None: self.rate = self.found()`.

And whether it runs no more already, or never does: the count is past 70, or only a function that nobody makes has it.
"""

from __future__ import annotations

import ast
import itertools

from stepleak._assignments import SET_UP, stores
from stepleak._endings import Endings
from stepleak._guards import parts_of
from stepleak._reach import MOST_CALLERS, MOST_LEVELS
from stepleak._runs import Runs
from stepleak._syntax import FUNCTIONS, Function, Guard, Module, is_generator
from stepleak._use import Use
from stepleak._user_code import UserCode

_OF_RUNNERS = ("__", "main", "setup", "test", "pytest_")
"""Beginnings of names that Python, a test runner or a command line calls."""


class Latches:
    """Tests under which what runs once never runs again, and functions that never run."""

    def __init__(self, code: UserCode, endings: Endings, runs: Runs) -> None:
        self._code = code
        self._endings = endings
        self._runs = runs

    def has(self, module: Module, node: ast.AST, depth: int = 0) -> bool:
        """Whether such a test lies on each way to a statement. False where that is not sure."""
        if any(self._is_latch(module, guard) for guard in module.guards(node)):
            return True
        function = module.function(node)
        is_first = function is None or self._code.is_entry(module, function)
        calls = [] if is_first or function is None else self._code.calls(function.name)
        if not 0 < len(calls) <= MOST_CALLERS or depth == MOST_LEVELS:
            return False
        return all(self.has(home, call, depth + 1) for home, call in calls)

    def is_shut(self, module: Module, node: ast.AST, depth: int = 0) -> bool:
        """Whether no way leads to a statement any more. False where that is not sure."""
        function = module.function(node)
        # What waits behind a test goes on though it holds no more: a coroutine, and a loop that has begun.
        if function is not None and is_suspended(function):
            return False
        guards = itertools.takewhile(lambda guard: not guard.is_loop, module.guards(node))
        parts = [part for guard in guards for part in parts_of(guard)]
        if any(self._endings.is_past(module, part, self._runs.is_once) for part in parts):
            return True
        is_deferred = isinstance(module.scope(node), ast.Lambda)
        if function is None or is_deferred or depth == MOST_LEVELS or self._code.is_entry(module, function):
            return False
        maker = module.function(function)
        if maker is not None and self._never_runs(module, maker):
            return True
        calls = [] if self._is_called_by_others(module, function) else self._code.calls(function.name)
        return 0 < len(calls) <= MOST_CALLERS and all(
            self._runs.is_uncalled(home, call) or self.is_shut(home, call, depth + 1) for home, call in calls
        )

    def _never_runs(self, module: Module, function: Function, depth: int = 0) -> bool:
        """Whether a function has not run and will not, so that what it would make is nowhere: set-up has run."""
        parts = [part for part in ast.walk(function) if isinstance(part, FUNCTIONS)]
        if depth == MOST_LEVELS or any(self._code.is_entry(module, part) for part in parts):
            return False
        if self._is_called_by_others(module, function) or self._runs.is_at_end(module, function):
            return False
        callers = [(home, home.function(call)) for home, call in self._code.calls(function.name)]
        return all(
            caller is function or (caller is not None and self._never_runs(home, caller, depth + 1))
            for home, caller in callers
        )

    def _is_called_by_others(self, module: Module, function: Function) -> bool:
        """Whether anybody may call it but those who call it by its name."""
        name, owner = function.name, module.class_of_method(function)
        is_implicit = name.startswith(_OF_RUNNERS) or name in SET_UP
        is_declared = owner is not None and self._code.is_declared_by_library(owner, name)
        return is_implicit or is_declared or bool(function.decorator_list) or self._runs.is_passed_on(name)

    def _is_latch(self, module: Module, guard: Guard) -> bool:
        if guard.is_loop:
            return False
        parts = parts_of(guard)
        if any(self._endings.holds_once(module, part, self._runs.is_once) for part in parts):
            return True
        statement = module.statement(guard.test)
        if not isinstance(statement, ast.If):
            return False
        branch = statement.body if guard.holds else statement.orelse
        inside = {node for part in branch for node in ast.walk(part)}
        return any(self._is_shut_in(module, inside, *asked) for asked in map(_asked, parts) if asked is not None)

    def _is_shut_in(self, module: Module, inside: set[ast.AST], attribute: ast.Attribute, wanted: object) -> bool:
        """Whether what a test guards gives the attribute another value than the one that the test wants, and nothing
        gives it that back once the set-up is over."""
        given = [
            (home, node)
            for home, node in stores(self._code, module, attribute)
            if getattr(home.function(node), "name", "") not in SET_UP
        ]
        return bool(given) and all(node in inside and _is_other(home, node, wanted) for home, node in given)


def is_idle(use: Use, runs: Runs, endings: Endings) -> bool:
    """Whether no step does it: a setting keeps it from running, or nothing calls it."""
    is_off = any(endings.is_off(module, guard) for module, guard in runs.guards(use))
    return is_off or runs.is_uncalled(use.module, use.node)


def is_suspended(function: Function) -> bool:
    """Whether it may wait in the middle while others run."""
    return is_generator(function) or isinstance(function, ast.AsyncFunctionDef)


def _asked(part: Guard) -> tuple[ast.Attribute, object] | None:
    """The attribute that a test asks about, and the constant that lets a statement under it run."""
    test, holds = part.test, part.holds
    if isinstance(test, ast.Attribute):
        return test, holds
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Attribute) or len(test.ops) != 1:
        return None
    value = test.comparators[0]
    is_for_none = isinstance(value, ast.Constant) and value.value is None
    is_wanted = isinstance(test.ops[0], (ast.Is, ast.Eq) if holds else (ast.IsNot, ast.NotEq))
    return (test.left, None) if is_for_none and is_wanted else None


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
