# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Tests that bound a container by something else than its length: by bytes or elements that are counted beside it."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from stepleak._alongside import Place
from stepleak._amounts import Amount, Amounts
from stepleak._assignments import named_value
from stepleak._facts import Facts
from stepleak._fixed_values import FixedValues
from stepleak._guards import guards_of_item, parts_of, sides_where
from stepleak._reach import MOST_CALLERS, MOST_LEVELS
from stepleak._rises import Rise, rise_of
from stepleak._syntax import LEAVING, Guard, Module
from stepleak._unseen import length_of
from stepleak._use import Use

_MOST_NAMES = 4


class AmountTests:
    """Asks about one container."""

    def __init__(self, facts: Facts) -> None:
        self._code = facts.code
        self._runs = facts.runs
        self._values = facts.values
        self._held = length_of(facts.container)
        self._amounts = Amounts(facts)
        self._fixed = FixedValues(facts)

    def most_filled(self, fill: Use) -> int | None:
        """How many entries there are once no way lets that fill it any more; -1 unknown, None: there is no such
        test."""
        way: list[Place] = [(fill.module, fill.node)]
        for part in (part for guard in guards_of_item(fill) for part in parts_of(guard)):
            found = self._most(fill.module, part, [way], False)
            if found is not None:
                return found
        return self._most_at(fill.module, fill.node, [], 0)

    def most_kept(self, removal: Use, fills: list[Use]) -> int | None:
        """How many entries a removal leaves that runs while there is too much; the same."""
        for module, guard in self._runs.guards(removal):
            for part in parts_of(guard):
                found = self._most(module, replace(part, holds=not part.holds), fills, True)
                if found is not None:
                    return found
        return None

    def _most_at(self, module: Module, node: ast.AST, before: list[Place], depth: int) -> int | None:
        way = [*before, (module, node)]
        for guard in self._lasting_guards(module, node):
            for part in parts_of(guard):
                found = self._most(module, part, [way], False)
                if found is not None:
                    return found
        function = module.function(node)
        is_outermost = function in (None, self._runs.within)
        is_first = is_outermost or (depth > 0 and self._code.is_entry(module, function))  # type: ignore[arg-type]
        calls = [] if is_first or function is None or depth == MOST_LEVELS else self._code.calls(function.name)
        if not 0 < len(calls) <= MOST_CALLERS:
            return None
        limits = [self._most_at(home, call, way, depth + 1) for home, call in calls]
        known = [limit for limit in limits if limit is not None]
        return None if len(known) < len(limits) else -1 if -1 in known else max(known)

    def _lasting_guards(self, module: Module, node: ast.AST) -> Iterator[Guard]:
        """Tests that are asked again once one has said that it is enough: not those with which the training ends, as
        `while tokens < budget` around it."""
        around = {outer for outer, _ in module.around(node)}
        for guard in module.guards(node, lambda statement: isinstance(statement, (*LEAVING, ast.Break))):
            outer, _ = module.parent(guard.test)
            last = outer.body[-1] if isinstance(outer, ast.If) and outer not in around else None
            left = module.loops(outer) if isinstance(last, (ast.Return, ast.Break)) and outer is not None else []
            left = [outer] if guard.is_loop and outer is not None else left[:1] if isinstance(last, ast.Break) else left
            if not any(self._runs.trains(module, loop) for loop in left):
                yield guard

    def _most(self, module: Module, guard: Guard, fills: list[Use] | list[list[Place]], is_cut: bool) -> int | None:
        """What a test lets in that holds for small amounts. `fills`: what has to be counted, each use by itself, or the
        way from it to the test."""
        module, guard = self._opened(module, guard)
        sides = sides_where(guard)
        if sides is None:
            return None
        small, large = sides
        test: Any = guard.test
        is_inclusive = isinstance(test.ops[0], (ast.LtE, ast.GtE)) == guard.holds
        terms = [*self._terms(module, small, 1), *self._terms(module, large, -1)]
        for term, sign in terms:
            ways = [way if isinstance(way, list) else list(self._runs.leading_to(way)) for way in fills]
            amount = self._amounts.amount(module, term, sign, ways, guard.test)
            if amount is None or (is_cut and not amount.is_lowered):
                continue
            others = [other for other in terms if other[0] is not term]
            coming = [other for other in others if other[1] > 0 and self._is_coming(module, other[0])]
            limits = [other for other in others if other not in coming]
            if all(self._fixed.is_fixed(module, limit) for limit, _ in limits):
                return self._entries(amount, self._sum(module, limits), is_inclusive, bool(coming) or is_cut)
        return None

    def _opened(self, module: Module, guard: Guard, depth: int = 0) -> tuple[Module, Guard]:
        """A test that has a name, or a function or a property of its own, as it stands there."""
        test, holds = guard.test, guard.holds
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._opened(module, Guard(test.operand, not holds, guard.is_loop), depth)
        home, value = named_value(self._code, module, test)
        if value is test or depth > _MOST_NAMES or not isinstance(value, (ast.Compare, ast.UnaryOp, ast.Attribute)):
            return module, guard
        return self._opened(home, Guard(value, holds, guard.is_loop), depth + 1)

    def _terms(self, module: Module, node: ast.expr, sign: int, depth: int = 0) -> Iterator[tuple[ast.expr, int]]:
        """The parts of a sum, each with its sign; of one that a variable was given in the same function, too."""
        home, value = named_value(self._code, module, node)
        if depth < _MOST_NAMES and home is module and isinstance(value, ast.BinOp) and _is_sum(value):
            yield from self._terms(module, value.left, sign, depth + 1)
            yield from self._terms(module, value.right, sign if isinstance(value.op, ast.Add) else -sign, depth + 1)
        else:
            yield node, sign

    def _is_coming(self, module: Module, node: ast.expr) -> bool:
        """Whether it is the size of what would come in."""
        if isinstance(node, ast.Constant):
            return False
        rise = rise_of(self._code, module, node)
        return rise is Rise.SURE or (rise is Rise.LIKELY and not self._fixed.is_fixed(module, node))

    def _sum(self, module: Module, terms: list[tuple[ast.expr, int]]) -> float | None:
        """What is not to be passed, where these terms stand on the side of the amount."""
        values = [(self._values.real(module, term), sign) for term, sign in terms]
        known = [-sign * value for value, sign in values if value is not None]
        return sum(known) if len(known) == len(values) else None

    def _entries(self, amount: Amount, limit: float | None, is_inclusive: bool, is_coming: bool) -> int:
        """`is_coming`: what comes in, or what is there after it, is counted already."""
        held = self._held
        now, each = amount.now, amount.each
        if amount.is_budget and limit is not None:
            # A budget falls to the limit: by so much in all.
            if amount.start is None:
                limit = None if now is None or not each else limit - now + each * held
            else:
                limit, now = amount.start + limit, None if now is None else amount.start + now
        elif limit is not None and amount.start:
            limit, now = limit - amount.start, None if now is None else now - amount.start
        if limit is None or limit <= 0:
            return -1
        if not each and now is not None and now > 0 and held > 0:
            if now >= limit and not is_coming:
                return held
            each = now / held
        if not each or not math.isfinite(limit / each):
            return -1
        number = limit / each
        if is_coming:
            return math.floor(number) if is_inclusive or number != int(number) else int(number) - 1
        return math.floor(number) + 1 if is_inclusive else math.ceil(number)


def _is_sum(node: ast.BinOp) -> bool:
    return isinstance(node.op, (ast.Add, ast.Sub))
