# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What bounds a container that grew: its type, or lines of the user's sources that remove, reset, ask or test.

Being unsure is "unknown". "unbounded" is said only where every use of the container in the sources was followed.
"""

from __future__ import annotations

import ast
import functools
import queue
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stepleak._bounds import Bounds
from stepleak._keys import AreKeysLost
from stepleak._latches import Latches
from stepleak._objects import (
    all_class_names,
    attributes_of,
    bound_of,
    cache_info_of,
    class_attributes_of,
    container_kind,
    full_type_name,
    is_a,
    is_one_of,
    module_namespace,
    namespace_of,
    type_name,
)
from stepleak._places import Places
from stepleak._runs import Runs
from stepleak._slots import Slot, Slots
from stepleak._syntax import Guard, Module, called_name, last_name
from stepleak._unseen import is_array_of_objects, length_of
from stepleak._user_code import OwnerClasses, UserCode
from stepleak._uses import ADDING, CHANGING, Name, Use, Uses

_UNLIMITED = 2**31 - 1
"""As `multiprocessing.Queue()` has it, whose semaphore counts no further."""
_FULL_QUEUES = ("maxsize", "_maxsize")
_CACHES = (functools._lru_cache_wrapper,)
_QUEUES = frozenset(
    {"queue.Queue", "queue.LifoQueue", "queue.PriorityQueue", "_queue.SimpleQueue"}
    | {"asyncio.queues.Queue", "asyncio.queues.LifoQueue", "asyncio.queues.PriorityQueue"}
)
_LIBRARY_CACHES = (("re", "_cache", "_MAXCACHE"), ("re", "_cache2", "_MAXCACHE2"))
"""Module, name and bound of caches of Python's own modules, which make room in a way that no method shows."""
_PLAIN = (list, dict, set, deque, OrderedDict, defaultdict, Counter)
_WEAK = frozenset({"WeakValueDictionary", "WeakKeyDictionary", "WeakSet"})


@dataclass(frozen=True)
class Structure:
    """What bounds a container, and the line that does."""

    kind: str
    """As `stepleak::StructureType`: "unbounded", "bounded", "reset" and so on."""
    bound: int = -1
    """The most entries that it can hold; -1 where that is not known."""
    file: str = ""
    line: int = 0
    text: str = ""


UNKNOWN = Structure("unknown")


@dataclass(frozen=True)
class Judged:
    """What the sources say of a container."""

    structure: Structure = UNKNOWN
    fills: tuple[Use, ...] = ()
    """What surely fills it and is no part of the set-up, where the sources were asked."""
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
    if objects and is_one_of(type(objects[-1]), _CACHES):
        return Judged(_of_cache(objects[-1], sources))
    if objects and is_as_long and is_array_of_objects(objects[-1]):
        return Judged(Structure("bounded", length_of(objects[-1])))
    if not objects or container_kind(objects[-1]) is None:
        return Judged()
    by_type = _of_type(objects, sources, are_keys_lost)
    if by_type is not None:
        return Judged(by_type)
    while len(objects) > 1 and _is_queue(_owner_of(objects)):
        objects = objects[:-1]
    slots = Slots(sources, objects, variable, function).all()
    if not slots or slots[0] is None:
        return Judged()
    try:
        known = [slot for slot in slots if slot is not None]
        return _Judge(objects, sources, known, are_keys_lost, is_as_long).judged()
    except Exception:
        # Source that nobody thought of must not lose the holder itself.
        return Judged()


def _owner_of(objects: list[Any]) -> Any:
    """Whose attribute the last one of a chain is, directly or in its namespace."""
    owners = [o for o in objects[-3:-1] if not is_a(o, dict)]
    return owners[-1] if owners else None


def _is_queue(item: Any) -> bool:
    """Whether it is a queue of one process, which keeps its items in a container of its own."""
    return full_type_name(item) in _QUEUES


