# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what a test guards ceases to run: some day, from a count on, after one time, or because a setting is off."""

from __future__ import annotations

import ast
import gc
import sys
from collections import deque
from collections.abc import Iterable
from typing import Any

from stepleak._assignments import SET_UP, assigned_beside, assigned_value, is_setting, named_value, stores
from stepleak._counters import Counters, IsOnce
from stepleak._guards import (
    is_access_of_object,
    is_emptied_beside,
    is_given_back,
    is_of_parts,
    may_cease,
    parts_of,
    sides_where,
)
from stepleak._objects import bound_of, container_kind, mro_of, name_of
from stepleak._parameter_tests import is_passed_so
from stepleak._reach import MOST_LEVELS
from stepleak._syntax import Guard, Module, called_name
from stepleak._user_code import UserCode
from stepleak._values import NOTHING, Values, named

_PLAIN = (bool, int, float, str, bytes, type(None))


class Endings:
    """Asks about tests of a program in which one container lives. `objects`: the chain that leads to it. `counters`:
    its own; by default of one whose length is not asked for."""

    def __init__(self, code: UserCode, objects: list[Any], counters: Counters | None = None) -> None:
        self._code = code
        self._values = Values(code, objects)
        self._counters = counters or Counters(code, objects)
        self._others = Counters(code, objects)
        """Whatever the length of the container is."""

    # --- some day -----------------------------------------------------------------------------------------------------

    def may_end(self, module: Module, guard: Guard, is_once: IsOnce) -> bool:
        """Whether what a test guards may cease to run, for all that is known."""
        return any(self._may_part_end(module, part, is_once) for part in parts_of(guard))

    def _may_part_end(self, module: Module, part: Guard, is_once: IsOnce, depth: int = 0) -> bool:
        """A variable of the function, and a function of the user's that returns one expression, stand for what they are
        worth: `if self.train():`, which ends with `return self.steps % 7 == 0`."""
        if not may_cease(part) or self.is_lasting(module, part, is_once) or self._is_toggled(module, part.test):
            return False
        home, value = named_value(self._code, module, part.test)
        if value is part.test or depth == MOST_LEVELS:
            return True
        inner = parts_of(Guard(value, part.holds, part.is_loop))
        return any(self._may_part_end(home, own, is_once, depth + 1) for own in inner)

    def _is_toggled(self, module: Module, test: ast.expr) -> bool:
        """Whether it is a flag that changes each time that a line comes by, and is set by nothing else once it is made:
        `self.is_turn = not self.is_turn`."""
        if not isinstance(test, (ast.Name, ast.Attribute)):
            return False
        is_any = False
        for home, node in stores(self._code, module, test):
            value = assigned_value(home, node)
            is_turned = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
            if is_turned and ast.unparse(value.operand) == ast.unparse(node):  # type: ignore[union-attr]
                is_any = True
                if home.guards(node):
                    return False
            elif getattr(home.function(node), "name", "") not in SET_UP or not isinstance(value, ast.Constant):
                return False
        return is_any

    def may_end_any(self, guards: Iterable[tuple[Module, Guard]], is_once: IsOnce) -> bool:
        """Whether one of several may, each with its module."""
        return any(self.may_end(module, guard, is_once) for module, guard in guards)

    def is_lasting(self, module: Module, guard: Guard, is_once: IsOnce) -> bool:
        """Whether a test that holds once holds again and again: what only grows, or what is full, is large enough.

        And a setting stays what it is, as do the type, the name and the shape of a model's parts.
        """
        if self.is_on(module, guard) or is_access_of_object(module, guard) or is_of_parts(module, guard):
            return True
        if is_passed_so(self._code, module, guard):
            return True
        test = guard.test
        if guard.holds and is_given_back(module, test):
            return True
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return False
        left, right, op = test.left, test.comparators[0], test.ops[0]
        if isinstance(op, ast.NotEq) == guard.holds and isinstance(op, (ast.Eq, ast.NotEq)):
            return any(self._is_news(module, guard, *sides, is_once) for sides in ((left, right), (right, left)))
        if isinstance(op, (ast.Eq, ast.NotEq)):
            full = [side for side in (left, right) if called_name(side) == "len"]
            return isinstance(op, ast.Eq) == guard.holds and any(is_emptied_beside(module, test, f) for f in full)
        sides = sides_where(guard)
        if sides is None:
            return False
        small, large = sides
        is_length = called_name(large) == "len" and not self._counters.never_repeats(module, small, is_once)
        grows = is_length or self._counters.never_repeats(module, large, is_once)
        return grows and self._values.value(module, small) is not NOTHING

    def _is_news(self, module: Module, guard: Guard, last: ast.expr, new: ast.expr, is_once: IsOnce) -> bool:
        """Whether a test tells what never comes back from the last one of it, which gets another value only where the
        test holds: `if self.last != index: self.last = index`."""
        is_new = self._others.never_repeats(module, new, is_once)
        if not isinstance(last, (ast.Name, ast.Attribute)) or not is_new:
            return False
        is_kept = False
        for home, node in stores(self._code, module, last):
            assigned, _ = home.parent(node)
            value = None if isinstance(assigned, ast.AugAssign) else getattr(assigned, "value", None)
            if any(under.test is guard.test and under.holds == guard.holds for under in home.guards(node)):
                is_kept = True
            elif not isinstance(value or assigned_beside(home, assigned, node), ast.Constant):
                return False
        return is_kept

    def ends(self, module: Module, guard: Guard, is_once: IsOnce) -> int | None:
        """The count from which on a test never holds again (`if self.taken < 300`); None where there is none."""
        sides = None if guard.is_loop else sides_where(guard)
        if sides is None:
            return None
        small, large = sides
        number = self._values.number(module, large)
        if isinstance(small, ast.Attribute):
            is_counted = self._counters.counts_attribute(small.attr, is_once, may_end=True)
        else:
            is_counted = isinstance(small, ast.Name) and self._counters.counts(module, small, is_once, 0, may_end=True)
        return number if is_counted and number > 0 else None

    def is_off(self, module: Module, guard: Guard) -> bool:
        """Whether a setting, which nothing changes once it is made, keeps a statement from running."""
        parts = parts_of(guard)
        if any(self._is_beyond_all(module, part) for part in parts):
            return True
        if guard.is_loop:
            return False  # what a `for` goes over is no test
        is_off = any(self._setting(module, part.test) not in (None, part.holds) for part in parts)
        return is_off or any(self._is_beyond_ring(module, part) for part in parts)

    def _is_beyond_all(self, module: Module, guard: Guard) -> bool:
        """Whether a statement runs only where something is larger than a setting that lets all through: `float("inf")`,
        or `sys.maxsize`, which Python has for it."""
        sides = sides_where(guard)
        if sides is None or not isinstance(sides[0], (ast.Name, ast.Attribute)):
            return False
        limit = self._values.value(module, sides[0]) if is_setting(self._code, module, sides[0]) else NOTHING
        return type(limit) in (int, float) and limit >= sys.maxsize

    def _is_beyond_ring(self, module: Module, guard: Guard) -> bool:
        """Whether a statement runs only where a deque that drops its oldest item by itself is longer than it can be:
        `recent = deque(maxlen=64)`, `if len(recent) > 64`."""
        test = guard.test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return False
        op = test.ops[0]
        if isinstance(op, ast.Eq if guard.holds else ast.NotEq):
            pairs, is_beyond = [(test.left, test.comparators[0]), (test.comparators[0], test.left)], False
        else:
            sides = sides_where(guard)
            pairs = [] if sides is None else [sides]
            # "More than n" is what `>` says where it holds, and what `<=` says where it does not.
            is_beyond = isinstance(op, (ast.Gt, ast.Lt)) is guard.holds
        return any(self._is_longer(module, long, number, is_beyond) for number, long in pairs)

    def _is_longer(self, module: Module, length: ast.expr, number: ast.expr, is_beyond: bool) -> bool:
        is_length = isinstance(length, ast.Call) and called_name(length) == "len" and len(length.args) == 1
        ring = length.args[0] if isinstance(length, ast.Call) and is_length else None
        if not isinstance(ring, (ast.Name, ast.Attribute)) or not is_setting(self._code, module, ring):
            return False
        is_named = isinstance(number, (ast.Name, ast.Attribute)) and is_setting(self._code, module, number)
        if not is_named and not isinstance(number, ast.Constant):
            return False
        held, least = self._values.value(module, ring), self._values.number(module, number)
        most = bound_of(held) if held is not NOTHING and container_kind(held) is deque else -1
        return most >= 0 and least + is_beyond > most

    def is_on(self, module: Module, guard: Guard) -> bool:
        """Whether a setting lets a statement run, each time."""
        return not guard.is_loop and self._setting(module, guard.test) is guard.holds

    def _setting(self, module: Module, test: ast.AST) -> bool | None:
        """What a test of a setting says, or of whether it is one of some constants; None of other tests. Of several one
        may say it alone: `capacity is None or len(kept) < capacity`."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            said = self._setting(module, test.operand)
            return None if said is None else not said
        if isinstance(test, ast.BoolOp):
            deciding = isinstance(test.op, ast.Or)
            parts = [self._setting(module, part) for part in test.values]
            return deciding if deciding in parts else None if None in parts else not deciding
        compared = test if isinstance(test, ast.Compare) and len(test.ops) == 1 else None
        asked = test if compared is None else compared.left
        if not isinstance(asked, (ast.Name, ast.Attribute)) or not is_setting(self._code, module, asked):
            return None
        value = self._values.value(module, asked)
        if compared is None:
            return bool(value) if value is None or type(value) is bool else None
        return None if value is NOTHING else _says(compared, value)

    # --- after one time -----------------------------------------------------------------------------------------------

    def holds_once(self, module: Module, guard: Guard, is_once: IsOnce) -> bool:
        """Whether it is a test for one value of what is only ever counted up: `count == 70`."""
        return self._awaited(module, guard, is_once) is not None

    def is_past(self, module: Module, guard: Guard, is_once: IsOnce) -> bool:
        """Whether it is such a test, and the count is beyond that value."""
        awaited = self._awaited(module, guard, is_once)
        count, number = (None, None) if awaited is None else (self._held(module, side, is_once) for side in awaited)
        return count is not None and number is not None and count > number

    def _held(self, module: Module, node: ast.expr, is_once: IsOnce) -> int | None:
        """What a literal, a module's variable, or an attribute of the one object of its class is now."""
        value: Any = NOTHING
        owner = module.class_of_self(node.value) if isinstance(node, ast.Attribute) else None
        if isinstance(node, ast.Constant):
            value = node.value
        elif isinstance(node, ast.Name) and module.resolve(node, node.id) is module.tree:
            value = named(module.namespace, node.id)
        elif isinstance(node, ast.Attribute) and owner is not None and is_once(module, owner):
            held = objects_of(owner.name)
            value = named(held[0], node.attr) if len(held) == 1 else NOTHING
        return value if type(value) is int else None

    def _awaited(self, module: Module, guard: Guard, is_once: IsOnce) -> tuple[ast.expr, ast.expr] | None:
        """The count, and the one value of it that lets a statement run; None of other tests."""
        test = guard.test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return None
        if not isinstance(test.ops[0], ast.Eq if guard.holds else ast.NotEq):
            return None

        def counts(node: ast.expr) -> bool:
            if isinstance(node, ast.Attribute):
                return self._counters.counts_attribute(node.attr, is_once)
            is_variable = isinstance(node, ast.Name) and not self._counters.is_length(module, node)
            return is_variable and self._counters.counts(module, node, is_once, 0)  # type: ignore[arg-type]

        def is_fixed(node: ast.expr) -> bool:
            is_name = isinstance(node, (ast.Name, ast.Attribute))
            return not is_name or is_setting(self._code, module, node)  # type: ignore[arg-type]

        sides = (test.left, test.comparators[0])
        for one, other in (sides, sides[::-1]):
            if counts(one) and is_fixed(other) and self._values.number(module, other) > 0:
                return one, other
        return None


def _says(test: ast.Compare, value: Any) -> bool | None:
    """What a comparison of a value with one constant or several says; None of others."""
    op, other = test.ops[0], test.comparators[0]
    if not isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
        return None
    is_of_several = isinstance(op, (ast.In, ast.NotIn))
    parts = getattr(other, "elts", [None]) if is_of_several else [other]
    constants = [part.value for part in parts if isinstance(part, ast.Constant)]
    if len(constants) < len(parts):
        return None
    if constants != [None] and type(value) not in _PLAIN:
        return None  # comparing may run code of the user's
    is_one = any(value is None if constant is None else value == constant for constant in constants)
    return is_one is isinstance(op, (ast.Is, ast.Eq, ast.In))


def objects_of(name: str) -> list[Any]:
    """All that are of a class of this name, or of one derived from it."""
    objects = gc.get_objects()
    kinds = {id(kind): kind for kind in map(type, objects)}
    known = {number for number, kind in kinds.items() if name in map(name_of, mro_of(kind))}
    return [item for item in objects if id(type(item)) in known]
