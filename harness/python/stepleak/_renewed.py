# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What may end what each step makes anew of what was there: a chain, each link of which keeps the one before, or a
tuple: `best = Hypothesis(state, best)`, `state = replace(state, history=(*state.history, loss))`.

There is no container that anything is taken out of. Another head in the place of the first link ends it, as does a link
that is cut (`version.older = None`), one that is passed over (`self.head = self.head.next`), and an empty tuple in the
place of a long one. Whether a line does so in time is not known: it is "conditional" at most.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from stepleak._accumulated import is_fresh
from stepleak._assignments import assignments, is_stored, variable_stores
from stepleak._carried import COPYING
from stepleak._cut_buffers import cut
from stepleak._objects import is_a, is_namespace_of
from stepleak._replaced import owner_replaced
from stepleak._runs import CONSTRUCTORS, Runs
from stepleak._slots import Slot, Slots
from stepleak._structure import UNKNOWN, Structure, at
from stepleak._syntax import FUNCTIONS, Module, called_name
from stepleak._use import Use
from stepleak._user_code import UserCode
from stepleak._uses import uses_of

_FEWEST_BORN = 2


def ended(way: list[Any], born: Container[int], code: UserCode, variable: str = "", function: str = "") -> Structure:
    """Of what the last one of `way` hangs on, each object of which leads to the next. Never raises for what the sources
    contain. `born`: the `id` of each object that was made while steps were recorded. `variable`, `function`: where the
    way begins at a variable of a running function."""
    try:
        return _judged(way, born, code, variable, function)
    except Exception:
        # Source that nobody thought of must not lose the holder itself.
        return UNKNOWN


def _judged(way: list[Any], born: Container[int], code: UserCode, variable: str, function: str) -> Structure:
    new = [at for at, item in enumerate(way) if id(item) in born and not (at and is_namespace_of(way[at - 1], item))]
    end = next((at for at in new if at < len(way) - 1 and _is_longer(way[at], born)), -1)
    is_tuple = end >= 0
    if not is_tuple and new:
        links = [at for at, item in enumerate(way) if type(item) is type(way[new[0]])]
        end = links[1] if len(links) > 1 else -1
    if end < 0:
        return UNKNOWN
    slots = Slots(code, way[: end + 1], variable, function).all()
    known = [slot for slot in slots if slot is not None and not _is_of_loop(slot)]
    if not known or slots[0] is not known[0]:
        return UNKNOWN
    found = owner_replaced(code, known) or UNKNOWN
    if found.kind == "reset":
        return replace(found, kind="conditional")
    names = {name.name for name in known[0].names if name.kind == "attribute"}
    if is_tuple and (found := _perhaps(cut(way[: end + 1], code, variable, function))) != UNKNOWN:
        return found
    uses = (
        _choosing(code, known[0]) if is_tuple else chain(_passing_over(code, known[1:], names), _cutting(code, names))
    )
    use = next(chain(uses, _copying_without(code, names)), None)
    return UNKNOWN if use is None else at("conditional", use)


def _is_longer(item: Any, born: Container[int]) -> bool:
    """Whether it is a tuple of what was there before and of several that were born: not one that keeps a state, all of
    which is made anew."""
    if not is_a(item, tuple):
        return False
    are_born = [id(entry) in born for entry in tuple.__iter__(item)]
    return not all(are_born) and sum(are_born) >= _FEWEST_BORN


def _is_of_loop(slot: Slot) -> bool:
    """Whether a loop gives it one object after the other, which something else has: `for request in active`."""
    for name in slot.names:
        if name.kind == "variable" and name.module is not None and name.scope is not None:
            stores = variable_stores(name.module, name.scope, name.name)
            if any(isinstance(name.module.statement(node), ast.For | ast.AsyncFor) for node in stores):
                return True
    return False


def _perhaps(structure: Structure) -> Structure:
    return replace(structure, kind="conditional", bound=-1) if structure.kind in ("reset", "bounded") else structure


def _passing_over(code: UserCode, slots: list[Slot], links: set[str]) -> Iterator[Use]:
    """Where the next link takes the place of one that a slot has."""
    for slot in slots:
        uses = uses_of(slot, code)
        for use in uses.found:
            value = use.detail if use.kind == "assign" else None
            if isinstance(value, ast.Attribute) and value.attr in links and value.value in uses.denoting:
                yield use


def _choosing(code: UserCode, slot: Slot) -> Iterator[Use]:
    """Where it depends on the length what is made of a tuple: `(None, *rows) if len(rows) < size else rows`."""
    uses = uses_of(slot, code)
    for module in {use.module for use in uses.found}:
        for node in module.nodes:
            if isinstance(node, ast.IfExp) and any(part in uses.lengths for part in ast.walk(node.test)):
                sides = (part for side in (node.body, node.orelse) for part in ast.walk(side))
                if any(part in uses.denoting for part in sides):
                    yield Use("length", module, node)


def _copying_without(code: UserCode, names: set[str]) -> Iterator[Use]:
    """Where an object is copied, and the attribute begins anew in the copy: `replace(self, history=())`."""
    for name in COPYING:
        for module, call in code.calls(name):
            for keyword in call.keywords:
                if keyword.arg in names and is_fresh(keyword.value):
                    yield Use("reset", module, call, keyword.value)


def _cutting(code: UserCode, links: set[str]) -> Iterator[Use]:
    """Where a link that was there before gets nothing in the place of the next one, or the name is deleted."""
    runs = Runs(code)
    for name in links:
        for module in code.mentioning(name)[0]:
            for node in module.named.get(name, ()):
                if not is_stored(node, name) or _is_of_new(module, node.value):
                    continue
                parent, _ = module.parent(node)
                value = getattr(parent, "value", None)
                is_none = isinstance(value, ast.Constant) and value.value is None
                use = Use("reset", module, node, value)
                is_in_steps = not runs.is_set_up(use) and not runs.is_at_end(module, node)
                if (is_none or isinstance(node.ctx, ast.Del)) and is_in_steps:
                    yield use


def _is_of_new(module: Module, owner: ast.expr) -> bool:
    """Whether an object gets its attributes there: in its constructor, or in the function that has made it."""
    if module.class_of_self(owner) is not None:
        return getattr(module.function(owner), "name", "") in CONSTRUCTORS
    if not isinstance(owner, ast.Name):
        return False
    scope = module.resolve(owner, owner.id)
    made = assignments(module, scope, owner.id) if isinstance(scope, FUNCTIONS) else []
    return bool(made) and all(isinstance(value, ast.Call) and called_name(value) for value in made)
