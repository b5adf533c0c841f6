# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a statement runs only in threads that have ended, and of which no other is begun: a consumer that died.

That a thread is begun once is read off the sources; that it has begun, and runs no more, is asked of the process.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import Any

from stepleak._endings import objects_of
from stepleak._frames import running_frames
from stepleak._latches import is_suspended
from stepleak._objects import all_class_names
from stepleak._reach import MOST_CALLERS, MOST_LEVELS
from stepleak._runs import Runs
from stepleak._syntax import FUNCTIONS, Function, Module, called_name, last_name
from stepleak._user_code import UserCode, place_in, place_of
from stepleak._values import named


class EndedThreads:
    """Asks about statements. `objects`: the chain that leads to the container."""

    def __init__(self, code: UserCode, objects: list[Any], runs: Runs) -> None:
        self._code = code
        self._objects = objects
        self._runs = runs

    def has(self, module: Module, node: ast.AST, depth: int = 0) -> bool:
        """Whether nothing but such threads leads to a statement. False where that is not sure."""
        function = module.function(node)
        if function is None or depth == MOST_LEVELS or isinstance(module.scope(node), ast.Lambda):
            return False
        # What is suspended stands on no thread's stack, and goes on.
        if is_suspended(function) or function.decorator_list or self._is_running(module, function):
            return False
        calls = [(m, c) for m, c in self._code.calls(function.name) if m.function(c) is not function]
        if len(calls) > MOST_CALLERS or not all(self.has(home, call, depth + 1) for home, call in calls):
            return False
        owner = module.class_of_method(function)
        if owner is not None and function.name == "run" and "Thread" in map(last_name, owner.bases):
            return self._have_ended(module, owner)
        is_declared = owner is not None and self._code.is_declared_by_library(owner, function.name)
        begun = list(self._others_naming(function))
        if function.name.startswith("__") or is_declared or not (calls or begun):
            return False
        return all(call is not None and self._was_begun(home, call) for home, call in begun)

    def _is_running(self, module: Module, function: Function | ast.Module) -> bool:
        place = place_in(module, function)
        return any(place_of(frame.f_code) == place for frame in running_frames())

    def _others_naming(self, function: Function) -> Iterator[tuple[Module, ast.Call | None]]:
        """Where a function is named without being called: the call that begins a thread with it, or None."""
        for module in self._code.mentioning(function.name)[0]:
            for node in module.named.get(function.name, ()):
                outer, field = module.parent(node)
                if not isinstance(node.ctx, ast.Load) or (isinstance(outer, ast.Call) and field == "func"):
                    continue
                call = module.parent(outer)[0] if isinstance(outer, ast.keyword) and outer.arg == "target" else None
                yield module, call if isinstance(call, ast.Call) and called_name(call) == "Thread" else None

    def _was_begun(self, module: Module, made: ast.Call) -> bool:
        """Whether a thread that is made there is begun at once, that has happened, and does not happen again."""
        begins = next(self._beginnings(module, made), None)
        if begins is None or any(module.guards(part) or module.loops(part) for part in (made, begins)):
            return False
        scope = module.scope(made)
        if scope is module.tree:
            return bool(module.namespace) and not self._is_to_come(module, module.tree, begins)
        if not isinstance(scope, FUNCTIONS):
            return False
        owner = module.class_of_method(scope)
        if owner is not None and scope.name == "__init__":
            is_made = any(owner.name in all_class_names(item) for item in self._objects)
            return is_made and self._runs.is_once(module, owner) and not self._is_running(module, scope)
        is_once = self._runs.how_often(module, scope) == "once"
        return is_once and self._is_running(module, scope) and not self._is_to_come(module, scope, begins)

    def _beginnings(self, module: Module, made: ast.Call) -> Iterator[ast.AST]:
        """`Thread(...).start()`, or `thread.start()` below, in the same function."""
        method, _ = module.parent(made)
        if isinstance(method, ast.Attribute) and method.attr == "start":
            yield made
        statement = module.statement(made)
        targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is made else []
        names = {ast.unparse(target) for target in targets}
        for call in module.calls.get("start", ()):
            is_its = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in names
            if is_its and call.lineno > made.lineno and module.scope(call) is module.scope(made):
                yield call

    def _is_to_come(self, module: Module, scope: Function | ast.Module, node: ast.AST) -> bool:
        """Whether a call that runs now stands before a line of its function, or in it."""
        place, line = place_in(module, scope), module.statement(node).end_lineno  # type: ignore[attr-defined]
        return any(place_of(frame.f_code) == place and frame.f_lineno <= line for frame in running_frames())

    def _have_ended(self, module: Module, owner: ast.ClassDef) -> bool:
        """Whether all threads of a class have, and no others are made."""
        threads = objects_of(owner.name)
        numbers = [named(thread, "_ident") for thread in threads]
        alive = sys._current_frames()
        have_ended = all(type(number) is int and number not in alive for number in numbers)
        return bool(threads) and have_ended and self._runs.is_once(module, owner)
