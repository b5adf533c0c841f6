# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Shortest paths from a root of the program to an object, over `gc.get_referrers`."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import gc
import math
import signal
import sys
import threading
import types
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from stepleak._births import Births
from stepleak._entries import Entries
from stepleak._folders import UserFiles
from stepleak._frames import (
    Position,
    ReadLocals,
    RunningFrames,
    Variable,
    beginning_of,
    frame_of,
    is_ours,
    name_in,
    position_of,
    running_frames,
)
from stepleak._homes import homes_of
from stepleak._laggards import laggard_before, place_of_block
from stepleak._limit import OutOfTimeError, TimeLimit
from stepleak._named_loggers import asked_for
from stepleak._objects import (
    callable_name,
    class_namespace_of,
    container_kind,
    groups_of,
    is_a,
    is_namespace_of,
    is_one_of,
    module_namespace,
    name_of,
    optimizers_states,
    referents_of,
    type_name,
)
from stepleak._tensors import held_by_autograd
from stepleak._unseen import contents_of, context_variables, unseen_holders

_MOST_VISITED = 4000
_MOST_DEPTH = 24
_MOST_PAST_A_VARIABLE = 4
"""Layers searched on for a module or the step, which name a holder better, once a running function's variable leads."""
_MOST_PAST_A_LIBRARY = 12
"""Layers searched on for any root of the user's, once one of a library leads: each of the user's objects on that way is
two layers, with its namespace."""
AT_EXIT = "atexit"
"""The root of functions that are called at exit, and of what they are called with."""
_CALLED_AT_EXIT: tuple[type, ...] = (tuple, functools.partial, types.FunctionType, types.MethodType)
_AT_ONCE = 128
"""Objects whose referrers are asked for at once: among millions that takes seconds, which nothing interrupts."""
_ITERATORS: tuple[type, ...] = (type(iter([])), type(iter({}.items())))
"""Of which ours hold a layer for the moment, and a generator's what its loop goes over."""


_FUNCTIONS: tuple[type, ...] = (types.FunctionType, types.MethodType)


class End(enum.Enum):
    """How a search ended."""

    FOUND = enum.auto()
    NOT_HELD = enum.auto()
    """No Python object refers to the target: what C++ holds proves nothing."""
    NO_ROOT = enum.auto()
    """Every reference to whatever leads to the target was seen, and none comes from a root: a cycle."""
    UNKNOWN = enum.auto()
    """Something that cannot be seen refers to it (C++, an untracked object), or too many objects lead to it."""


@dataclass(frozen=True)
class Search:
    """How one search ended, and the way from a root where it found one."""

    end: End
    root_name: str = ""
    """The step's or a module's name; of a variable "local of main"."""
    objects: list[Any] = field(default_factory=list)
    """From the root to the target; from what the variable holds, where a variable is the root."""
    is_namespace: bool = False
    """Whether the root is the dict of a module's globals."""
    variable: str = ""
    """Of a running or suspended function, where that is the root."""
    scope: Position | None = None
    """Where that function begins."""
    waits_at: Position | None = None
    """Where that function stands, if it is suspended or runs on another thread."""
    shared: int = -1
    """From where on a module leads along the way as well, and not by the variable: what that gets next takes nothing
    away; -1 where none was seen to."""
    came_from: dict[int, Any] = field(default_factory=dict)
    """Where no root was found: what each object that leads to the target holds, by the object's `id`."""
    visited: list[Any] = field(default_factory=list)
    """Where no root was found: the target, and these objects."""


