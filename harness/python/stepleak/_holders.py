# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Finds who keeps surviving tensors alive: paths from modules, running functions and the step.

Works on what Python's collector tracks, and runs no code of the user's. Holders in C++ (autograd nodes, closures
inside bindings) are not seen; a tensor that only they hold has no Python object at all.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import math
import sys
import threading
from collections.abc import Collection
from typing import Any

from stepleak import _declared, _signal_errors, _tensors, scenario
from stepleak._births import Births
from stepleak._buffers import Buffer, Buffers
from stepleak._callbacks import gains_callbacks
from stepleak._cycles import Garbage
from stepleak._folders import user_folders
from stepleak._found import Found
from stepleak._frames import Position, ReadLocals
from stepleak._graph import NEW, Graph
from stepleak._heap import free_places_of, instances_of, untracked_referents
from stepleak._limit import OutOfTimeError, TimeLimit
from stepleak._objects import CONTAINERS, code_of, holds_a, items_of, type_name
from stepleak._paths import Paths
from stepleak._profilers import is_profiling
from stepleak._remade import Remade
from stepleak._sources import Sources
from stepleak._unseen import array_types, is_array_of_objects, length_of, lengths_of
from stepleak._user_code import UserCode
from stepleak._weights import UNKNOWN, Weight, weight_of_gain

_GARBAGE_SECONDS = 2.0
_MOST_BUFFERS = 4
"""Of those that grew, to search for."""
_MOST_WEIGHED = 64
"""Containers that grew, of which some weigh the most."""
_MOST_ASKED = 16
"""Containers that grew, of which one may keep what something else has in use."""
_SAME = 0.9
"""Of a rate, at which something goes on as before."""
_FEWEST_ENTRIES = 2
"""Of a container that grew, where what it gained can be weighed."""


