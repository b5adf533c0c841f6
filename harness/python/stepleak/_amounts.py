# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What rises with a container and is no length of it: bytes or elements that are counted beside each fill, a sum over
the items, the length of what is filled beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from stepleak._alongside import Alongside, Place
from stepleak._assignments import assigned_value, named_value, stores
from stepleak._container_words import ADDING, REMOVING
from stepleak._facts import Facts
from stepleak._measures import empty_of, mean_of, measure_of
from stepleak._objects import bound_of
from stepleak._rises import Rise, rise_of
from stepleak._syntax import Module, called_name, is_parameter, last_name
from stepleak._unseen import length_of
from stepleak._values import NOTHING

_MOST_NAMES = 4
_LENGTHS = frozenset({"len", "getsizeof", "sum"})
_WRITING = ADDING | {"write", "writelines"}
_CUTTING = REMOVING | {"clear", "truncate", "get", "get_nowait"}


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
        self._alongside = Alongside(facts)

    def amount(
        self, module: Module, node: ast.expr, sign: int, ways: list[list[Place]], test: ast.expr, depth: int = 0
    ) -> Amount | None:
        """What an expression has of an amount; None where it does not rise with the container."""
        if depth > _MOST_NAMES:
            return None
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div, ast.FloorDiv)):
            return self._scaled(module, node, sign, ways, test, depth)
        if sign > 0 and isinstance(node, ast.Call) and called_name(node) in ("int", "float") and len(node.args) == 1:
            return self.amount(module, node.args[0], sign, ways, test, depth + 1)
        if sign > 0 and isinstance(node, ast.Call) and called_name(node) == "sum" and self._is_of_items(node):
            return self._sum_of_items(module, node)
        if sign > 0 and isinstance(node, ast.Call) and called_name(node) in _LENGTHS and len(node.args) == 1:
            measured = node.args[0]
            if isinstance(measured, (ast.Name, ast.Attribute)) and measured not in self._facts.uses.denoting:
                return None if self._is_of_many(module, measured) else self._beside(module, node, measured, ways, test)
        home, value = named_value(self._code, module, node)
        if value is not node:
            return self.amount(home, value, sign, ways, test, depth + 1)
        is_variable = isinstance(node, ast.Attribute) or bool(_key_of(node))
        if isinstance(node, ast.Name):
            is_variable = not is_parameter(module.resolve(node, node.id), node.id)
        is_of_many = is_variable and self._is_of_many(module, node)
        return self._counter(module, node, sign, ways, test) if is_variable and not is_of_many else None

    def _is_of_many(self, module: Module, node: ast.expr) -> bool:
        """Whether each of many objects has one of its own, as each request of a server: what one counts says nothing of
        a container that is not its own."""
        owner = module.class_of_self(node.value) if isinstance(node, ast.Attribute) else None
        is_own = owner is not None and any(kinds.has(owner) for kinds in self._facts.owner_classes)
        return owner is not None and not is_own and not self._runs.is_once(module, owner)

    def _scaled(
        self, module: Module, node: ast.BinOp, sign: int, ways: list[list[Place]], test: ast.expr, depth: int
    ) -> Amount | None:
        by = self._values.real(module, node.right)
        amount = None if by is None or by <= 0 else self.amount(module, node.left, sign, ways, test, depth + 1)
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
                start = self._values.real(home, value) if (value := assigned_value(home, stored)) is not None else None
            elif sign > 0 and self._is_recount(home, stored):
                is_recounted = True
            elif self._alongside.comes_with_removal(home, stored):
                is_lowered = True
            else:
                return None
        counted = [value for place, value in steps if all(self._alongside.is_on_way(place, way, test) for way in ways)]
        if not is_recounted and (not counted or not self._alongside.is_on_each_way(steps, ways, test)):
            return None
        now = self._values.now(module, node)
        if now is not NOTHING and type(now) not in (int, float):
            return None
        numbers = [self._values.real(place[0], value) for place, value in steps]
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
            elif not self._is_start(home, changed) and not self._alongside.comes_with_removal(home, changed):
                return None
        if not steps or not self._alongside.is_on_each_way(steps, ways, test):
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
            given, name = assigned_value(module, stored), ast.unparse(stored)
            given = None if given is None else named_value(self._code, module, given)[1]
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
        value = assigned_value(module, stored)
        return isinstance(value, ast.Call) and called_name(value) == "sum" and self._is_of_items(value)


def _key_of(node: ast.AST) -> str:
    """Of an item by a name: `self.stats["bytes"]`."""
    key = node.slice if isinstance(node, ast.Subscript) else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def _root_of(module: Module, node: ast.expr) -> ast.ClassDef | None:
    """The class of whose object it is an attribute, or an attribute's attribute."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return module.class_of_self(node)