class Paths:
    """Searches from the same roots: the step, modules, and variables of running functions."""

    def __init__(
        self,
        root: Any,
        ignored: list[Any],
        read_locals: ReadLocals,
        limit: TimeLimit | None = None,
        *,
        are_exit_calls_more: bool = False,
    ) -> None:
        """`are_exit_calls_more`: whether functions were registered to be called at exit, which nothing can list."""
        self._are_exit_calls_more = are_exit_calls_more
        self._limit = TimeLimit(math.inf) if limit is None else limit
        self._root = root
        self._read_locals = read_locals
        self._roots: dict[int, str] = {}
        self._frames = RunningFrames(read_locals)
        if root is not None:
            self._roots[id(root)] = callable_name(root)
        for name, module in list(dict.items(sys.modules)):
            if is_a(module, types.ModuleType) and type(name) is str:
                self._roots.setdefault(id(module_namespace(module)), name)
        for namespace, name in self._frames.namespaces.items():
            self._roots.setdefault(namespace, name)
        for name, handler in _signal_handlers():
            self._roots.setdefault(id(handler), name)
        loaded = [m for m in list(dict.values(sys.modules)) if is_a(m, types.ModuleType)]
        modules = [m for m in loaded if not _is_users(m, self._frames.files)]
        self._of_libraries = {id(module_namespace(m)) for m in modules} - {id(root)}
        self._known: list[Search] = []
        """Ways that were found, on which lie those to the objects on them."""
        self._ignored = {id(o) for o in ignored} | {id(self._roots), id(self._known), id(self.__dict__)}
        self._unseen = context_variables()
        self._is_all_known = False
        self._ignore_unseen()

    def to(self, target: Any) -> Search:
        """The shortest path from a root, or why there is none."""
        known = self._way_along_known(target)
        if known is not None:
            return known
        search = self._search(target)
        if search.end is not End.FOUND and self._is_held_unseen([target, *search.visited]):
            search = self._search(target)
        del target  # a variable of ours, and a reference that the count would not find
        search = self._by_laggard(_by_name(search))
        if search.end is End.FOUND:
            self._known.append(search)
            self._ignored.add(id(search.objects))
        if search.end is not End.NO_ROOT:
            return search
        try:
            unseen = with_unseen_references(search.visited, self._limit)
        except OutOfTimeError:
            return Search(End.UNKNOWN)
        if not unseen:
            return search
        # What a running `with` has open is held by its frame alone: a context manager, and by that its generator.
        ways = (_chain(item, search.came_from) for item in unseen)
        suspended = [(frame, item) for way in ways for item in way if (frame := frame_of(item)) is not None]
        if not suspended:
            called = [item for item in unseen if is_one_of(type(item), _CALLED_AT_EXIT) and self._are_exit_calls_more]
            return Search(End.FOUND, AT_EXIT, _chain(called[0], search.came_from)) if called else Search(End.UNKNOWN)
        nearest = min(suspended, key=lambda pair: (pair[0].f_code.co_name, _types(pair[1], search.came_from)))
        return self._found_suspended(nearest[1], search.came_from)

    def _by_laggard(self, search: Search) -> Search:
        """The same, but from the iterator of `tee` that is behind, where another one is nearer and keeps the newest."""
        at = place_of_block(search.objects)
        if at < 0:
            return search
        above = search
        with contextlib.suppress(OutOfTimeError):
            laggard = laggard_before(search.objects[at], self._limit)
            above = search if laggard is None or laggard is search.objects[at - 1] else self.to(laggard)
        if above is search or above.end is not End.FOUND:
            return search
        return dataclasses.replace(above, objects=[*above.objects, *search.objects[at:]])

    def passed(self) -> list[Any]:
        """The objects on all ways that were found, from the innermost container on. What is before it, such as the
        variables of a module, leads to much else."""
        return [item for known in self._known for item in known.objects[_innermost(known) :]]

    def to_entry(
        self, births: Births, known: set[int], fewest: int, namespaces: list[Any], is_as_long: Callable[[Any], bool]
    ) -> tuple[Search, list[Any]] | None:
        """The way to what leads to most of what was born and is not known, and the objects of it below that. Raises
        OutOfTimeError. `namespaces`: those of the user's modules, which are searched first.
        `is_as_long`: whether a container has no more entries than before.
        """
        ignored = self._ignored | {id(namespaces), id(known), id(births), id(births.__dict__)}
        entries = Entries(births, known, ignored, is_as_long, self._limit)
        variables = [value for frame in running_frames() for _, value in self._read_locals(frame)]
        for roots in (
            [self._root, *namespaces, *(v for v in variables if id(v) in self._frames.names)],
            [module_namespace(module) for name, module in list(dict.items(sys.modules)) if _is_foreign(name)],
        ):
            entries.search([root for root in roots if root is not None])
            if (best := entries.best(fewest)) is not None:
                return self._from_root(best.objects), best.children
        return None

    def _from_root(self, objects: list[Any]) -> Search:
        root = objects[0]
        if id(root) in self._roots:
            return self._found(objects)
        return self._found_in(self._frames.names[id(root)], objects)

    def is_lost_without(self, targets: list[Any], at: int, holders: list[Any]) -> bool:
        """Whether nothing but these holders leads to `targets[at]`: all that refers to it was seen. Raises
        OutOfTimeError.

        The list is taken for one of ours; a variable of the caller's would be a reference that nobody sees.
        """
        search = self._search(targets[at], {id(targets), *map(id, holders)})
        if search.end is End.NO_ROOT or search.end is End.NOT_HELD:
            return not with_unseen_references(search.visited, self._limit) and not self._is_held_unseen(search.visited)
        return False

    def _way_along_known(self, target: Any) -> Search | None:
        for known in self._known:
            for at, item in enumerate(known.objects):
                if item is target:
                    return dataclasses.replace(known, objects=known.objects[: at + 1])
        return None

    def _is_held_unseen(self, objects: list[Any]) -> bool:
        """Whether something holds one of them unseen: what does is found out when first asked, for all searches."""
        if not self._is_all_known:
            self._is_all_known = True
            with contextlib.suppress(OutOfTimeError):
                for item, holders in unseen_holders(self._limit).items():
                    self._unseen.setdefault(item, []).extend(holders)
            self._ignore_unseen()
        return any(id(item) in self._unseen for item in objects)

    def _ignore_unseen(self) -> None:
        self._ignored |= {id(self._unseen), *map(id, self._unseen.values())}

    def _search(self, target: Any, avoided: Collection[int] = ()) -> Search:
        """Not through objects whose `id` is among the avoided ones."""
        came_from: dict[int, Any] = {id(target): None}
        keep: list[Any] = [target]
        layer: list[Any] = [target]
        ignored = self._ignored | {id(came_from), id(keep), id(layer)} | set(avoided)
        variable = target if id(target) in self._frames.names else None
        library: Any = None
        past_variable = past_library = 0
        for _ in range(_MOST_DEPTH):
            ignored |= {id(sys._getframe()), id(layer)}
            referrers: list[Any] = []
            following: list[Any] = []
            children = {id(child): child for child in layer}
            roots: list[Any] = []
            variables: list[Any] = []
            ignored |= {id(referrers), id(following), id(children), id(roots), id(variables)}
            if not self._add_referrers(layer, referrers):
                following = layer
                break
            referrers += (holder for child in children for holder in self._unseen.get(child, ()))
            for referrer in referrers:
                if id(referrer) in came_from or id(referrer) in ignored or _is_passing(referrer, ignored):
                    continue
                child = _child_of(referrer, children, came_from)
                if child is None or (self._is_librarys_class(child) and id(referrer) not in self._roots):
                    continue
                came_from[id(referrer)] = child
                keep.append(referrer)
                if id(referrer) in self._roots:
                    roots.append(referrer)
                elif id(referrer) in self._frames.names:
                    variables.append(referrer)
                if id(referrer) not in self._roots:
                    following.append(referrer)
            if roots:
                homes = homes_of([(root, came_from[id(root)]) for root in roots])
                nearest = min(roots, key=lambda root: self._rank_of_root(root, came_from, homes))
                if id(nearest) not in self._of_libraries:
                    return self._found(_chain(nearest, came_from))
                library = nearest if library is None else library
            if variables:
                nearest = min(variables, key=lambda held: (self._frames.names[id(held)], _types(held, came_from)))
                if variable is None or (self._is_librarys(variable) and not self._is_librarys(nearest)):
                    variable = nearest
            is_users = variable is not None and not self._is_librarys(variable)
            past_variable += is_users
            past_library += not is_users and (variable is not None or library is not None)
            is_far = past_variable > _MOST_PAST_A_VARIABLE or past_library > _MOST_PAST_A_LIBRARY
            if not following or is_far or len(keep) > _MOST_VISITED:
                break
            layer = following
        if library is not None and (variable is None or self._is_librarys(variable)):
            return self._found(_chain(library, came_from))
        if variable is not None:
            return self._found_variable(variable, came_from, library)
        if following:
            return Search(End.UNKNOWN)
        return Search(End.NOT_HELD if len(keep) == 1 else End.NO_ROOT, came_from=came_from, visited=keep)

    def _is_librarys(self, held: Any) -> bool:
        """Whether what a variable holds is in no function of the user's."""
        return self._frames.names[id(held)].is_library

    def _is_librarys_class(self, item: Any) -> bool:
        """Whether it is a class of a library's module: what else refers to that uses it, and keeps nothing."""
        if not is_a(item, type):
            return False
        module = class_namespace_of(item).get("__module__")
        namespace = module_namespace(dict.get(sys.modules, module)) if type(module) is str else {}
        return id(namespace) in self._of_libraries and dict.get(namespace, name_of(item)) is item

    def _add_referrers(self, layer: list[Any], referrers: list[Any]) -> bool:
        """Whether there was time for all of them. Some come twice."""
        try:
            for part in self._limit.parts(layer, _AT_ONCE):
                referrers += (held_by for held_by in gc.get_referrers(*part) if held_by is not part)
        except OutOfTimeError:
            return False
        return True

    def _rank_of_root(
        self, root: Any, came_from: dict[int, Any], homes: frozenset[int]
    ) -> tuple[bool, bool, bool, str, list[str]]:
        """Of roots equally near the smallest is named: the step, else the module that made what it leads to, else by
        name, in whatever order they were found. `homes`: the `id` of each that made it."""
        is_library = id(root) in self._of_libraries
        is_made_elsewhere = id(root) not in homes
        return is_library, root is not self._root, is_made_elsewhere, self._roots[id(root)], _types(root, came_from)

    def _found(self, objects: list[Any]) -> Search:
        root = objects[0]
        return Search(End.FOUND, self._roots[id(root)], _as_written(objects), is_namespace=root is not self._root)

    def _found_variable(self, held: Any, came_from: dict[int, Any], library: Any) -> Search:
        """`library`: the namespace of a module that leads to the target as well; None where none was seen to."""
        found = self._found_in(self._frames.names[id(held)], _chain(held, came_from))
        others = [] if library is None else _chain(library, came_from)
        shared = -1
        if not any(item is held for item in others):
            shared = next((at for at, own in enumerate(found.objects) if any(own is item for item in others)), -1)
        return dataclasses.replace(found, waits_at=self._frames.waiting.get(id(held)), shared=shared)

    def _found_in(self, variable: Variable, objects: list[Any]) -> Search:
        root_name = f"local of {variable.function}"
        return Search(End.FOUND, root_name, _as_written(objects), variable=variable.name, scope=variable.scope)

    def _found_suspended(self, item: Any, came_from: dict[int, Any]) -> Search:
        """A generator or coroutine that something unseen drives is as good as a running function."""
        frame = frame_of(item)
        objects = _chain(item, came_from)[1:]
        name = name_in(frame, objects[0], self._read_locals) if frame is not None and objects else None
        if frame is None or name is None:
            return Search(End.UNKNOWN)
        root_name = f"local of {frame.f_code.co_name}"
        scope, waits_at = beginning_of(frame.f_code), position_of(frame)
        return Search(End.FOUND, root_name, objects, variable=name, scope=scope, waits_at=waits_at)