class HolderSearch:
    """One search around one record pass: `begin()` before it, `halfway()` in it, `end()` and `search()` after it.

    The caller sees to it that no object is frozen at `begin()` and `search()`, since frozen ones are not searched, and
    that all which were there before the pass are at `halfway()` and `end()`.
    `read_locals`: names and values of a frame's variables.
    """

    def __init__(self, root: Any, read_locals: ReadLocals) -> None:
        self._root = root
        self._read_locals = read_locals
        self._lengths: dict[int, int] = {}
        self._free: dict[int, int] = {}
        """Of each list that may have been made with all its places, by its `id`: how many of them were free."""
        self._taken: dict[int, int] = {}
        """How many of these were taken since, once a search has asked."""
        self._first_keys: dict[int, int] = {}
        """Of each dict, by its `id`: the `id` of its first key."""
        self._exit_calls = 0
        self._garbage: Garbage | None = None
        self._births = Births()
        self._remade = Remade()
        self._buffers = Buffers(read_locals)
        self._rates: dict[int, float] = {}
        """Entries a step that containers which were doubtful had gained as they were searched before. What takes
        something out of one that gains as many all the same did so all the time, and where it gains fewer has only
        begun to."""
        self._doubtful: set[int] = set()
        """The `id` of each container that something may keep small, as the search before found."""
        self._contents: dict[int, set[int]] = {}
        """What was in these when the pass began, by the `id` of each."""

    @_signal_errors.held
    def begin(self, seconds: float = math.inf) -> None:
        """Remembers the length of every container and large buffer, to see afterwards which ones grew.

        Of none, if it takes longer.
        """
        self._lengths, self._free, self._births, self._contents = {}, {}, Births(), {}
        self._taken, self._first_keys, self._remade = {}, {}, Remade()
        self._exit_calls, self._garbage = atexit._ncallbacks(), None
        limit = TimeLimit(seconds)
        lengths: dict[int, int] = {}
        free: dict[int, int] = {}
        with contextlib.suppress(OutOfTimeError):
            self._buffers.begin(limit)
            for part in limit.parts(gc.get_objects()):
                containers, counted = _containers(part)
                lengths.update(zip(map(id, containers), counted, strict=True))
                free.update((id(containers[at]), places) for at, places in free_places_of(containers))
                self._first_keys.update((id(o), id(next(iter(o), None))) for o in containers if type(o) is dict)
                for container, length in zip(containers, counted, strict=True):
                    self._remade.see(container, length)
                    if id(container) in self._doubtful:
                        self._contents[id(container)] = set(map(id, items_of(container)))
            self._lengths, self._free = lengths, free

    def halfway(self) -> None:
        """Remembers what was born in the first half of the steps."""
        self._births.halfway()

    def see_garbage(self, unreachable: list[Any]) -> None:
        """What a collection of ours found, of a program that has the collector off."""
        with contextlib.suppress(OutOfTimeError):
            self._garbage = Garbage(unreachable, Graph(self._read_locals), TimeLimit(_GARBAGE_SECONDS))

    def end(self) -> None:
        """Remembers what was born meanwhile: a container may have the `id` of another that is gone."""
        self._births.end()
        # One that was not tracked in between, as a dict is not that holds nothing but plain values, was there before.
        self._births.leave_out(lambda item: self._first_keys.get(id(item)) == id(next(iter(item), None)))

    @_signal_errors.held
    def search(
        self,
        wanted: list[int],
        lines: dict[str, set[int]],
        steps: int,
        seconds: float = math.inf,
        *,
        are_graphs_cyclic: bool = False,
        blocks: Collection[int] = (),
        born: dict[int, list[Position]] | None = None,
        handed_on: Collection[int] = (),
    ) -> dict[str, Any]:
        """Holders of the tensors with these TensorImpl addresses, and of containers and buffers that grew each step.

        Returns `nodes` and `edges` (dicts as `stepleak::ObjectNode` and `ObjectEdge`), `holders` (as
        `stepleak::HeldPath`), `holder_of` (address -> index), `unreachable` (addresses of tensors to which no root
        leads), `gradient` (the index of a holder of graphs that lead back to themselves, or -1), `keeping_nodes`
        (that of one whose items are autograd nodes, or -1), `records_profile` (whether a profiler of torch's records
        until it is stopped), `profiler` (that of it, or -1), `garbage` (that of what a collection of ours freed, or
        -1), `held` (addresses of those that some Python object refers to) and `notes`; where it takes longer, what
        was found.
        `wanted`: the likeliest first. `blocks`: addresses of memory of which it is not known which tensors use it:
        where some do, these are searched for after the others, and are in `holder_of` by this address. `lines`: source
        files to search for the keeping statement, with the lines that the survivors' stacks name in them. `born`: those
        of each of the tensors, by its address. `handed_on`: addresses of tensors of which one may be what a step hands
        on, where the likeliest of all has no holder.
        `are_graphs_cyclic`: whether autograd nodes survived that lead back to themselves.
        """
        limit = TimeLimit(seconds)
        objects = gc.get_objects()
        most = len(objects)
        tensors: dict[int, Any] = {}
        grown_by_id: dict[int, Any] = {}
        with contextlib.suppress(OutOfTimeError):
            for part in limit.parts(objects):
                tensors.update((_tensors.address_of(o), o) for o in _tensors.tensors_among(part))
                grown_by_id.update(
                    (id(o), o) for o, length in zip(*_containers(part), strict=True) if self._has_grown(o, length, most)
                )
            tensors |= self._using(blocks, list(tensors.values()))
            wanted = [*wanted, *(memory for memory in blocks if memory in tensors)]
        part = ()
        was_seen = not limit.is_over
        # What grew most first: the collector's own order follows addresses in places.
        grown = sorted(grown_by_id.values(), key=lambda o: (-self._growth(o), type_name(o)))
        del objects, grown_by_id
        buffers: list[Buffer] = []
        weights: dict[int, Weight] = {}
        callbacks: set[int] = set()
        with contextlib.suppress(OutOfTimeError):
            buffers = self._buffers.grown(steps, limit, self._births.all)[:_MOST_BUFFERS]
            self._weigh(grown[:_MOST_WEIGHED], weights, callbacks, limit)
        any_grown = grown[:_MOST_ASKED]
        all_grown = frozenset(map(id, grown))
        # Then what gained most; of what got less than an entry in two steps only what it gained is a reason to name it.
        # A thread has a stack, whatever else it keeps.
        grown = [
            o
            for o in grown
            if self._growth(o) >= steps // 2
            or weights.get(id(o), UNKNOWN).is_complete
            or id(o) in callbacks
            or holds_a(o, threading.Thread)
        ]
        grown.sort(key=lambda o: (id(o) not in callbacks, -weights.get(id(o), UNKNOWN).heap_bytes))
        # Who keeps what weak references name is another one.
        grown = [o for o in grown[:_MOST_ASKED] if not self._is_of_shadows(o)]
        entry = code_of(self._root)
        all_lines: dict[str, set[int]] = ({} if entry is None else {entry.co_filename: set()}) | lines
        folders = [] if self._root is None else user_folders(self._root)
        code = UserCode(
            folders,
            all_lines,
            entry=entry,
            limit=limit,
            apart=scenario.files_of_others(),
            read_locals=self._read_locals,
        )
        found = Found(
            self._growth,
            self._is_as_long,
            self._has_taken,
            self._has_kept_all,
            lambda container: self._growth(container) < _SAME * steps * self._rates.get(id(container), 0),
            self._births,
            any_grown,
            callbacks,
            Sources(all_lines, code),
            code,
            self._read_locals,
            limit,
            born or {},
            self._garbage,
        )
        ours = [
            tensors,
            grown,
            any_grown,
            buffers,
            *buffers,
            *map(vars, buffers),
            self._lengths,
            self._free,
            self._births,
            self._births.__dict__,
            self._remade,
            self._remade.__dict__,
            self._contents,
            self.__dict__,
            wanted,
            found.__dict__,
            *_declared.holders(),
        ]
        are_exit_calls_more = atexit._ncallbacks() - self._exit_calls >= _FEWEST_ENTRIES
        paths = Paths(self._root, ours, self._read_locals, limit, are_exit_calls_more=are_exit_calls_more)
        held = {a for a in wanted if (_tensors.is_held(tensors, a) if a in tensors else not was_seen)}
        with contextlib.suppress(OutOfTimeError):
            found.add_tensors(paths, tensors, [address for address in wanted if address in tensors])
            found.add_gradients(paths, tensors, wanted)
            found.add_handed_on(paths, tensors, wanted[:1], [address for address in handed_on if address in tensors])
            found.add_grown(paths, grown, weights, all_grown - frozenset(map(id, grown)))
            found.add_buffers(paths, buffers)
            found.add_lasting(paths, steps)
            if is_profiling():
                found.add_profiler(paths)
            if self._garbage is not None:
                found.add_garbage(self._garbage)
            if are_graphs_cyclic:
                found.add_gradient(paths, tensors)
        self._rates = {id(o): self._growth(o) / steps for o in any_grown if id(o) in found.doubtful and steps > 0}
        # Megabytes, which are not the program's.
        self._lengths, self._free, self._births, self._contents, self._first_keys = {}, {}, Births(), {}, {}
        self._doubtful = found.doubtful
        self._buffers.forget()
        return found.values() | {"held": held, "notes": [_note_of(limit, most)] if limit.is_over else []}

    def _using(self, blocks: Collection[int], tensors: list[Any]) -> dict[int, Any]:
        """By the address of memory, a tensor that was born in the pass and has it."""
        known = ((_tensors.memory_of(tensor), tensor) for tensor in tensors if id(tensor) in self._births.all)
        return {memory: tensor for memory, tensor in known if memory in blocks}

    def _is_of_shadows(self, container: Any) -> bool:
        """Whether it has weak references to what is kept elsewhere, by those of its items that are new: a set does not
        tell which one came last."""
        items = items_of(container)
        new = [item for item in items if id(item) in self._births.all] or items[-1:]
        return bool(new) and all(map(self._births.is_shadow, new))

    def _has_taken(self, container: Any) -> bool:
        """Whether something was taken out of a container that was doubtful, which grew all the same."""
        return bool(self._contents.get(id(container), set()) - set(map(id, items_of(container))))

    def _has_kept_all(self, container: Any) -> bool:
        """Whether a container that was doubtful had something in it, and nothing of that was taken out."""
        return bool(self._contents.get(id(container))) and not self._has_taken(container)

    def _weigh(self, grown: list[Any], weights: dict[int, Weight], callbacks: set[int], limit: TimeLimit) -> None:
        """What each gained, by its `id`, and which gained callbacks. Not in the search, whose variables would be
        references that nobody sees.
        """
        for container in grown:
            if gains_callbacks(container, self._births.all, limit):
                callbacks.add(id(container))
            weights[id(container)] = weight_of_gain(container, self._growth(container), limit, self._births.all)

    def _has_grown(self, container: Any, length: int, most: int) -> bool:
        before = self._length_before(container)
        is_longer = before is not None and length - before >= _FEWEST_ENTRIES
        if not (is_longer or id(container) in self._free):
            return False  # as of nearly all
        # A library imports some of its own modules late, as for an evaluation.
        if container is self._lengths or container is self._free or container is sys.modules:
            return False
        return _FEWEST_ENTRIES <= self._growth(container) < most

    def _growth(self, container: Any) -> int:
        """Entries more than before, of a list that had free places those that were taken; NEW of one that was not
        there."""
        before = self._length_before(container)
        length = length_of(container)
        if before is None or (is_array_of_objects(container) and length != before):
            return NEW
        return self._taken_of(container) if length == before else max(0, length - before)

    def _length_before(self, container: Any) -> int | None:
        """Of the container when the pass began, or of the one that it has taken the place of; None where there was
        none."""
        if id(container) in self._births.all:
            return self._remade.length_before(container)
        return self._lengths.get(id(container))

    def _taken_of(self, container: Any) -> int:
        """A million places are not counted for each question."""
        free = self._free.get(id(container), 0)
        if free > 0 and id(container) not in self._taken:
            self._taken[id(container)] = max(0, free - sum(item is None for item in items_of(container)))
        return self._taken.get(id(container), 0)

    def _is_as_long(self, container: Any) -> bool:
        before = self._length_before(container)
        return before is not None and length_of(container) <= before


def _containers(objects: tuple[Any, ...]) -> tuple[list[Any], list[int]]:
    """Those among objects, and the dicts of plain values and arrays of objects that these refer to (the collector does
    not track them), with their lengths.
    """
    plain = untracked_referents(objects, (dict, *array_types()))
    found = instances_of(objects, CONTAINERS)
    found += [o for o in plain if (o if type(o) is dict else is_array_of_objects(o))]
    return found, lengths_of(found)


def _note_of(limit: TimeLimit, objects: int) -> str:
    return (
        f"who keeps the memory was searched for {limit.seconds:.1f} s among {objects} objects, and not to the end: "
        "a larger --timeout gives it more, a minute at most"
    )
