# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What rises with a container and is no length of it: bytes or elements that are counted beside each fill, a sum over
the items, the length of what is filled beside it. A test of such an amount bounds the container."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from stepleak._assignments import assigned_beside, assignments, is_setting, stores
from stepleak._container_words import ADDING, REMOVING
from stepleak._facts import Facts
from stepleak._guards import guard_of_item, parts_of, sides_where
from stepleak._measures import empty_of, mean_of, measure_of
from stepleak._objects import bound_of, type_name
from stepleak._rises import Rise, rise_of
from stepleak._syntax import FUNCTIONS, Guard, Module, argument_of, called_name, is_parameter, is_property, last_name
from stepleak._unseen import length_of
from stepleak._use import Use
from stepleak._values import NOTHING

_MOST_CALLERS = 8
_MOST_LEVELS = 3
_MOST_NAMES = 4
_MOST_DEPTH = 8
_OF_NUMBERS = frozenset({"int", "float", "max", "min", "round", "abs"})
_PLAIN = frozenset({"Namespace", "SimpleNamespace", "module", "dict", "type"})
"""Types of objects that have settings, and change none of them."""
_LENGTHS = frozenset({"len", "getsizeof", "sum"})
_WRITING = ADDING | {"write", "writelines"}
_CUTTING = REMOVING | {"clear", "truncate", "get", "get_nowait"}

_MOST = ("max", "num_", "n_", "total", "limit", "log", "save", "every")
_COUNTED = ("step", "epoch", "iter", "count", "index", "idx", "seen", "position", "time")
"""What libraries call a setting, and what they count."""

Place = tuple[Module, ast.AST]


@dataclass(frozen=True)
class Amount:
    """What rises with the container. `now`: what it is, of a budget less than nothing; None where that is not known.
    `each`: what every entry surely adds, as a literal says; else 0. `start`: what it was, or what a budget was."""

    now: float | None
    each: float = 0
    start: float | None = None
    is_budget: bool = False
    is_lowered: bool = True
    """Whether it falls where something is taken out of the container."""


