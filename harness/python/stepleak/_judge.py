# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What bounds a container that grew: its type, or lines of the user's sources that remove, reset, ask or test.

Being unsure is "unknown". "unbounded" is said only where every use of the container in the sources was followed.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Any

from stepleak._any_removals import removals_of_any
from stepleak._by_type import CACHES, is_kept_weakly, is_of_library, is_queue, is_wrapper, of_cache, of_type, owner_of
from stepleak._capacity import Capacity
from stepleak._container_words import ADDING
from stepleak._facts import Facts
from stepleak._growth import Growth
from stepleak._key_types import is_of_other_type
from stepleak._keys import AreKeysLost
from stepleak._library_code import filled_once_a_key
from stepleak._library_objects import of_library_object
from stepleak._objects import container_kind, is_one_of
from stepleak._own_removals import are_calls_over, is_of_own_call, is_put_back, undoes_own_set
from stepleak._passing import is_passing
from stepleak._replaced import owner_replaced
from stepleak._slots import Slots
from stepleak._structure import UNKNOWN, Structure
from stepleak._unseen import is_array_of_objects, length_of
from stepleak._use import CHANGING, TAKING, Use
from stepleak._user_code import UserCode


@dataclass(frozen=True)
class Judged:
    """What the sources say of a container."""

    structure: Structure = UNKNOWN
    fills: tuple[Use, ...] = ()
    """What surely fills it and is no part of the set-up, where the sources were asked."""
    over: tuple[Use, ...] = ()
    """What fills it while it is short, which it is no more; others go on."""
    is_taken_from: bool = False
    """Whether something else takes items, too: that some go does not say that what may keep it small has run."""
    is_passing: bool = False
    """Whether all that fills it comes by the lines that may take something, and would find it there."""
    are_items_used: bool = False
    """Whether the sources do more with what it holds than numbers allow: stack it, index it, hand it on."""


def judged(
    objects: list[Any],
    sources: UserCode,
    variable: str = "",
    function: str = "",
    are_keys_lost: AreKeysLost = lambda _: False,
    is_as_long: bool = False,
) -> Judged:
    """Of the last one of a chain of objects, each of which leads to the next.

    `variable`, `function`: where the chain begins at a variable of a running function. `is_as_long`: whether it is
    known to have as many entries as before, though it has got new ones. Never raises for what the sources contain.
    """
    if objects and is_one_of(type(objects[-1]), CACHES):
        return Judged(of_cache(objects[-1], sources))
    if objects and is_as_long and is_array_of_objects(objects[-1]):
        return Judged(Structure("bounded", length_of(objects[-1])))
    if not objects or container_kind(objects[-1]) is None:
        return Judged()
    by_type = of_type(objects, sources, are_keys_lost)
    if by_type is not None:
        return Judged(by_type)
    while len(objects) > 1 and is_queue(owner_of(objects)):
        objects = objects[:-1]
    found = _of_wrapper(objects, sources, variable, function, are_keys_lost, is_as_long) or _of_sources(
        objects, sources, variable, function, are_keys_lost, is_as_long
    )
    if found.structure.kind == "unbounded" and is_kept_weakly(objects):
        return replace(found, structure=UNKNOWN)
    if found.structure != UNKNOWN:
        return found
    try:
        structure = of_library_object(objects, sources, variable, function)
        if structure != UNKNOWN:
            return replace(found, structure=structure, is_taken_from=True)
        keyed = _filled_once_a_key(objects, sources, are_keys_lost)
        return found if keyed is None else replace(found, structure=keyed)
    except Exception:
        return found


def _filled_once_a_key(objects: list[Any], sources: UserCode, are_keys_lost: AreKeysLost) -> Structure | None:
    """Of a library's table, where somebody may ask again for what came."""
    owner = owner_of(objects)
    keyed = filled_once_a_key(owner, objects[-1]) if is_of_library(owner, sources) else None
    return None if keyed is None or are_keys_lost(objects[-1]) else keyed


def _of_wrapper(
    objects: list[Any], sources: UserCode, variable: str, function: str, are_keys_lost: AreKeysLost, is_as_long: bool
) -> Judged | None:
    """Of the `data` of a `UserDict` or `UserList`, by what is done with that; None where it is no such, or where that
    does not tell."""
    owner = owner_of(objects)
    if not is_wrapper(owner, objects[-1]):
        return None
    outer = objects[: -1 if objects[-2] is owner else -2]
    found = _of_sources(outer, sources, variable, function, are_keys_lost, is_as_long, objects[-1])
    is_known = found.structure.kind not in ("unknown", "unbounded", "keyed")
    is_data_used = any(module.named.get("data") for module, _ in sources.definitions(type(owner)))
    return found if is_known or not is_data_used else None