def _of_type(objects: list[Any], sources: UserCode, are_keys_lost: AreKeysLost) -> Structure | None:
    container, owner, cache = objects[-1], _owner_of(objects), _cache_of(objects)
    if cache is not None:
        known = _of_cache(cache, sources)
        is_in_vain = known.kind == "keyed" and _is_asked_in_vain(objects, sources, are_keys_lost(container))
        return Structure("unbounded") if is_in_vain and _is_never_cleared(sources) else known
    if bound_of(container) >= 0:
        return Structure("bounded", bound_of(container))
    if (size := _library_bound(container)) >= 0:
        return Structure("bounded", size)
    if all_class_names(owner) & _WEAK:
        return UNKNOWN
    if is_a(owner, queue.Queue) or all_class_names(owner) & {"Queue"}:
        sizes = [v for k, v in attributes_of(owner) if k in _FULL_QUEUES and type(v) is int and v > 0]
        if sizes and sizes[0] < _UNLIMITED:
            return Structure("bounded", sizes[0])
        return None if _is_queue(owner) else UNKNOWN
    return None


def _library_bound(container: Any) -> int:
    """Of a cache of Python's own modules; -1 of everything else."""
    for module, name, bound in _LIBRARY_CACHES:
        namespace = module_namespace(dict.get(sys.modules, module))
        size = dict.get(namespace, bound)
        if container is dict.get(namespace, name) and type(size) is int:
            return size
    return -1


def _cache_of(objects: list[Any]) -> Any:
    """The function whose cache the last one of a chain is, or has its entries in it; None of everything else."""
    if is_one_of(type(objects[-1]), _CACHES):
        return objects[-1]
    owner = _owner_of(objects)
    return owner if is_one_of(type(owner), _CACHES) and namespace_of(owner) is not objects[-1] else None


def _of_cache(owner: Any, sources: UserCode) -> Structure:
    """Of `functools.lru_cache` and `functools.cache`."""
    size = cache_info_of(owner).maxsize
    kind, bound = ("bounded", size) if type(size) is int else ("keyed", -1)
    return Structure(kind, bound, *_decorator_of(owner, sources))


def caching_line(objects: list[Any], sources: UserCode) -> tuple[str, int, str]:
    """File, number and text of the line that gives a function its cache, where the chain's container is of one."""
    cache = _cache_of(objects)
    return ("", 0, "") if cache is None else _decorator_of(cache, sources)


def _decorator_of(owner: Any, sources: UserCode) -> tuple[str, int, str]:
    wrapped = _wrapped_by(owner)
    module = None if wrapped is None else sources.file(wrapped.__code__.co_filename)
    if module is None or wrapped is None:
        return "", 0, ""
    line = wrapped.__code__.co_firstlineno
    return module.file, line, module.line(line)


def _wrapped_by(owner: Any) -> types.FunctionType | None:
    wrapped = next((v for k, v in attributes_of(owner) if k == "__wrapped__"), None)
    return wrapped if type(wrapped) is types.FunctionType else None


def _is_asked_in_vain(objects: list[Any], sources: UserCode, are_keys_lost: bool) -> bool:
    """Whether a function that has a cache, to which a chain of objects leads, is called for ever, and not for what is
    in it.

    Each call hands it something that never comes again, or what it was handed is lost.
    """
    wrapped = _wrapped_by(_cache_of(objects))
    name = "" if wrapped is None else wrapped.__name__
    _, is_whole = sources.mentioning(name) if name else ([], False)
    calls = sources.calls(name) if is_whole else []
    runs = Runs(sources)
    bounds = Bounds(sources, objects)

    def goes_on(module: Module, call: ast.Call) -> bool:
        guards = runs.guards(Use("ask", module, call))
        return not any(bounds.may_end(home, guard, runs.is_once) for home, guard in guards)

    def is_afresh(module: Module, call: ast.Call) -> bool:
        return any(bounds.never_repeats(module, passed, runs.is_once) for passed in _passed_by(call))

    return bool(calls) and all(goes_on(*call) and (are_keys_lost or is_afresh(*call)) for call in calls)