def _by_name(search: Search) -> Search:
    """The same, from the logger on through which a way leads, where a program asks for that by its name."""
    at, name = asked_for(search.objects)
    return search if at < 0 else Search(End.FOUND, name, search.objects[at:])


def _is_foreign(module: Any) -> bool:
    return type(module) is str and module.partition(".")[0] != "stepleak"


def _is_users(module: Any, files: UserFiles) -> bool:
    """Whether a module is none of a library. One made by hand, as `__main__` may be, has no file and no spec."""
    namespace = module_namespace(module)
    file = namespace.get("__file__")
    return files.has(file) if type(file) is str else namespace.get("__spec__") is None


def _signal_handlers() -> list[tuple[str, Any]]:
    """Functions and methods that signals call, which nothing else need refer to."""
    handlers = [(f"signal.getsignal({number.name})", signal.getsignal(number)) for number in signal.Signals]
    return [(name, handler) for name, handler in handlers if is_one_of(type(handler), _FUNCTIONS)]


def with_unseen_references(objects: list[Any], limit: TimeLimit) -> list[Any]:
    """Those to which more references exist than the collector's objects hold, so that something else refers to them.

    The list itself is such a holder, and so is every other list or dict of ours: they need no exception.
    """
    counts = {id(item): 0 for item in objects}
    for part in limit.parts(objects, _AT_ONCE):
        members = {id(item) for item in part}
        referrers = gc.get_referrers(*part)
        for referrer in referrers:
            limit.check()
            for item in referents_of(referrer) if referrer is not part else ():
                if id(item) in members:
                    counts[id(item)] += 1
        # The answer itself is no holder, neither of the next part nor of what is counted below.
        del referrers
    # Cycles through autograd are told by what the collector sees of them: its own references count as seen.
    for referrer in objects:
        for item in held_by_autograd(referrer):
            if id(item) in counts:
                counts[id(item)] += 1
    item = referrer = None
    part = ()
    # The argument of getrefcount is ours.
    return [objects[i] for i in range(len(objects)) if sys.getrefcount(objects[i]) - 1 > counts[id(objects[i])]]


