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

from stepleak._assignments import assigned_value, is_constant, is_setting, named_value, stores
from stepleak._counters import Counters
from stepleak._counting import is_counted_up
from stepleak._endings import Endings
from stepleak._guards import parts_of, sides_where
from stepleak._reach import MOST_LEVELS
from stepleak._runs import Runs
from stepleak._syntax import Guard, Module, called_name, last_name
from stepleak._used_up import UsedUp
from stepleak._user_code import UserCode

_CLOCKS = frozenset({"time", "monotonic", "perf_counter", "process_time"})

Shuts = Callable[[ast.expr | None], bool]


class Flags:
    def __init__(self, code: UserCode, counters: Counters, endings: Endings, runs: Runs, used_up: UsedUp) -> None:
        self._code = code
        self._counters = counters
        self._endings = endings
        self._runs = runs
        self._used_up = used_up

    def may_be_shut(self, module: Module, guard: Guard, depth: int = 0) -> bool:
        """Also by what a function of the user's answers, and by a variable that gets that."""
        if guard.is_loop:
            return False
        for part in parts_of(guard):
            if self._is_part_to_be_shut(module, part):
                return True
            home, value = named_value(self._code, module, part.test)
            if depth < MOST_LEVELS and value is not part.test:
                if self.may_be_shut(home, Guard(value, part.holds, False), depth + 1):
                    return True
            elif depth < MOST_LEVELS and self._is_answer_to_change(part, depth):
                return True
        return False

    def _is_answer_to_change(self, part: Guard, depth: int) -> bool:
        """Whether it asks a function that answers something else for good once a test in it says so: `if count > 300:
        return False`."""
        asked = self._code.functions(called_name(part.test)) if isinstance(part.test, ast.Call) else []
        if len(asked) != 1:
            return False
        home, function = asked[0]
        answers = [n for n in home.nodes if isinstance(n, ast.Return) and home.scope(n) is function]
        return any(
            self._is_to_hold(home, test, depth)
            for answer in answers
            if isinstance(answer.value, ast.Constant) and bool(answer.value.value) is not part.holds
            for guard in home.guards(answer)
            for test in parts_of(guard)
        )

    def _is_to_hold(self, module: Module, test: Guard, depth: int) -> bool:
        """Whether what a test guards may run for good some day."""
        if self._endings.is_lasting(module, test, self._runs.is_once):
            return True
        return self.may_be_shut(module, Guard(test.test, not test.holds, test.is_loop), depth + 1)

    def _is_part_to_be_shut(self, module: Module, part: Guard) -> bool:
        return (
            self._is_to_be_set(module, part)
            or self._is_passed_by_count(module, part)
            or self._is_ever_rarer(module, part)
            or self._is_of_seen(module, part)
            or self._is_event_to_be_set(part)
            or self._used_up.is_left(module, part)
            or _is_of_early_time(part)
        )

    def _is_to_be_set(self, module: Module, part: Guard) -> bool:
        """Whether it asks for a flag or a mode that a line gives another value for good, where a step may still reach
        that; also by a count that only grows: `self.full = self.seen > 300`."""
        flag, shuts = _flag_of(part)
        if flag is None:
            return False
        given = [(home, node) for home, node in self._given(module, flag) if not self._runs.is_of_set_up(home, node)]
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

    def _is_shutting(self, module: Module, value: ast.expr | None, part: Guard, shuts: Shuts) -> bool:
        """Whether a value of the flag that is asked keeps from running what runs under the test, or will for good."""
        if not isinstance(value, ast.Compare) or isinstance(part.test, ast.Compare):
            return shuts(value)
        return self._endings.is_lasting(module, Guard(value, not part.holds, False), self._runs.is_once)

    def _is_passed_by_count(self, module: Module, part: Guard) -> bool:
        """Whether it holds for a number that is only counted up or down and that is to pass it: `if epoch == 0`."""
        test = part.test
        if isinstance(test, (ast.Name, ast.Attribute)):
            return self._is_run_down(module, test) if part.holds else self._is_count(module, test)
        if not isinstance(test, ast.Compare):
            return False
        if len(test.ops) > 1:  # `first <= count < last`
            sides = [test.left, *test.comparators]
            compared = zip(sides, test.ops, sides[1:], strict=False)
            tests = (Guard(ast.Compare(left, [op], [right]), True, False) for left, op, right in compared)
            return part.holds and any(self._is_passed_by_count(module, one) for one in tests)
        left, right, op = test.left, test.comparators[0], test.ops[0]
        if isinstance(op, ast.In if part.holds else ast.NotIn):
            return self._is_fixed(module, right) and self._is_count(module, left)
        if isinstance(op, ast.Eq if part.holds else ast.NotEq):
            return any(
                isinstance(fixed, ast.Constant) and self._is_count(module, count)
                for count, fixed in ((left, right), (right, left))
            )
        if isinstance(op, ast.NotEq if part.holds else ast.Eq):
            return isinstance(right, ast.Constant) and self._is_run_down(module, left)
        small, large = sides_where(part) or (None, None)
        if small is None or large is None:
            return False
        return (self._is_fixed(module, large) and self._is_count(module, small)) or self._is_run_down(module, large)

    def is_ever_shorter(self, module: Module, rounds: ast.expr, depth: int = 0) -> bool:
        """Whether what a loop goes over has ever fewer items, and none some day: `range(min(2, self.left))`."""
        home, number = named_value(self._code, module, rounds)
        if isinstance(number, ast.Call) and called_name(number) in ("range", "min", "max") and depth < MOST_LEVELS:
            return any(self.is_ever_shorter(home, part, depth + 1) for part in number.args)
        if depth == 0:
            return False
        if isinstance(number, ast.BinOp) and isinstance(number.op, ast.Sub):
            return self._is_passed_by_count(
                home, Guard(ast.Compare(number.right, [ast.Lt()], [number.left]), True, False)
            )
        return self._is_run_down(home, number)

    def _is_run_down(self, module: Module, node: ast.expr) -> bool:
        """Whether steps only take from a number: `self.left -= 1`, `self.epsilon *= 0.99`."""
        return self._is_only_changed(module, node, _is_falling)

    def _is_ever_rarer(self, module: Module, part: Guard) -> bool:
        """Whether it holds at each so many counts, of which there are ever more: `step % self.every == 0`."""
        return any(
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Mod)
            and self._is_only_changed(module, node.right, _is_rising)
            for node in ast.walk(part.test)
        )

    def _is_only_changed(self, module: Module, node: ast.expr, is_so: Callable[[ast.AST | None], bool]) -> bool:
        """Whether steps change a number, and all that do so change it like this."""
        given = self._given(module, node)
        changes = [home.parent(one)[0] for home, one in given if not self._runs.is_of_set_up(home, one)]
        return bool(changes) and all(map(is_so, changes))

    def _is_fixed(self, module: Module, node: ast.expr) -> bool:
        """Whether it stays what it is: a constant, a setting, the length of what nothing is put into."""
        if isinstance(node, ast.Call) and called_name(node) == "len" and len(node.args) == 1:
            return self._used_up.is_not_refilled(module, node.args[0])
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return all(isinstance(part, ast.Constant) for part in node.elts)
        if isinstance(node, (ast.Name, ast.Attribute)):
            is_of_closure = isinstance(node, ast.Name) and module.resolve(node, node.id) is not module.scope(node)
            is_given = is_of_closure and is_setting(self._code, module, node)
            return is_given or self._used_up.is_not_refilled(module, node)
        return isinstance(node, ast.Constant)

    def _is_count(self, module: Module, node: ast.expr) -> bool:
        """Of what is counted, or goes with a count: `epoch = step // 300`."""
        if self._is_counted(module, node):
            return True
        given = [(home, one) for home, one in self._given(module, node) if not self._runs.is_of_set_up(home, one)]
        values = [(home, assigned_value(home, one)) for home, one in given]
        return bool(given) and (
            all(is_counted_up(home.statement(one), one) for home, one in given)
            or all(value is not None and self._is_counted(m, value) for m, value in values)
        )

    def _is_counted(self, module: Module, node: ast.expr) -> bool:
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Div)):
            return self._is_fixed(module, node.right) and self._is_counted(module, node.left)
        return self._counters.never_repeats(module, node, self._runs.is_once)

    def _is_of_seen(self, module: Module, part: Guard) -> bool:
        """Whether it asks for what was not seen before, of which there need not be ever more: `if sample not in
        self.seen`, where the same function notes it."""
        test, around = part.test, module.function(part.test) or module.tree
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return False
        key, seen = ast.unparse(test.left), ast.unparse(test.comparators[0])
        if not isinstance(test.ops[0], ast.NotIn if part.holds else ast.In) or self._is_count(module, test.left):
            return False
        return any(_notes(node, key, seen) for node in ast.walk(around))

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
    """Whether it puts a key, or many, into what tells which were seen."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.BitOr) and ast.unparse(node.target) == seen
    if isinstance(node, ast.Call) and called_name(node) == "update" and isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value) == seen
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
    if (
        isinstance(test, ast.Call)
        and called_name(test) == "isinstance"
        and len(test.args) == 2
        and _is_flag(test.args[0])
    ):
        kinds = set(map(last_name, getattr(test.args[1], "elts", test.args[1:])))
        return test.args[0], lambda value: _is_new(value) and (called_name(value) in kinds) is not holds
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not _is_flag(test.left):
        return None, lambda _: False
    asked, is_equal = test.comparators[0], isinstance(test.ops[0], (ast.Eq, ast.Is)) == holds
    if not isinstance(test.ops[0], (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)) or not is_constant(asked):
        return None, lambda _: False
    if is_equal and isinstance(asked, ast.Constant) and asked.value is None:
        return test.left, lambda value: not (isinstance(value, ast.Constant) and value.value is None)
    return test.left, lambda value: is_constant(value) and (ast.unparse(value) == ast.unparse(asked)) is not is_equal


def _is_of_early_time(part: Guard) -> bool:
    """Whether it asks a clock, but for what holds from some time on."""
    sides = sides_where(part)
    asked = part.test if sides is None else sides[0]
    return any(called_name(node) in _CLOCKS for node in ast.walk(asked))


def _is_rising(statement: ast.AST | None) -> bool:
    op, _ = _change_of(statement)
    return isinstance(op, (ast.Add, ast.Mult, ast.LShift))


def _is_falling(statement: ast.AST | None) -> bool:
    op, by = _change_of(statement)
    factor = by.value if isinstance(by, ast.Constant) else None
    is_shrinking = isinstance(op, ast.Mult) and isinstance(factor, float) and 0 < factor < 1
    return isinstance(op, ast.Sub) or is_shrinking


def _change_of(statement: ast.AST | None) -> tuple[ast.operator | None, ast.expr | None]:
    """By what a statement changes a number: `n -= 1`, `n = n - 1`."""
    if isinstance(statement, ast.AugAssign):
        return statement.op, statement.value
    value = statement.value if isinstance(statement, ast.Assign) else None
    if isinstance(value, ast.BinOp) and ast.unparse(value.left) in map(ast.unparse, statement.targets):  # type: ignore[union-attr]
        return value.op, value.right
    return None, None


def _is_new(value: ast.expr | None) -> TypeGuard[ast.Call]:
    """Whether it is a new object of a class."""
    return isinstance(value, ast.Call) and called_name(value)[:1].isupper()


def _is_flag(node: ast.AST) -> TypeGuard[ast.expr]:
    is_item = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    return is_item or isinstance(node, (ast.Name, ast.Attribute))
