# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which expressions in the user's sources never have a value again: what is only counted up, clocks, random names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import Any

from stepleak._assignments import is_only_assigned, is_setting, is_stored, stored_values, stores
from stepleak._handed import handed
from stepleak._objects import all_class_names
from stepleak._syntax import LOOPS, Module, argument_of, called_name, is_parameter, last_name, parameters
from stepleak._user_code import UserCode

_MOST_DEPTH = 6
_CLOCKS = frozenset(
    {"time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "now", "utcnow"}
)
_UNIQUE = frozenset({"uuid1", "uuid4", "token_hex", "token_bytes", "token_urlsafe"})
_FRESH = _CLOCKS | _UNIQUE | {"object", "create_task"}
_KEEPING = frozenset({"str", "repr", "int", "tuple", "hash"})

IsOnce = Callable[[Module, ast.AST], bool]
"""Whether an assignment makes its variable, and is not done again while that is in use; of a loop or a call, whether it
is run once; of a class, whether its objects are made once."""


class Counters:
    """What never repeats while one container lives. `objects`: the chain that leads to it. `is_length`: whether an
    expression is made of its length; none is where there is no container. `lengths`: those that are no more and no less
    than it."""

    def __init__(
        self,
        code: UserCode,
        objects: list[Any],
        is_length: Callable[[Module, ast.AST], bool] = lambda *_: False,
        lengths: Collection[ast.AST] = (),
    ) -> None:
        self._code = code
        self._objects = objects
        self.is_length = is_length
        self._lengths = lengths

    def never_repeats(self, module: Module, key: ast.AST | None, is_once: IsOnce, depth: int = 0) -> bool:
        """Whether an expression surely has ever new values: another one each time, or each so many times."""
        if key is None or depth > _MOST_DEPTH:
            return False

        def fresh(node: ast.AST | None) -> bool:
            return self.never_repeats(module, node, is_once, depth + 1)

        if key in self._lengths:
            return True
        if isinstance(key, ast.Call):
            name = called_name(key)
            if name == "next" and key.args:
                return self._is_count(key.args[0], is_once)
            return (name in _FRESH) or (name in _KEEPING and len(key.args) == 1 and fresh(key.args[0]))
        if isinstance(key, ast.JoinedStr):
            return any(isinstance(part, ast.FormattedValue) and fresh(part.value) for part in key.values)
        if isinstance(key, ast.Tuple):
            return any(fresh(part) for part in key.elts)
        if isinstance(key, ast.BinOp) and isinstance(key.op, (ast.Add, ast.Sub)):
            # What is taken from something falls, and what is left over comes to an end.
            is_sum = isinstance(key.op, ast.Add) and fresh(key.right) and self._stays(module, key.left, is_once)
            is_moved = isinstance(key.right, ast.JoinedStr) or self._stays(module, key.right, is_once)
            return is_sum or (is_moved and fresh(key.left))
        if isinstance(key, ast.BinOp) and isinstance(key.op, ast.FloorDiv):
            # Of the length's parts one is filled again before the length goes on, which then it does not.
            others = Counters(self._code, self._objects)
            return self._stays(module, key.right, is_once) and others.never_repeats(
                module, key.left, is_once, depth + 1
            )
        if isinstance(key, ast.Subscript) and isinstance(key.slice, ast.Slice):
            return _is_unique(key.value)  # by chance two of some millions share their first digits
        if isinstance(key, ast.Attribute):
            if _is_unique(key) or self.counts_attribute(key.attr, is_once):
                return True
            return fresh(handed(self._code, module, key))
        return isinstance(key, ast.Name) and self.counts(module, key, is_once, depth)

    def _stays(self, module: Module, node: ast.AST, is_once: IsOnce) -> bool:
        """Whether an expression has one value as long as the container lives: a literal, or a setting."""
        if isinstance(node, ast.Constant):
            return True
        if not isinstance(node, (ast.Name, ast.Attribute)) or not is_setting(self._code, module, node):
            return False
        if isinstance(node, ast.Name):
            return module.resolve(node, node.id) is module.tree
        stored = stores(self._code, module, node)
        return bool(stored) and all(self._are_owners_lasting(m, n, is_once) for m, n in stored)

    def _is_count(self, node: ast.AST, is_once: IsOnce) -> bool:
        name = last_name(node)
        modules = self._code.mentioning(name)[0] if name else []
        stored = [v for m in modules for v in stored_values(m, name)]
        is_one = all(self._are_owners_lasting(m, n, is_once) for m in modules for n in m.nodes if is_stored(n, name))
        return bool(stored) and all(called_name(v) == "count" for v in stored) and is_one

    def counts_attribute(self, name: str, is_once: IsOnce, may_end: bool = False) -> bool:
        """Whether an attribute of this name is only ever counted up, everywhere; `may_end`: also up to some number, or
        in each of several objects."""
        counted = False
        for module in self._code.mentioning(name)[0]:
            for node in module.nodes:
                if not is_stored(node, name):
                    continue
                statement = module.statement(node)
                if not may_end and (
                    _is_capped(module, statement, node) or not self._are_owners_lasting(module, node, is_once)
                ):
                    return False
                if isinstance(statement, ast.AugAssign) and statement.target is node:
                    if not _is_step_up(statement.op, statement.value):
                        return False
                    counted = True
                elif _is_counted_up(statement, node):
                    counted = True
                elif not is_once(module, node):
                    return False
        return counted

    def _are_owners_lasting(self, module: Module, attribute: ast.Attribute, is_once: IsOnce) -> bool:
        """Whether no other object takes the place of the one whose attribute it is while the container lives.

        A loader that each epoch makes anew begins to count again.
        """
        owner = module.class_of_self(attribute.value)
        if owner is None or any(owner.name in all_class_names(held) for held in self._objects):
            return True
        return is_once(module, owner)

    def counts(self, module: Module, key: ast.Name, is_once: IsOnce, depth: int, may_end: bool = False) -> bool:
        """Whether a variable is only ever counted up, or has what never repeats; `may_end`: also up to some number."""
        scope = module.resolve(key, key.id)
        if is_parameter(scope, key.id):
            return self._is_passed_fresh(module, scope, key.id, is_once, depth)
        counted = False
        for node in module.nodes:
            if not isinstance(node, ast.Name) or node.id != key.id or isinstance(node.ctx, ast.Load):
                continue
            if module.resolve(node, key.id) is not scope:
                continue
            statement = module.statement(node)
            if not may_end and _is_capped(module, statement, node):
                return False
            if isinstance(statement, ast.AugAssign):
                if not _is_step_up(statement.op, statement.value):
                    return False
                counted = True
            elif _is_counted_up(statement, node):
                counted = True
            elif isinstance(statement, LOOPS) and not isinstance(statement, ast.While):
                if not _is_counting_loop(statement, node) or not is_once(module, statement):
                    return False
                counted = True
            elif isinstance(statement, ast.Assign) and is_only_assigned(module, scope, key.id):
                if isinstance(statement.value, ast.Constant):
                    if not is_once(module, node):
                        return False
                elif (may_end and self.is_length(module, statement.value)) or self.never_repeats(
                    module, statement.value, is_once, depth + 1
                ):
                    counted = True
                else:
                    return False
            else:
                return False
        return counted

    def _is_passed_fresh(self, module: Module, function: ast.AST, name: str, is_once: IsOnce, depth: int) -> bool:
        calls = self._code.calls(getattr(function, "name", "")) if getattr(function, "name", "") else []
        is_bound = module.class_of_method(function) is not None
        if not calls and self._code.is_step(module, function):
            # What a step is handed is its number, and nothing else.
            return parameters(function)[is_bound:][:1] == [name]
        passed = [(home, argument_of(call, function, name, is_bound)) for home, call in calls]
        return len(passed) == 1 and all(self.never_repeats(m, p, is_once, depth + 1) for m, p in passed)


def _is_unique(node: ast.AST) -> bool:
    """Whether it is a text of random digits: `uuid4().hex`, `str(uuid4())`, `token_hex(8)`."""
    if isinstance(node, ast.Attribute):
        node = node.value
    if isinstance(node, ast.Call) and called_name(node) in _KEEPING and len(node.args) == 1:
        node = node.args[0]
    return isinstance(node, ast.Call) and called_name(node) in _UNIQUE


def _is_step_up(op: ast.operator, value: ast.expr) -> bool:
    is_whole = isinstance(value, ast.Constant) and type(value.value) is int
    return isinstance(op, ast.Add) and is_whole and value.value > 0  # type: ignore[attr-defined]


def _is_capped(module: Module, statement: ast.AST, target: ast.Name | ast.Attribute) -> bool:
    """Whether a count goes on only under a test of itself: `if self.length < 48: self.length += 1`."""
    name = ast.unparse(target)
    tests = (guard.test for guard in module.guards(statement))
    return any(isinstance(n, ast.expr) and ast.unparse(n) == name for test in tests for n in ast.walk(test))


def _is_counted_up(statement: ast.AST, target: ast.Name | ast.Attribute) -> bool:
    """Whether it says `n = n + 1`."""
    if not isinstance(statement, ast.Assign) or statement.targets != [target]:
        return False
    value = statement.value
    return (
        isinstance(value, ast.BinOp)
        and ast.unparse(value.left) == ast.unparse(target)
        and _is_step_up(value.op, value.right)
    )


def _is_counting_loop(loop: ast.AST, target: ast.Name) -> bool:
    if not isinstance(loop, (ast.For, ast.AsyncFor)) or not isinstance(loop.iter, ast.Call):
        return False
    name = called_name(loop.iter)
    if name in ("range", "count"):
        return loop.target is target
    return name == "enumerate" and isinstance(loop.target, ast.Tuple) and loop.target.elts[0] is target
