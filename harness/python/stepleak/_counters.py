# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which expressions in the user's sources never have a value again: what is only counted up, clocks, random names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import Any

from stepleak._assignments import (
    assigned_value,
    is_setting,
    is_stored,
    stored_values,
    stores,
    variable_stores,
)
from stepleak._counting import comes_back_counted, is_capped, is_counted_up, keys_looped_over, returned_by, yielded_to
from stepleak._handed import given_before, handed, made_before
from stepleak._objects import all_class_names, full_type_name
from stepleak._syntax import FUNCTIONS, LOOPS, Module, argument_of, called_name, is_parameter, last_name, parameters
from stepleak._user_code import UserCode
from stepleak._values import named

_MOST_DEPTH = 6
_CLOCKS = frozenset(
    {"time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "now", "utcnow"}
)
_UNIQUE = frozenset({"uuid1", "uuid4", "token_hex", "token_bytes", "token_urlsafe"})
_FRESH = _CLOCKS | _UNIQUE | {"object", "create_task"}
_SCHEDULED = frozenset({"lr", "momentum", "betas", "weight_decay"})
"""Items of an optimizer's groups that torch's schedulers, or the user's by the same habit, change."""
_SEGMENT = "SharedMemory"
_NAMING = frozenset({_SEGMENT, "NamedTemporaryFile", "TemporaryDirectory"})
"""What gives its objects random names where it is given none."""
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
            if name in _FRESH or (name in _KEEPING and len(key.args) == 1 and fresh(key.args[0])):
                return True
            home, returned = returned_by(self._code, module, key)
            return self.never_repeats(home, returned, is_once, depth + 1)
        if isinstance(key, ast.JoinedStr):
            return any(isinstance(part, ast.FormattedValue) and fresh(part.value) for part in key.values)
        if isinstance(key, ast.Tuple):
            return any(fresh(part) for part in key.elts)
        if isinstance(key, ast.BinOp) and isinstance(key.op, (ast.Add, ast.Sub)):
            # What is taken from something falls, and what is left over comes to an end.
            is_sum = isinstance(key.op, ast.Add) and fresh(key.right) and self.stays(module, key.left, is_once)
            is_moved = isinstance(key.right, ast.JoinedStr) or self.stays(module, key.right, is_once)
            return is_sum or (is_moved and fresh(key.left))
        if isinstance(key, ast.BinOp) and isinstance(key.op, ast.FloorDiv):
            # Of the length's parts one is filled again before the length goes on, which then it does not.
            others = Counters(self._code, self._objects)
            return self.stays(module, key.right, is_once) and others.never_repeats(module, key.left, is_once, depth + 1)
        if isinstance(key, ast.Subscript) and isinstance(key.slice, ast.Slice):
            return _is_unique(key.value)  # by chance two of some millions share their first digits
        if isinstance(key, ast.Attribute):
            if _is_unique(key) or _is_of_unique(self._code, module, key) or self.counts_attribute(key.attr, is_once):
                return True
            return fresh(handed(self._code, module, key)) or fresh(given_before(module, key))
        return isinstance(key, ast.Name) and self.counts(module, key, is_once, depth)

    def stays(self, module: Module, node: ast.AST, is_once: IsOnce) -> bool:
        """Whether an expression has one value as long as the container lives: a literal, or a setting."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Subscript):
            return self._is_setting_by_name(node)
        if not isinstance(node, (ast.Name, ast.Attribute)) or not is_setting(self._code, module, node):
            return False
        if isinstance(node, ast.Name):
            return module.resolve(node, node.id) is module.tree
        stored = stores(self._code, module, node)
        if not stored:
            return self._is_of_command_line(module, node.value)
        return all(self._are_owners_lasting(m, n, is_once) for m, n in stored)

    def _is_of_command_line(self, module: Module, owner: ast.expr) -> bool:
        """Whether it is what `argparse` made of the arguments, wherever that has a name now."""
        if not isinstance(owner, ast.Name):
            return False
        scope = module.resolve(owner, owner.id)
        if scope is module.tree:
            held = [named(module.namespace, owner.id)]
        else:
            held = self._code.running_values(module, scope, owner.id) if isinstance(scope, FUNCTIONS) else []
        return bool(held) and all(full_type_name(each) == "argparse.Namespace" for each in held)

    def _is_setting_by_name(self, item: ast.Subscript) -> bool:
        """Whether it is an item by a name, `group["renew"]`, and no item of that name is ever given another value."""
        name = item.slice.value if isinstance(item.slice, ast.Constant) else None
        if not isinstance(name, str) or name in _SCHEDULED:
            return False
        modules, is_whole = self._code.mentioning(name)
        items = (
            n for m in modules for n in m.nodes if isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load)
        )
        return is_whole and not any(isinstance(n.slice, ast.Constant) and n.slice.value == name for n in items)

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
                    is_capped(module, statement, node) or not self._are_owners_lasting(module, node, is_once)
                ):
                    return False
                if is_counted_up(statement, node):
                    counted = True
                elif isinstance(statement, ast.AugAssign) or not is_once(module, node):
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
        counted = has_loop = False
        assigned = 0
        for node in variable_stores(module, scope, key.id):
            statement = module.statement(node)
            if not may_end and is_capped(module, statement, node):
                return False
            if is_counted_up(statement, node) or comes_back_counted(self._code, module, node):
                counted = True
            elif isinstance(statement, LOOPS) and not isinstance(statement, ast.While):
                if not (_is_counting_loop(statement, node) and is_once(module, statement)) and not self._loops_afresh(
                    module, statement, node, is_once, depth
                ):
                    return False
                counted = has_loop = True
            elif (value := assigned_value(module, node)) is not None:
                assigned += 1
                if isinstance(value, ast.Constant):
                    if not is_once(module, node):
                        return False
                elif (may_end and self.is_length(module, value)) or self.never_repeats(
                    module, value, is_once, depth + 1
                ):
                    counted = True
                else:
                    return False
            else:
                return False
        return counted and assigned + has_loop <= 1

    def _loops_afresh(self, module: Module, loop: ast.AST, target: ast.Name, is_once: IsOnce, depth: int) -> bool:
        """Whether a loop's variable has what never repeats: what a generator of the user's counts, or the keys of a
        dictionary that is filled by nothing else."""
        if not isinstance(loop, (ast.For, ast.AsyncFor)) or depth > _MOST_DEPTH:
            return False
        home, values = yielded_to(self._code, module, loop, target)
        if values:
            return is_once(module, loop) and all(self.never_repeats(home, v, is_once, depth + 1) for v in values)
        keys = keys_looped_over(module, loop, target)
        return bool(keys) and all(self.never_repeats(module, key, is_once, depth + 1) for key in keys)

    def _is_passed_fresh(self, module: Module, function: ast.AST, name: str, is_once: IsOnce, depth: int) -> bool:
        calls = self._code.calls(getattr(function, "name", "")) if getattr(function, "name", "") else []
        is_bound = module.class_of_method(function) is not None
        is_changed = bool(variable_stores(module, function, name))
        if not calls and self._code.is_step(module, function):
            # What a step is handed is its number, and nothing else.
            return parameters(function)[is_bound:][:1] == [name] and not is_changed
        passed = [(home, call, argument_of(call, function, name, is_bound)) for home, call in calls]
        if not passed or not all(self.never_repeats(home, value, is_once, depth + 1) for home, _, value in passed):
            return False
        home, call, value = passed[0]
        if not is_changed:
            # Two loops, one after the other, may count alike.
            return all(m is home and m.loops(c) == home.loops(call) for m, c, _ in passed)
        # It goes on from there at the next call only where the caller has taken it back.
        return (
            len(passed) == 1
            and isinstance(value, ast.Name)
            and any(
                comes_back_counted(self._code, home, node, call)
                for node in variable_stores(home, home.resolve(value, value.id), value.id)
            )
        )


def _is_unique(node: ast.AST) -> bool:
    """Whether it is a text of random digits: `uuid4().hex`, `str(uuid4())`, `token_hex(8)`."""
    if isinstance(node, ast.Attribute):
        node = node.value
    if isinstance(node, ast.Call) and called_name(node) in _KEEPING and len(node.args) == 1:
        node = node.args[0]
    return isinstance(node, ast.Call) and called_name(node) in _UNIQUE


def _is_of_unique(code: UserCode, module: Module, key: ast.Attribute) -> bool:
    """Whether it is the name of a segment or a file that the same function has made for it, and given none:
    `SharedMemory(create=True)`, `NamedTemporaryFile()`."""
    made = made_before(module, key) if key.attr == "name" else None
    kind = "" if made is None else called_name(made)
    if made is None or kind not in _NAMING or code.classes(kind):
        return False
    return kind != _SEGMENT or not (made.args or any(keyword.arg in (None, "name") for keyword in made.keywords))


def _is_counting_loop(loop: ast.AST, target: ast.Name) -> bool:
    if not isinstance(loop, (ast.For, ast.AsyncFor)) or not isinstance(loop.iter, ast.Call):
        return False
    name = called_name(loop.iter)
    if name in ("range", "count"):
        return loop.target is target
    return name == "enumerate" and isinstance(loop.target, ast.Tuple) and loop.target.elts[0] is target
