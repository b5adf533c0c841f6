# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what a test guards may come to an end for good: a flag is set, an epoch is over, a time is up, all was seen.

`if not self.full: self.rows.append(row)`, and elsewhere `self.full = True`. Which step does so need not be known: it is
waited for. Any other test says too little: what is large, or drawn, comes again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TypeGuard

from stepleak._assignments import SET_UP, assigned_value, stores
from stepleak._counters import Counters
from stepleak._endings import Endings
from stepleak._guards import parts_of, sides_where
from stepleak._runs import Runs
from stepleak._syntax import Guard, Module, called_name, last_name
from stepleak._use import Use
from stepleak._user_code import UserCode

_CLOCKS = frozenset({"time", "monotonic", "perf_counter", "process_time"})

Shuts = Callable[[ast.expr | None], bool]


class Flags:
    def __init__(self, code: UserCode, counters: Counters, endings: Endings, runs: Runs) -> None:
        self._code = code
        self._counters = counters
        self._endings = endings
        self._runs = runs

    def may_be_shut(self, module: Module, guard: Guard) -> bool:
        return not guard.is_loop and any(self._is_part_to_be_shut(module, part) for part in parts_of(guard))

    def _is_part_to_be_shut(self, module: Module, part: Guard) -> bool:
        return (
            self._is_to_be_set(module, part)
            or self._is_passed_by_count(module, part)
            or self._is_of_seen(module, part)
            or self._is_event_to_be_set(part)
            or any(called_name(node) in _CLOCKS for node in ast.walk(part.test))
        )

    def _is_to_be_set(self, module: Module, part: Guard) -> bool:
        """Whether it asks for a flag or a mode that a line gives another value for good, where a step may still reach
        that; also by a count that only grows: `self.full = self.seen > 300`."""
        flag, shuts = _flag_of(part)
        if flag is None:
            return False
        given = [(home, node) for home, node in self._given(module, flag) if not self._is_made(home, node)]
        return all(self._is_shutting(home, assigned_value(home, node), part, shuts) for home, node in given) and any(
            self._runs.is_to_come(home, node) for home, node in given
        )

    def _given(self, module: Module, flag: ast.expr) -> Iterator[tuple[Module, ast.Name | ast.Attribute]]:
        if isinstance(flag, (ast.Name, ast.Attribute)):
            yield from stores(self._code, module, flag)
            return
        if not isinstance(flag, ast.Subscript):
            return
        name, key = last_name(flag.value), ast.unparse(flag.slice)
        for home in self._code.mentioning(name)[0]:
            for node in home.nodes:
                is_stored = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
                if is_stored and (last_name(node.value), ast.unparse(node.slice)) == (name, key):  # type: ignore[attr-defined]
                    yield home, node  # type: ignore[misc]

    def _is_made(self, module: Module, node: ast.AST) -> bool:
        is_of_set_up = getattr(module.function(node), "name", "") in SET_UP
        return is_of_set_up or self._runs.is_set_up(Use("assign", module, node))  # type: ignore[arg-type]

    def _is_shutting(self, module: Module, value: ast.expr | None, part: Guard, shuts: Shuts) -> bool:
        """Whether a value of the flag that is asked keeps from running what runs under the test, or will for good."""
        if not isinstance(value, ast.Compare) or isinstance(part.test, ast.Compare):
            return shuts(value)
        return self._endings.is_lasting(module, Guard(value, not part.holds, False), self._runs.is_once)

    def _is_passed_by_count(self, module: Module, part: Guard) -> bool:
        """Whether it holds for a number that is only ever counted up and that is to pass it: `if epoch == 0`."""
        test = part.test
        if isinstance(test, (ast.Name, ast.Attribute)):
            return not part.holds and self._is_count(module, test)
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return False
        sides = [test.left, test.comparators[0]]
        if isinstance(test.ops[0], ast.Eq if part.holds else ast.NotEq):
            count = next((side for side in sides if not isinstance(side, ast.Constant)), None)
        else:
            small, large = sides_where(part) or (None, None)
            count = small if isinstance(large, ast.Constant) else None
            sides = [] if count is None else sides
        is_by_constant = any(isinstance(side, ast.Constant) for side in sides)
        return is_by_constant and count is not None and self._is_count(module, count)

    def _is_count(self, module: Module, node: ast.expr) -> bool:
        return self._counters.never_repeats(module, node, self._runs.is_once)

    def _is_of_seen(self, module: Module, part: Guard) -> bool:
        """Whether it asks for what was not seen before, of which there need not be ever more: `if sample not in
        self.seen`, where the same function notes it."""
        test, function = part.test, module.function(part.test)
        if not isinstance(test, ast.Compare) or len(test.ops) != 1 or function is None:
            return False
        key, seen = ast.unparse(test.left), ast.unparse(test.comparators[0])
        if not isinstance(test.ops[0], ast.NotIn if part.holds else ast.In) or self._is_count(module, test.left):
            return False
        return any(_notes(node, key, seen) for node in ast.walk(function))

    def _is_event_to_be_set(self, part: Guard) -> bool:
        """Whether it asks for a `threading.Event` that is set for good: `if not stop.is_set()`."""
        event = part.test.func if isinstance(part.test, ast.Call) and called_name(part.test) == "is_set" else None
        if part.holds or not isinstance(event, ast.Attribute):
            return False
        name = last_name(event.value)
        setting, clearing = (
            [
                (home, call)
                for home, call in self._code.calls(called)
                if isinstance(call.func, ast.Attribute) and last_name(call.func.value) == name
            ]
            for called in ("set", "clear")
        )
        return not clearing and any(self._runs.is_to_come(home, call) for home, call in setting)


def _notes(node: ast.AST, key: str, seen: str) -> bool:
    """Whether it puts a key into what tells which were seen."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store) and (ast.unparse(node.value), ast.unparse(node.slice)) == (seen, key)
    is_put = (
        isinstance(node, ast.Call) and called_name(node) in ("add", "append") and isinstance(node.func, ast.Attribute)
    )
    return is_put and ast.unparse(node.func.value) == seen and [ast.unparse(arg) for arg in node.args] == [key]  # type: ignore[attr-defined]


def _flag_of(part: Guard) -> tuple[ast.expr | None, Shuts]:
    """What a test asks about, and whether a value of it keeps from running what runs under the test; None where it asks
    for more than a flag, or whether something is one constant."""
    test, holds = part.test, part.holds
    if _is_flag(test):
        return test, lambda value: isinstance(value, ast.Constant) and bool(value.value) is not holds
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not _is_flag(test.left):
        return None, lambda _: False
    asked, is_equal = test.comparators[0], isinstance(test.ops[0], (ast.Eq, ast.Is)) == holds
    if not isinstance(test.ops[0], (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)) or not _is_constant(asked):
        return None, lambda _: False
    if is_equal and isinstance(asked, ast.Constant) and asked.value is None:
        return test.left, lambda value: not (isinstance(value, ast.Constant) and value.value is None)
    return test.left, lambda value: _is_constant(value) and (ast.unparse(value) == ast.unparse(asked)) is not is_equal


def _is_flag(node: ast.AST) -> TypeGuard[ast.expr]:
    is_item = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    return is_item or isinstance(node, (ast.Name, ast.Attribute))


def _is_constant(value: ast.expr | None) -> TypeGuard[ast.expr]:
    """Whether it is one, or a member of an enumeration: `Mode.COLLECT`."""
    is_member = isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id[:1].isupper()
    return isinstance(value, ast.Constant) or is_member