def _chain(first: Any, came_from: dict[int, Any]) -> list[Any]:
    objects = [first]
    while came_from[id(objects[-1])] is not None:
        objects.append(came_from[id(objects[-1])])
    return objects


def _as_written(objects: list[Any]) -> list[Any]:
    """The same way as a source would write it."""
    return _without_tables_of_threads(_by_group(objects))


def _without_tables_of_threads(objects: list[Any]) -> list[Any]:
    """A `threading.local` leads to its attributes by a table of all threads' ones, which nobody writes."""
    tables = {
        at + 1
        for at, owner in enumerate(objects[:-2])
        if is_a(owner, threading.local) and type(objects[at + 1]) is dict and is_namespace_of(owner, objects[at + 2])
    }
    return [item for at, item in enumerate(objects) if at not in tables]


def _by_group(objects: list[Any]) -> list[Any]:
    """The same way, but to a parameter by its optimizer's group, whose state is nearer, and follows what is added."""
    for namespace, at in optimizers_states(objects):
        for group, listed in groups_of(namespace):
            if any(parameter is objects[at + 1] for parameter in listed):
                return [*objects[:at], dict.get(namespace, "param_groups"), group, listed, *objects[at + 1 :]]
    return objects


def _types(first: Any, came_from: dict[int, Any]) -> list[str]:
    """Types on the way from an object to the target."""
    return [type_name(item) for item in _chain(first, came_from)]


def _child_of(referrer: Any, children: dict[int, Any], came_from: dict[int, Any]) -> Any:
    """The first of a layer that an object refers to, in the object's own order; a set has none but its types'."""
    held = (children[id(item)] for item in contents_of(referrer) if id(item) in children)
    if is_a(referrer, set) or is_a(referrer, frozenset):
        return min(held, key=lambda item: _types(item, came_from), default=None)
    return next(held, None)


def _is_passing(item: Any, ours: Collection[int]) -> bool:
    """Whether it is ours, and gone after the search. `ours`: the `id` of each object of the search."""
    if type(item) is types.FrameType:
        return is_ours(item)
    if is_one_of(type(item), _ITERATORS):
        return any(id(held) in ours for held in referents_of(item))
    return type(item) is Search


def _innermost(search: Search) -> int:
    """Where on a way its innermost container is, which is no namespace; the last object where there is none."""
    ways = enumerate(zip([None, *search.objects], search.objects, strict=False))
    containers = [
        at
        for at, (owner, item) in ways
        if container_kind(item) is not None
        if not (search.is_namespace if owner is None else is_namespace_of(owner, item))
    ]
    return containers[-1] if containers else len(search.objects) - 1