class Amounts:
    """Asks about one container."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._code = facts.code
        self._runs = facts.runs
        self._values = facts.values
        self._held = length_of(facts.container)

    @functools.cached_property
    def _removing(self) -> list[Use]:
        return [use for use in self._facts.resolved() if use.kind in ("reset", "trim", "remove")]

    def most_filled(self, fill: Use) -> int | None:
        """How many entries there are once no way lets that fill it any more; -1 unknown, None: there is no such
        test."""
        item = guard_of_item(fill)
        way: list[Place] = [(fill.module, fill.node)]
        for part in [] if item is None else parts_of(item):
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

    # --- tests --------------------------------------------------------------------------------------------------------

    def _most_at(self, module: Module, node: ast.AST, before: list[Place], depth: int) -> int | None:
        way = [*before, (module, node)]
        for guard in self._lasting_guards(module, node):
            for part in parts_of(guard):
                found = self._most(module, part, [way], False)
                if found is not None:
                    return found
        function = module.function(node)
        is_first = function is None or (depth > 0 and self._code.is_entry(module, function))
        calls = [] if is_first or function is None or depth == _MOST_LEVELS else self._code.calls(function.name)
        if not 0 < len(calls) <= _MOST_CALLERS:
            return None
        limits = [self._most_at(home, call, way, depth + 1) for home, call in calls]
        known = [limit for limit in limits if limit is not None]
        return None if len(known) < len(limits) else -1 if -1 in known else max(known)

    def _lasting_guards(self, module: Module, node: ast.AST) -> Iterator[Guard]:
        """Tests that are asked again once one has said that it is enough: not those with which the training ends, as
        `while tokens < budget` around it."""
        around = {outer for outer, _ in module.around(node)}
        for guard in module.guards(node, (ast.Return, ast.Continue, ast.Break)):
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
            amount = self._amount(module, term, sign, ways, guard.test)
            if amount is None or (is_cut and not amount.is_lowered):
                continue
            others = [other for other in terms if other[0] is not term]
            coming = [other for other in others if other[1] > 0 and self._is_coming(module, other[0])]
            limits = [other for other in others if other not in coming]
            if all(self.is_fixed(module, limit) for limit, _ in limits):
                return self._entries(amount, self._sum(module, limits), is_inclusive, bool(coming) or is_cut)
        return None

    def _opened(self, module: Module, guard: Guard, depth: int = 0) -> tuple[Module, Guard]:
        """A test that has a name, or a function or a property of its own, as it stands there."""
        test, holds = guard.test, guard.holds
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._opened(module, Guard(test.operand, not holds, guard.is_loop), depth)
        home, value = self._named(module, test)
        if value is test or depth > _MOST_NAMES or not isinstance(value, (ast.Compare, ast.UnaryOp, ast.Attribute)):
            return module, guard
        return self._opened(home, Guard(value, holds, guard.is_loop), depth + 1)

    def _named(self, module: Module, node: ast.expr) -> tuple[Module, ast.expr]:
        """What a variable was given in the same function, or what a function or a property of the user's returns."""
        if isinstance(node, ast.NamedExpr):
            return module, node.value
        if isinstance(node, ast.Name):
            scope = module.resolve(node, node.id)
            values = assignments(module, scope, node.id)
            is_own = scope is module.scope(node) and not is_parameter(scope, node.id)
            is_counted = len(values) != 1 or isinstance(module.parent(values[0])[0], ast.AugAssign)
            return (module, node) if is_counted or not is_own else (module, values[0])
        called = node.func if isinstance(node, ast.Call) and not node.args else node
        found = self._code.functions(last_name(called)) if isinstance(called, (ast.Attribute, ast.Name)) else []
        if len(found) != 1 or (called is node and not is_property(found[0][1])):
            return module, node
        home, function = found[0]
        returned = [n.value for n in home.nodes if isinstance(n, ast.Return) and home.scope(n) is function]
        return (home, returned[0]) if len(returned) == 1 and returned[0] is not None else (module, node)

    def _terms(self, module: Module, node: ast.expr, sign: int, depth: int = 0) -> Iterator[tuple[ast.expr, int]]:
        """The parts of a sum, each with its sign; of one that a variable was given in the same function, too."""
        home, value = self._named(module, node)
        if depth < _MOST_NAMES and home is module and isinstance(value, ast.BinOp) and _is_sum(value):
            yield from self._terms(module, value.left, sign, depth + 1)
            yield from self._terms(module, value.right, sign if isinstance(value.op, ast.Add) else -sign, depth + 1)
        else:
            yield node, sign

    def is_fixed(self, module: Module, node: ast.AST, depth: int = 0) -> bool:
        """Whether nothing gives what a limit is made of another value once the steps run."""
        if depth > _MOST_DEPTH:
            return False
        if isinstance(node, ast.Attribute):
            return self._is_fixed_attribute(module, node, depth)
        if isinstance(node, ast.Name):
            return self._is_fixed_variable(module, node, depth)
        if isinstance(node, ast.Call):
            home, value = self._named(module, node)
            if value is not node:
                return self.is_fixed(home, value, depth + 1)
            is_getter = called_name(node) == "get" and isinstance(node.func, ast.Attribute)
            parts = [*node.args, *([node.func.value] if is_getter else [])]  # type: ignore[attr-defined]
            is_known = is_getter or called_name(node) in _OF_NUMBERS
            return is_known and all(self.is_fixed(module, part, depth + 1) for part in parts)
        return all(self.is_fixed(module, part, depth + 1) for part in ast.iter_child_nodes(node))

    def _is_fixed_attribute(self, module: Module, node: ast.Attribute, depth: int) -> bool:
        if not is_setting(self._code, module, node):
            return False
        if stores(self._code, module, node):
            return True
        home, value = self._named(module, node)
        if value is not node:
            return self.is_fixed(home, value, depth + 1)
        # A library's object may count by itself: `trainer.global_step`, but not `config.max_steps`.
        owner = self._values.value(module, node.value)
        is_plain = owner is not NOTHING and (type_name(owner) in _PLAIN or self._code.defines_class_of(owner))
        is_most = node.attr.startswith(_MOST)
        return is_plain or is_most or not any(word in node.attr for word in _COUNTED)

    def _is_fixed_variable(self, module: Module, node: ast.Name, depth: int) -> bool:
        scope = module.resolve(node, node.id)
        stored = stores(self._code, module, node)
        if module.class_of_self(node) is not None:
            return True
        if is_parameter(scope, node.id):
            return len(stored) == 1 and self._is_passed_fixed(module, scope, node.id, depth)
        if not stored:
            return scope is module.tree
        values = assignments(module, scope, node.id)
        is_made = len(stored) == len(values) == 1 and not module.loops(module.statement(stored[0][1]))
        return is_made and (self._runs.is_once(module, stored[0][1]) or self.is_fixed(module, values[0], depth + 1))

    def _is_passed_fixed(self, module: Module, function: ast.AST, name: str, depth: int) -> bool:
        """Whether each call in the sources passes what is fixed; of what a library calls, that is not known."""
        called, owner = getattr(function, "name", ""), module.class_of_method(function)
        calls = self._code.calls(owner.name if owner is not None and called == "__init__" else called) if called else []
        passed = [(home, argument_of(call, function, name, owner is not None)) for home, call in calls]
        if not passed:
            return isinstance(function, FUNCTIONS) and bool(self._code.running_values(module, function, name))
        return all(value is None or self.is_fixed(home, value, depth + 1) for home, value in passed)

    def _is_coming(self, module: Module, node: ast.expr) -> bool:
        """Whether it is the size of what would come in."""
        if isinstance(node, ast.Constant):
            return False
        rise = rise_of(self._code, module, node)
        return rise is Rise.SURE or (rise is Rise.LIKELY and not self.is_fixed(module, node))

    def _sum(self, module: Module, terms: list[tuple[ast.expr, int]]) -> float | None:
        """What is not to be passed, where these terms stand on the side of the amount."""
        values = [(self._number(module, term), sign) for term, sign in terms]
        known = [-sign * value for value, sign in values if value is not None]
        return sum(known) if len(known) == len(values) else None

    def _number(self, module: Module, node: ast.expr) -> float | None:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            left, right = self._number(module, node.left), self._number(module, node.right)
            return left / right if left is not None and right else None
        value = self._values.value(module, node)
        return value if type(value) in (int, float) else None

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

    # --- amounts ------------------------------------------------------------------------------------------------------

    def _amount(
        self, module: Module, node: ast.expr, sign: int, ways: list[list[Place]], test: ast.expr, depth: int = 0
    ) -> Amount | None:
        """What an expression has of an amount; None where it does not rise with the container."""
        if depth > _MOST_NAMES:
            return None
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div, ast.FloorDiv)):
            return self._scaled(module, node, sign, ways, test, depth)
        if sign > 0 and isinstance(node, ast.Call) and called_name(node) in ("int", "float") and len(node.args) == 1:
            return self._amount(module, node.args[0], sign, ways, test, depth + 1)
        if sign > 0 and isinstance(node, ast.Call) and called_name(node) == "sum" and self._is_of_items(node):
            return self._sum_of_items(module, node)
        if sign > 0 and isinstance(node, ast.Call) and called_name(node) in _LENGTHS and len(node.args) == 1:
            measured = node.args[0]
            if isinstance(measured, (ast.Name, ast.Attribute)) and measured not in self._facts.uses.denoting:
                return self._beside(module, node, measured, ways, test)
        home, value = self._named(module, node)
        if value is not node:
            return self._amount(home, value, sign, ways, test, depth + 1)
        is_variable = isinstance(node, ast.Attribute) or bool(_key_of(node))
        if isinstance(node, ast.Name):
            is_variable = not is_parameter(module.resolve(node, node.id), node.id)
        return self._counter(module, node, sign, ways, test) if is_variable else None

    def _scaled(
        self, module: Module, node: ast.BinOp, sign: int, ways: list[list[Place]], test: ast.expr, depth: int
    ) -> Amount | None:
        by = self._number(module, node.right)
        amount = None if by is None or by <= 0 else self._amount(module, node.left, sign, ways, test, depth + 1)
        if amount is None or by is None:
            return None
        factor = by if isinstance(node.op, ast.Mult) else 1 / by
        now, start = amount.now, amount.start
        return replace(
            amount,
            now=None if now is None else now * factor,
            each=amount.each * factor,
            start=None if start is None else start * factor,
        )

    def _is_of_items(self, call: ast.Call) -> bool:
        """Whether it sums up something of each item: `sum(t.numel() for t in kept)`, `sum(map(len, self.kept))`."""
        part = call.args[0] if call.args else None
        if isinstance(part, ast.Call) and called_name(part) == "map" and len(part.args) == 2:
            return any(node in self._facts.uses.denoting for node in ast.walk(part.args[1]))
        if not isinstance(part, (ast.GeneratorExp, ast.ListComp)) or any(p.ifs for p in part.generators):
            return False
        return any(n in self._facts.uses.denoting for p in part.generators for n in ast.walk(p.iter))

    def _sum_of_items(self, module: Module, call: ast.Call) -> Amount | None:
        part = call.args[0]
        if isinstance(part, ast.Call):
            measured: ast.expr = ast.Call(part.args[0], [ast.Name("item", ast.Load())], [])
            name = "item"
        else:
            measured, target = part.elt, part.generators[-1].target  # type: ignore[attr-defined]
            name = target.id if isinstance(target, ast.Name) and len(part.generators) == 1 else ""  # type: ignore[attr-defined]
        if rise_of(self._code, module, measured) is Rise.MAY_STAY:
            return None
        mean = mean_of(self._facts.container, measured, name) if name else None
        if mean is not None and mean <= 0:
            return None
        return Amount(None if mean is None else mean * self._held)

    def _counter(
        self, module: Module, node: ast.expr, sign: int, ways: list[list[Place]], test: ast.expr
    ) -> Amount | None:
        """A variable, or an item by a name, that is counted up beside each fill, or falls there from a budget on, and
        gets another value where the container is emptied, or is counted anew, alone."""
        steps: list[tuple[Place, ast.expr]] = []
        start: float | None = None
        is_recounted = is_lowered = False
        for home, stored in self._stores(module, node):
            change = self._change(home, stored)
            if change is not None and change[1] == sign:
                if rise_of(self._code, home, change[0]) is Rise.MAY_STAY:
                    return None
                steps.append(((home, stored), change[0]))
            elif self._is_start(home, stored):
                start = self._number(home, value) if (value := _given(home, stored)) is not None else None
            elif sign > 0 and self._is_recount(home, stored):
                is_recounted = True
            elif self._comes_with_removal(home, stored):
                is_lowered = True
            else:
                return None
        counted = [value for place, value in steps if all(self._is_on_way(place, way, test) for way in ways)]
        if not is_recounted and (not counted or not self._is_each_counted(steps, ways, test)):
            return None
        now = self._values.now(module, node)
        if now is not NOTHING and type(now) not in (int, float):
            return None
        numbers = [self._number(place[0], value) for place, value in steps]
        each = min(n or 0 for n in numbers) if numbers and len(counted) == len(steps) else 0
        if sign < 0:
            return Amount(None if now is NOTHING else -now, each, start, True, is_lowered)
        if now is not NOTHING and now <= 0 < self._held:
            return None
        return Amount(None if now is NOTHING else now, each, start, is_lowered=is_lowered or is_recounted)

    def _beside(
        self,
        module: Module,
        node: ast.Call,
        measured: ast.Name | ast.Attribute,
        ways: list[list[Place]],
        test: ast.expr,
    ) -> Amount | None:
        """The length, the bytes or the sum of what gets longer beside each fill: a buffer of bytes, another list."""
        value = self._values.now(module, measured)
        if bound_of(value) >= 0:
            return None
        steps: list[tuple[Place, ast.expr]] = []
        for home, changed in self._changes(module, measured):
            outer, _ = home.parent(changed)
            change = self._change(home, changed)
            if change is not None and change[1] > 0:
                steps.append(((home, changed), change[0]))
            elif isinstance(outer, ast.Attribute) and outer.attr in _WRITING:
                call, _ = home.parent(outer)
                added = call.args[-1] if isinstance(call, ast.Call) and call.args else node
                steps.append(((home, changed), added))
            elif not self._is_start(home, changed) and not self._comes_with_removal(home, changed):
                return None
        if not steps or not self._is_each_counted(steps, ways, test):
            return None
        now = measure_of(called_name(node), value)
        if now is not None and now <= 0 < self._held:
            return None
        return Amount(now, start=empty_of(called_name(node), value))

    def _changes(self, module: Module, node: ast.Name | ast.Attribute) -> Iterator[tuple[Module, Any]]:
        """Where something gets another value, or is changed itself."""
        yield from self._stores(module, node)
        modules = self._code.mentioning(node.attr)[0] if isinstance(node, ast.Attribute) else [module]
        for home in modules:
            for other in home.named.get(last_name(node), ()):
                if isinstance(other.ctx, ast.Load) and self._is_same(module, node, home, other):
                    outer, field = home.parent(other)
                    is_method = isinstance(outer, ast.Attribute) and outer.attr in _WRITING | _CUTTING
                    is_item = isinstance(outer, ast.Subscript) and field == "value"
                    if is_method or (is_item and isinstance(outer.ctx, ast.Del)):  # type: ignore[union-attr]
                        yield home, other

    def _stores(self, module: Module, node: ast.expr) -> list[tuple[Module, Any]]:
        key = _key_of(node)
        if key:
            homes = self._code.mentioning(key)[0]
            items = ((home, n) for home in homes for n in home.nodes if _key_of(n) == key)
            found = [(home, n) for home, n in items if not isinstance(n.ctx, ast.Load)]  # type: ignore[attr-defined]
        else:
            found = stores(self._code, module, node)  # type: ignore[arg-type]
        return [(home, stored) for home, stored in found if self._is_same(module, node, home, stored)]

    def _is_same(self, module: Module, node: ast.AST, home: Module, other: ast.AST) -> bool:
        """Whether two expressions may be one variable, or attributes of objects of one class, or items of these."""
        while isinstance(node, ast.Subscript) and isinstance(other, ast.Subscript):
            node, other = node.value, other.value
        if isinstance(node, ast.Name) and isinstance(other, ast.Name) and home is module:
            return home.resolve(other, node.id) is module.resolve(node, node.id) and node.id == other.id
        if not isinstance(node, ast.Attribute) or not isinstance(other, ast.Attribute):
            # Another name may stand for what has the item.
            return not isinstance(node, ast.Name) or not isinstance(other, ast.Name)
        own, its = _root_of(module, node), _root_of(home, other)
        if own is None or its is None:
            return node.attr == other.attr
        if own is its or own.name in map(last_name, its.bases) or its.name in map(last_name, own.bases):
            return ast.unparse(node).partition(".")[2] == ast.unparse(other).partition(".")[2]
        # Attributes of two classes, unless one is asked for as another object's.
        is_of_self = isinstance(node.value, ast.Name) and isinstance(other.value, ast.Name)
        return node.attr == other.attr and not is_of_self

    def _change(self, module: Module, stored: Any) -> tuple[ast.expr, int] | None:
        """By what a statement raises a variable, or lowers it: `n += x.nbytes`, `n = n + x.nbytes`, also by a name."""
        statement = module.statement(stored)
        if isinstance(statement, ast.AugAssign) and statement.target is stored:
            value, op = statement.value, statement.op
        else:
            given, name = _given(module, stored), ast.unparse(stored)
            given = None if given is None else self._named(module, given)[1]
            if not isinstance(given, ast.BinOp) or name not in (ast.unparse(given.left), ast.unparse(given.right)):
                return None
            is_first, op = ast.unparse(given.left) == name, given.op
            value = given.right if is_first else given.left
            if not is_first and not isinstance(op, ast.Add):
                return None
        return (value, 1 if isinstance(op, ast.Add) else -1) if isinstance(op, (ast.Add, ast.Sub)) else None

    def _is_start(self, module: Module, stored: Any) -> bool:
        """Whether it makes a count, and none that is in use begins again."""
        if self._runs.is_once(module, stored) or self._runs.is_before_steps(module, stored):
            return True
        if not isinstance(stored, ast.Name) or isinstance(module.parent(stored)[0], ast.AugAssign):
            return False
        # A variable beside that of the container lives as long as this one.
        home = module.resolve(stored, stored.id)
        is_beside = any(name.scope is home for name in self._facts.slot.names)
        return is_beside and module.scope(stored) is home and not module.loops(stored)

    def _is_recount(self, module: Module, stored: Any) -> bool:
        value = _given(module, stored)
        return isinstance(value, ast.Call) and called_name(value) == "sum" and self._is_of_items(value)

    # --- beside each other --------------------------------------------------------------------------------------------

    def _is_each_counted(self, steps: list[tuple[Place, ast.expr]], ways: list[list[Place]], test: ast.expr) -> bool:
        return all(any(self._is_on_way(place, way, test) for place, _ in steps) for way in ways)

    def _is_on_way(self, step: Place, way: list[Place], test: ast.expr) -> bool:
        """Whether something runs each time that one of the places does; also where a function of its own does it."""
        places = [step]
        function = step[0].function(step[1])
        if function is not None and not step[0].guards(step[1]):
            places += self._code.calls(function.name)
        return any(self._runs_with(*place, *other, test) for place in places for other in way)

    def _runs_with(
        self, module: Module, node: ast.AST, home: Module, other: ast.AST, test: ast.expr | None = None
    ) -> bool:
        """Whether a statement runs whenever another one in the same function does, and, in a loop around the test,
        each time."""
        statement = module.statement(node)
        if module is not home or module.scope(statement) is not module.scope(home.statement(other)):
            return False
        if statement is home.statement(other):
            return True
        parent, field = module.parent(statement)
        block = getattr(parent, field, [])
        around = [home.statement(other), *(outer for outer, _ in home.around(other))]
        if not isinstance(block, list) or not any(outer in block for outer in around):
            # A loop beside it over what comes in counts each part.
            if isinstance(parent, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)) and field == "body":
                return self._runs_with(module, parent, home, other, test)
            return False
        tests = {guard.test for guard in home.guards(other)}
        is_free = all(guard.test in tests for guard in module.guards(statement))
        is_near = test is not None and module.parent(test)[0] is not None and module.scope(test) is module.scope(node)
        loops = module.loops(test) if is_near and test is not None else []
        return is_free and set(loops) <= set(module.loops(statement))

    def _comes_with_removal(self, module: Module, stored: Any) -> bool:
        """Whether a count falls, or begins again, only where something is taken out of the container as well."""
        value = _given(module, stored)
        is_anew = isinstance(value, ast.Constant)
        removing = [use for use in self._removing if not is_anew or use.kind != "remove"]
        return any(self._runs_with(use.module, use.node, module, stored) for use in removing)


def _key_of(node: ast.AST) -> str:
    """Of an item by a name: `self.stats["bytes"]`."""
    key = node.slice if isinstance(node, ast.Subscript) else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def _root_of(module: Module, node: ast.expr) -> ast.ClassDef | None:
    """The class of whose object it is an attribute, or an attribute's attribute."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return module.class_of_self(node)


def _is_sum(node: ast.BinOp) -> bool:
    return isinstance(node.op, (ast.Add, ast.Sub))


def _given(module: Module, stored: Any) -> ast.expr | None:
    """What a statement assigns to a variable or an attribute."""
    parent, _ = module.parent(stored)
    if isinstance(parent, (ast.Assign, ast.AnnAssign)):
        return parent.value
    return assigned_beside(module, parent, stored)