def _passed_by(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_never_cleared(sources: UserCode) -> bool:
    """Whether no cache of a function is emptied anywhere."""
    modules, is_whole = sources.mentioning("cache_clear")
    clearing = (isinstance(n, ast.Attribute) and n.attr == "cache_clear" for module in modules for n in module.nodes)
    return is_whole and not any(clearing)


class _Judge:
    """Weighs what the sources do with one container."""

    def __init__(
        self, objects: list[Any], code: UserCode, slots: list[Slot], are_keys_lost: AreKeysLost, is_as_long: bool
    ) -> None:
        self._container = objects[-1]
        self._are_keys_lost = are_keys_lost
        self._is_as_long = is_as_long
        self._code = code
        self._slot = slots[0]
        self._upper = slots[1:]
        own, methods = all_class_names(self._container), frozenset(class_attributes_of(self._container))
        self._uses = Uses(code, OwnerClasses(code, self._slot.owner), own, methods)
        self._runs = Runs(code, is_closure=self._slot.is_closure)
        self._places = Places(code, self._uses, self._runs)
        self._bounds = Bounds(code, objects, self._places.is_length, self._uses.lengths)
        self._latches = Latches(code, self._bounds, self._runs)
        self._is_sequence = not is_a(self._container, (dict, set))  # type: ignore[arg-type]

    def judged(self) -> Judged:
        self._follow()
        self._places.find_lengths()
        resolved = self._resolved()
        fills = [u for u in resolved if u.kind == "fill" and u.is_sure and not self._runs.is_set_up(u)]
        return Judged(self._structure(resolved), tuple(fills or self._lookups()), self._places.are_items_used())

    def _lookups(self) -> list[Use]:
        """Those that make an item of a `defaultdict` by asking for it, as do those that put something into it."""
        if not self._asks_itself():
            return []
        asked = [u for u in self._uses.found if u.kind == "index" and u.is_sure and not self._is_idle(u)]
        putting = [u for u in asked if _is_put_into(u)]
        return putting or [u for u in asked if not self._runs.is_guarded(u)] or asked

    def _structure(self, resolved: list[Use]) -> Structure:
        uses = sorted(resolved, key=lambda u: (not u.is_sure, u.node.lineno))
        uses = [u for u in uses if not self._runs.is_at_end(u.module, u.node)]
        removing = [u for u in uses if u.kind in ("remove", "reset", "trim")]
        living = [u for u in uses if u.kind not in CHANGING or not self._is_idle(u)]
        taking = [u for u in living if u in removing]
        fills = [u for u in uses if u.kind == "fill"]
        known = (
            self._trimmed(living)
            or self._removed_when_long(taking)
            or self._filled_when_short(fills)
            or self._laid_out(living)
            or self._reset(removing, taking)
        )
        if known is not None:
            return known
        asks = [u for u in uses if u.kind == "ask"]
        filling = [f for f in [*fills, *filter(self._is_filling, asks)] if not self._runs.is_set_up(f)]
        keyed = self._asked(uses, asks, fills)
        if keyed is not None and self._is_in_vain(filling):
            in_vain = self._expiring(taking, fills) or self._unbounded(uses, removing, filling, asks)
            # No key comes again. What may come to an end is that it is filled at all.
            doubted = self._ending(filling) if in_vain == UNKNOWN else None
            return doubted or (keyed if in_vain == UNKNOWN else in_vain)
        found = keyed or self._expiring(taking, fills) or self._unbounded(uses, removing, filling, [])
        return self._conditional(taking) if found == UNKNOWN else found

    # --- the facts ----------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        slot = self._slot
        names = list(slot.names)
        for known in all_class_names(self._container):
            names += [Name("self", "", (), m, c) for m, c in self._code.classes(known)]
        self._uses.follow(names)
        for name in slot.names:
            if name.module is not None and name.scope is not None and self._places.is_parameter(name):
                self._uses.origin_of_parameter(name.module, name.scope, name.name, name.keys)
        for home, keyword in self._places.keywords(slot):
            self._uses.origin(home, keyword, slot.names[0].keys)
        self._uses.follow([])

    def _resolved(self) -> list[Use]:
        """The uses, with each assignment and each item that is set taken for what it does."""
        found = []
        for use in self._uses.found:
            kind, detail = use.kind, use.detail
            if kind == "assign":
                kind, detail = self._places.assigned(use)
                if kind == "reset" and self._runs.is_making(use.module, use.node):
                    kind = "make"
            elif kind == "put" and not self._is_sequence:
                kind = "fill"
            elif kind == "index" and (self._asks_itself() or (not self._is_sequence and self._places.is_tried(use))):
                kind = "ask"
            found.append(Use(kind, use.module, use.node, detail, use.is_sure))
        return found

    def _asks_itself(self) -> bool:
        return is_a(self._container, defaultdict) or "__missing__" in class_attributes_of(self._container)

    def _is_idle(self, use: Use) -> bool:
        """Whether no step does it."""
        return is_idle(use, self._runs, self._bounds) or self._latches.is_shut(use.module, use.node)

    # --- the rules, the first that applies ----------------------------------------------------------------------------

    def _trimmed(self, uses: list[Use]) -> Structure | None:
        for use in uses:
            if use.kind == "trim":
                number = self._cut(use)
                if number != 0:
                    return self._at("bounded", use, max(number, self._allowed_before(use)))
            key = use.detail
            if use.kind in ("put", "fill") and isinstance(key, ast.BinOp) and isinstance(key.op, ast.Mod):
                module, parent = use.module, use.module.parent(use.node)[0]
                if isinstance(parent, ast.Subscript):
                    return self._at("bounded", use, self._number_of_slots(module, key.right))
        return None

    def _allowed_before(self, use: Use) -> int:
        """The length up to which nothing is removed there, where that is tested: what is cut to 60 once it has 120
        holds 120; -1 where none is."""
        return max((number for lets_short, number, _ in self._tests_of_length(use) if not lets_short), default=-1)

    def _tests_of_length(self, use: Use) -> Iterator[tuple[bool, int, Guard]]:
        """Those under which it is done: whether each lets short ones through, the length that it names, and itself."""
        for module, guard in self._runs.guards(use):
            allowed = self._bounds.allowed(module, guard.test, guard.holds)
            if allowed is not None:
                yield *allowed, guard

    def _number_of_slots(self, module: Module, number: ast.expr) -> int:
        """Of a ring: `slots[i % len(slots)]` stays as long as it was made."""
        is_own = self._is_sequence and self._places.is_length(module, number)
        return length_of(self._container) if is_own else self._bounds.number(module, number)

    def _cut(self, use: Use) -> int:
        """What a trim leaves; 0: less than there was by a fixed number."""
        parent, _ = use.module.parent(use.node)
        is_deleting = isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Del)
        if not isinstance(use.detail, ast.Slice):
            return self._bounds.number(use.module, use.detail)
        if not is_deleting:
            return self._bounds.kept_by_slice(use.module, use.detail)
        # What `del x[:-n]` leaves is `x[-n:]`.
        left = ast.Slice(lower=use.detail.upper, upper=use.detail.lower)
        return self._bounds.kept_by_slice(use.module, left)

    def _removed_when_long(self, removing: list[Use]) -> Structure | None:
        for use in removing:
            for lets_short, number, _ in self._tests_of_length(use):
                if number != 0 and not (use.kind == "remove" and lets_short):
                    return self._at("bounded", use, number)
        return None

    def _filled_when_short(self, fills: list[Use]) -> Structure | None:
        fills = [f for f in fills if not self._runs.is_set_up(f)]
        limits = [self._limit(fill) for fill in fills]
        if not fills or None in limits:
            return None
        known = [limit for limit in limits if limit is not None]
        return self._at("bounded", fills[0], -1 if -1 in known else max(known))

    def _laid_out(self, uses: list[Use]) -> Structure | None:
        """What was made with all its places, and is filled by their numbers, whatever counts these."""
        late = [u for u in uses if not self._runs.is_set_up(u)]
        puts = [u for u in late if u.kind == "put"]
        if not self._is_as_long or not self._is_sequence or not puts or any(u.kind == "fill" for u in late):
            return None
        return self._at("bounded", puts[0], length_of(self._container))

    def _limit(self, fill: Use) -> int | None:
        for lets_short, number, guard in self._tests_of_length(fill):
            if lets_short and not guard.is_loop:
                return number
        for guard in fill.module.guards(fill.node):
            is_negated = isinstance(guard.test, ast.UnaryOp) and guard.test.operand in self._uses.denoting
            if not guard.is_loop and is_negated and guard.holds:
                return 1
        return self._limit_of_count(fill)

    def _limit_of_count(self, fill: Use) -> int | None:
        """Under a test of something that is only ever counted up: the number, where that is counted beside it."""
        for module, guard in self._runs.guards(fill):
            number = self._bounds.ends(module, guard, self._runs.is_once)
            if number is not None:
                return number if self._places.is_counted_beside(fill, guard) else -1
        return None

    def _reset(self, removing: list[Use], taking: list[Use]) -> Structure | None:
        emptying = [use for use in removing if self._is_emptying(use)]
        for use in emptying:
            if use in taking:
                is_over = self._latches.has(use.module, use.node)
                return self._at("conditional" if is_over else "reset", use)
        return owner_replaced(self._code, [self._slot, *self._upper]) or (
            self._at("uncalled", emptying[0]) if emptying else None
        )

    def _is_emptying(self, use: Use) -> bool:
        if use.kind == "remove":
            return self._places.is_drained(use)
        return use.kind == "reset" or self._is_whole_cut(use)

    def _is_whole_cut(self, use: Use) -> bool:
        cut = use.detail
        return isinstance(cut, ast.Slice) and cut.lower is None and cut.upper is None

    def _is_filling(self, ask: Use) -> bool:
        """Whether it puts in what is not there: `setdefault`, or an item of a `defaultdict`."""
        parent, _ = ask.module.parent(ask.node)
        is_item = isinstance(parent, ast.Subscript) and self._asks_itself()
        return is_item or (isinstance(parent, ast.Attribute) and parent.attr == "setdefault")

    def _is_in_vain(self, filling: list[Use]) -> bool:
        """Whether nothing that is asked for is there: each key is another one, or nobody has any of them any more."""
        if self._is_sequence or not filling:
            return False
        return all(self._is_fresh(fill) for fill in filling) or self._are_keys_lost(self._container)

    def _asked(self, uses: list[Use], asks: list[Use], fills: list[Use]) -> Structure | None:
        if asks:
            return self._at("keyed", asks[0])
        if self._is_sequence or any(u.kind == "remove" for u in uses):
            return None
        for fill in fills:
            if not self._runs.is_set_up(fill) and not self._is_fresh(fill):
                return self._at("keyed", fill)
        return None

    def _expiring(self, removing: list[Use], fills: list[Use]) -> Structure | None:
        """What drops what has been in it for long enough: by a key that many counts ago, or by a test of each item."""
        for use in removing:
            if use.kind != "remove":
                continue
            key = use.detail
            if isinstance(key, ast.BinOp) and isinstance(key.op, ast.Sub) and any(self._is_fresh(f) for f in fills):
                bound = self._bounds.number(use.module, key.right)
                return self._at("bounded" if bound > 0 else "expiring", use, bound)
            if self._places.is_of_old(use):
                return self._at("expiring", use)
        return None

    def _is_fresh(self, fill: Use) -> bool:
        if isinstance(fill.detail, ast.Dict):
            keys = fill.detail.keys
            return bool(keys) and all(self._bounds.never_repeats(fill.module, k, self._runs.is_once) for k in keys)
        parent, _ = fill.module.parent(fill.node)
        statement = fill.module.statement(fill.node)
        is_merged = isinstance(statement, ast.AugAssign) and statement.target is fill.node
        if is_merged or (isinstance(parent, ast.Attribute) and parent.attr in ("update", "extend")):
            return False
        return self._bounds.never_repeats(fill.module, fill.detail, self._runs.is_once)

    def _unbounded(self, uses: list[Use], removing: list[Use], in_steps: list[Use], in_vain: list[Use]) -> Structure:
        """`in_steps`: what fills it. `in_vain`: what asks for what is never there, and so keeps nothing from it."""
        is_clear = (
            self._uses.is_whole
            and not removing
            and not any(use.kind == "escape" for use in uses)
            and not any(map(self._is_deciding, self._places.tested_lengths()))
            and not any(self._rooms())
            and not self._is_libraries()
            and all(self._runs.entered(name) == "once" for name in self._slot.names)
            and (any(use.kind == "make" for use in uses) or self._places.is_made_by_call(self._slot))
        )
        # Which of several fills it once was is not known: one that may cease bounds what it fills.
        is_endless = bool(in_steps) and all(self._fills_for_ever(fill, in_vain) for fill in in_steps)
        return Structure("unbounded") if is_clear and is_endless else UNKNOWN

    def _rooms(self) -> Iterator[Use]:
        """Where it is asked how many are missing, for more than to show it: `items[: self.size - len(self.kept)]`, and
        `range(len(self.kept), size)`."""
        for module in {use.module for use in self._uses.found}:
            for node in module.nodes:
                if isinstance(node, ast.expr) and self._is_room(module, node):
                    yield Use("length", module, node)

    def _is_room(self, module: Module, node: ast.expr) -> bool:
        def is_of_length(part: ast.expr) -> bool:
            return any(self._places.is_length(module, inner) for inner in ast.walk(part))

        if isinstance(node, ast.Call):
            return called_name(node) == "range" and len(node.args) > 1 and is_of_length(node.args[0])
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
            return False
        is_shown = any(isinstance(o, ast.FormattedValue) or called_name(o) == "print" for o, _ in module.around(node))
        return is_of_length(node.right) and not is_of_length(node.left) and not is_shown

    def _is_deciding(self, use: Use) -> bool:
        return self._places.is_deciding(use) and not (self._is_of_len(use) and self._is_len_only_read())

    def _is_of_len(self, use: Use) -> bool:
        """Whether it is what `__len__` returns: the length, or that up to a number. As a truth it says no more than
        that there is something, which does not change while it grows."""
        function, statement = use.module.function(use.node), use.module.statement(use.node)
        if not isinstance(statement, ast.Return) or getattr(function, "name", "") != "__len__":
            return False
        value = statement.value
        parts = value.args if isinstance(value, ast.Call) and called_name(value) == "min" else [value]
        return any(part in self._uses.lengths for part in parts)

    def _is_len_only_read(self) -> bool:
        """Whether no test of what `len()` says, of whatever may have the container, may change the container."""
        calls = [*self._code.calls("len"), *self._code.calls("__len__")]
        waiting: list[tuple[Module, ast.expr]] = [
            (module, call)
            for module, call in calls
            if call not in self._uses.lengths
            and not self._runs.is_once(module, call)
            and not self._runs.is_before_steps(module, call)
        ]
        seen: set[ast.AST] = set()
        while waiting:
            module, node = waiting.pop()
            names = [] if node in seen else self._names_given(module, node)
            if names is None:
                return False
            seen.add(node)
            for name in names:
                loads = (n for n in module.named.get(name.id, ()) if isinstance(n.ctx, ast.Load))
                scope = module.resolve(name, name.id)
                waiting += [(module, load) for load in loads if module.resolve(load, name.id) is scope]
        return True

    def _names_given(self, module: Module, node: ast.expr) -> list[ast.Name] | None:
        """Variables that get what is made of an expression; None where it decides something, or gets out of sight."""
        is_tested = False
        for outer, field in module.around(node):
            if isinstance(outer, ast.BinOp) and isinstance(outer.op, (ast.Div, ast.FloorDiv)) and field == "right":
                return []
            is_tested = is_tested or field in ("test", "ifs", "subject") or isinstance(outer, (ast.Compare, ast.BoolOp))
            if field == "value" and isinstance(outer, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
                targets = outer.targets if isinstance(outer, ast.Assign) else [outer.target]
                names = [target for target in targets if isinstance(target, ast.Name)]
                return names if len(names) == len(targets) and not isinstance(outer, ast.NamedExpr) else None
            if isinstance(outer, (ast.Return, ast.Yield, ast.YieldFrom)):
                return [] if getattr(module.function(node), "name", "") == "__len__" else None
            if isinstance(outer, ast.stmt):
                break
        return None if is_tested and self._places.is_deciding(Use("length", module, node)) else []

    def _conditional(self, taking: list[Use]) -> Structure:
        """Where something takes items out, or asks how many there are before it does so, and cannot be understood."""
        tests = (use for use in [*self._rooms(), *self._places.tested_lengths()] if not self._is_idle(use))
        known = next((use for use in taking if use.is_sure), None) or next(tests, None)
        return UNKNOWN if known is None else self._at("conditional", known)

    def _fills_for_ever(self, fill: Use, in_vain: list[Use]) -> bool:
        is_phase = self._runs.is_phase(fill.module, fill.node)
        return (
            fill.is_sure
            and not is_phase
            and not self._places.is_moved(fill)
            and not any(
                self._bounds.may_end(module, guard, self._runs.is_once)
                and not self._places.depends_on(module, guard.test, in_vain)
                for module, guard in self._runs.guards(fill)
            )
        )

    def _ending(self, filling: list[Use]) -> Structure | None:
        """The test under which something fills it, and which may not hold for ever."""
        for fill in filling:
            for module, guard in self._runs.guards(fill):
                if self._bounds.may_end(module, guard, self._runs.is_once):
                    return self._at("conditional", Use("test", module, guard.test))
        return None

    def _is_libraries(self) -> bool:
        """Whether code that is not read may know the container: methods of a library's class among the owner's."""
        is_known = is_one_of(type(self._container), _PLAIN) or _is_queue(self._container)
        if not is_known and not self._code.classes(type_name(self._container)):
            return True
        owner, name = self._slot.owner, self._slot.names[0].name
        for attribute in class_attributes_of(owner).values() if owner is not None else ():
            function = attribute.__func__ if type(attribute) in (staticmethod, classmethod) else attribute
            if type(function) is not types.FunctionType or name not in function.__code__.co_names:
                continue
            if function.__code__.co_filename.startswith("<") or self._code.file(function.__code__.co_filename):
                continue
            return True
        return False

    def _at(self, kind: str, use: Use, bound: int = -1) -> Structure:
        if kind == "bounded" and 0 < 2 * bound < length_of(self._container):
            # The line is there, and does not run: what it would leave says nothing.
            return UNKNOWN
        return at(kind, use, bound)


def is_idle(use: Use, runs: Runs, bounds: Bounds) -> bool:
    """Whether no step does it: a setting keeps it from running, or nothing calls it."""
    is_off = any(bounds.is_off(module, guard) for module, guard in runs.guards(use))
    return is_off or runs.is_uncalled(use.module, use.node)


def owner_replaced(code: UserCode, slots: list[Slot]) -> Structure | None:
    """The line that puts another object in the place of one on the way, or takes it away; None where there is none.

    `slots`: those of one chain, the innermost first, which is not asked about.
    """
    uncalled: Structure | None = None
    for slot, below in zip(slots[1:], slots, strict=False):
        uses = Uses(code, OwnerClasses(code, slot.owner), frozenset(), frozenset())
        uses.follow(list(slot.names))
        if not uses.is_whole:
            return UNKNOWN
        runs = Runs(code, is_closure=slot.is_closure)
        places = Places(code, uses, runs)
        for use in uses.found:
            assigned = places.assigned(use)[0] if use.kind == "assign" else use.kind
            is_gone = assigned in ("reset", "remove") and not _is_carried_over(use, uses, below)
            is_here = use.kind == "reset" or not runs.is_making(use.module, use.node)
            if not is_gone or not is_here or runs.is_at_end(use.module, use.node):
                continue
            if runs.is_uncalled(use.module, use.node):
                uncalled = uncalled or (None if code.is_over(use.module, use.node) else at("uncalled", use))
            else:
                latches = Latches(code, Bounds(code, []), runs)
                return at("conditional" if latches.has(use.module, use.node) else "reset", use)
    return uncalled


def at(kind: str, use: Use, bound: int = -1) -> Structure:
    """With the line of a use."""
    statement = use.module.statement(use.node)
    is_compound = hasattr(statement, "body")
    line = use.node.lineno if is_compound else getattr(statement, "lineno", use.node.lineno)
    return Structure(kind, bound if bound > 0 else -1, use.module.file, line, use.module.line(line))


def _is_put_into(lookup: Use) -> bool:
    """Whether the item that it asks for is filled there: `kept[key].append(x)`."""
    item, _ = lookup.module.parent(lookup.node)
    method = None if item is None else lookup.module.parent(item)[0]
    return isinstance(method, ast.Attribute) and method.attr in ADDING


def _is_carried_over(use: Use, uses: Uses, below: Slot) -> bool:
    """Whether what takes an owner's place may have been given the owner, or what it keeps.

    `Epoch(self.epoch.number + 1)` has not; `State(self.state)`, `State(self.state.kept)` and `self.state.next()` may,
    and so may `Probe(self.bus)`, where the owner keeps it as `bus`.
    """
    names = {name.name for name in below.names}
    for node in ast.walk(use.detail) if use.detail is not None else ():
        if isinstance(node, (ast.Attribute, ast.Name)) and last_name(node) in names:
            return True
        if node in uses.denoting:
            part, _ = use.module.parent(node)
            if not isinstance(part, ast.Attribute) or part.attr in names:
                return True
            call, _ = use.module.parent(part)
            if isinstance(call, ast.Call) and call.func is part:
                return True
    return False