def _of_sources(
    objects: list[Any],
    sources: UserCode,
    variable: str,
    function: str,
    are_keys_lost: AreKeysLost,
    is_as_long: bool,
    container: Any = None,
) -> Judged:
    slots = Slots(sources, objects, variable, function).all()
    if not slots or slots[0] is None:
        return Judged()
    try:
        known = [slot for slot in slots if slot is not None]
        facts = Facts(objects, sources, known, is_as_long, objects[-1] if container is None else container)
        return Judge(facts, are_keys_lost).judged()
    except Exception:
        # Source that nobody thought of must not lose the holder itself.
        return Judged()


class Judge:
    """Weighs what the sources do with one container."""

    def __init__(self, facts: Facts, are_keys_lost: AreKeysLost) -> None:
        self._are_keys_lost = are_keys_lost
        self._facts = facts
        self._capacity = Capacity(self._facts)
        self._growth = Growth(self._facts)
        self._is_expiry = False
        """Whether what may keep it small drops what is old."""
        self._is_passing = False
        """Whether what may keep it small is what all that fills it comes by."""

    def judged(self) -> Judged:
        self._facts.follow()
        resolved = self._facts.resolved()
        fills = [u for u in resolved if u.kind == "fill" and u.is_sure and not self._facts.runs.is_set_up(u)]
        structure = self._structure(resolved)
        over = tuple(fill for fill in fills if self._capacity.is_over(fill))
        return Judged(
            structure,
            tuple(fill for fill in fills if fill not in over) or tuple(fills or self._lookups()),
            over=over if len(over) < len(fills) else (),
            is_taken_from=structure.kind == "conditional" and self._is_expiry,
            is_passing=structure.kind == "conditional" and self._is_passing,
            are_items_used=self._facts.places.are_items_used(),
        )

    def _lookups(self) -> list[Use]:
        """Those that make an item of a `defaultdict` by asking for it, as do those that put something into it."""
        if not self._facts.asks_itself():
            return []
        asked = [u for u in self._facts.uses.found if u.kind == "index" and u.is_sure and not self._facts.is_idle(u)]
        putting = [u for u in asked if _is_put_into(u)]
        return putting or [u for u in asked if not self._facts.runs.is_guarded(u)] or asked

    def _structure(self, resolved: list[Use]) -> Structure:
        uses = sorted(resolved, key=lambda u: (not u.is_sure, u.node.lineno))
        uses = [u for u in uses if not self._facts.runs.is_at_end(u.module, u.node)]
        uses = [u for u in uses if not is_of_other_type(u, self._facts) and not is_put_back(u)]
        uses = self._without_own_removals(uses)
        uses = self._without_passed_removals(uses)
        removing = [u for u in uses if u.kind in TAKING]
        living = [u for u in uses if u.kind not in CHANGING or not self._facts.is_idle(u)]
        taking = [u for u in living if u in removing]
        fills = [u for u in uses if u.kind == "fill"]
        known = (
            self._capacity.trimmed(living, fills)
            or self._capacity.removed_when_long(taking, fills)
            or self._capacity.removed_when_large(taking, fills)
            or self._capacity.filled_when_short(fills)
            or self._capacity.laid_out(living)
            or self._reset(removing, taking)
        )
        if known is None and self._facts.slot.is_suspended and self._facts.runs.ends_often(self._facts.slot.names[0]):
            return self._end_of_call()
        if known == UNKNOWN:
            # What is to keep it short does not: something else may drop what is old.
            return self._expiring(taking, fills) or UNKNOWN
        if known is not None:
            return known
        asks = [u for u in uses if u.kind == "ask"]
        filling = [f for f in [*fills, *filter(self._is_filling, asks)] if not self._facts.runs.is_set_up(f)]
        keyed = self._asked(uses, asks, fills)
        if keyed is not None and self._is_in_vain(filling):
            in_vain = self._expiring(taking, fills) or self._growth.unbounded(uses, removing, filling, asks)
            # No key comes again. What may come to an end is that it is filled at all.
            doubted = self._growth.ending(filling, self._of_same_keys(asks, filling)) if in_vain == UNKNOWN else None
            if doubted is None and in_vain == UNKNOWN and removing and not taking:
                # What could take something out does not run. That is no proof, but the key bounds nothing either.
                return keyed if self._growth.unbounded(uses, [], filling, asks) == UNKNOWN else UNKNOWN
            return doubted or (keyed if in_vain == UNKNOWN else in_vain)
        found = keyed or self._expiring(taking, fills) or self._growth.unbounded(uses, removing, filling, [])
        still = [fill for fill in filling if not self._capacity.is_over(fill)]
        if found != UNKNOWN:
            return found
        are_tests_over = self._growth.conditional([], still, uses) == UNKNOWN
        self._is_passing = are_tests_over and is_passing(self._facts, taking, filling)
        conditional = self._growth.conditional(taking, still, uses)
        if conditional != UNKNOWN or all(use.kind != "escape" for use in uses):
            return conditional
        removal = next(removals_of_any(self._facts), None)
        return UNKNOWN if removal is None else self._facts.at("conditional", removal)

    def _end_of_call(self) -> Structure:
        """What a variable of a coroutine or a generator has is gone with its call."""
        name = self._facts.slot.names[0]
        line: int = name.scope.lineno  # type: ignore[union-attr]
        return Structure("reset", -1, name.module.file, line, name.module.line(line))  # type: ignore[union-attr]

    def _of_same_keys(self, asks: list[Use], filling: list[Use]) -> list[Use]:
        """Those that ask for the very key that is put in then."""
        keys = {ast.unparse(fill.detail) for fill in filling if fill.detail is not None}
        return [ask for ask in asks if ask.detail is not None and ast.unparse(ask.detail) in keys]

    def _without_own_removals(self, uses: list[Use]) -> list[Use]:
        """Without those that take out what their own call has put in: that is over by now."""
        fills = [u for u in uses if u.kind == "fill" and not self._facts.runs.is_set_up(u)]
        uses = [u for u in uses if not undoes_own_set(u, uses, self._facts.code)]
        own = [u for u in uses if is_of_own_call(u, fills)]
        if not own or not all(map(self._facts.is_fresh, fills)) or not are_calls_over(own[0], self._facts.container):
            return uses
        return [u for u in uses if u not in own]

    def _without_passed_removals(self, uses: list[Use]) -> list[Use]:
        """Without those that run no more, since it is longer than the tests around them let it be."""
        tests = {use: list(self._capacity.passed_tests(use)) for use in uses if use.kind in TAKING}
        self._growth.passed = {test: use for use, found in tests.items() for test in found}
        return [use for use in uses if not tests.get(use)]

    def _expiring(self, taking: list[Use], fills: list[Use]) -> Structure | None:
        """Where something else takes items of any age, such as the first of a heap, that old ones go does not say that
        any has expired."""
        found = self._capacity.expiring(taking, fills)
        is_any_taken = any(
            use.kind == "remove" and use.detail is None and not self._facts.places.is_of_old(use) for use in taking
        )
        if found is None or found.kind != "expiring" or not is_any_taken:
            return found
        self._is_expiry = True
        return replace(found, kind="conditional")

    def _reset(self, removing: list[Use], taking: list[Use]) -> Structure | None:
        emptying = [use for use in removing if self._is_emptying(use)]
        for use in emptying:
            if use in taking:
                is_over = self._facts.latches.has(use.module, use.node)
                return self._facts.at("conditional" if is_over else "reset", use)
        return owner_replaced(self._facts.code, self._facts.slots) or (
            self._facts.at("uncalled", emptying[0]) if emptying else None
        )

    def _is_emptying(self, use: Use) -> bool:
        if use.kind == "remove":
            return self._facts.places.is_drained(use)
        return use.kind == "reset" or self._is_whole_cut(use)

    def _is_whole_cut(self, use: Use) -> bool:
        cut = use.detail
        return isinstance(cut, ast.Slice) and cut.lower is None and cut.upper is None

    def _is_filling(self, ask: Use) -> bool:
        """Whether it puts in what is not there: `setdefault`, or an item of a `defaultdict`."""
        parent, _ = ask.module.parent(ask.node)
        is_item = isinstance(parent, ast.Subscript) and self._facts.asks_itself()
        return is_item or (isinstance(parent, ast.Attribute) and parent.attr == "setdefault")

    def _is_guarding(self, ask: Use, fills: list[Use]) -> bool:
        """Whether something is put in or not by what is asked there, or in a function that does so: a mere look-up
        says nothing of what fills it."""
        function = ask.module.function(ask.node)
        calls = [] if function is None else self._facts.code.calls(function.name)
        answers = [ask, *(Use("ask", module, call) for module, call in calls)]
        parent, _ = ask.module.parent(ask.node)
        return isinstance(parent, ast.Subscript) or any(
            self._facts.places.depends_on(module, guard.test, answers)
            for fill in fills
            for module, guard in self._facts.runs.guards(fill)
        )

    def _is_in_vain(self, filling: list[Use]) -> bool:
        """Whether nothing that is asked for is there: each key is another one, or nobody has any of them any more."""
        if self._facts.is_sequence or not filling:
            return False
        return all(self._facts.is_fresh(fill) for fill in filling) or self._are_keys_lost(self._facts.container)

    def _asked(self, uses: list[Use], asks: list[Use], fills: list[Use]) -> Structure | None:
        if asks:
            telling = [ask for ask in asks if self._is_filling(ask) or self._is_guarding(ask, fills)]
            late = [fill for fill in fills if not self._facts.runs.is_set_up(fill)]
            return self._facts.at("keyed", (telling or late or asks)[0])
        if self._facts.is_sequence or any(u.kind == "remove" for u in uses):
            return None
        for fill in fills:
            if not self._facts.runs.is_set_up(fill) and not self._facts.is_fresh(fill):
                return self._facts.at("keyed", fill)
        return None


def _is_put_into(lookup: Use) -> bool:
    """Whether the item that it asks for is filled there: `kept[key].append(x)`."""
    item, _ = lookup.module.parent(lookup.node)
    method = None if item is None else lookup.module.parent(item)[0]
    return isinstance(method, ast.Attribute) and method.attr in ADDING
