# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Finds who keeps surviving tensors alive: paths from modules, running functions and the step.

Works on what Python's collector tracks, and runs no code of the user's. Holders in C++ (autograd nodes, closures
inside bindings) are not seen; a tensor that only they hold has no Python object at all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import math
import threading
from collections.abc import Callable, Collection, Iterable
from typing import Any

from stepleak import _declared, _tensors
from stepleak._accumulated import accumulated
from stepleak._births import Births
from stepleak._buffers import Buffer, Buffers
from stepleak._cut_buffers import cut
from stepleak._cycles import Ways, statement_closing
from stepleak._folders import user_folders
from stepleak._frames import ReadLocals
from stepleak._graph import NEW, Graph
from stepleak._heap import instances_of, untracked_referents
from stepleak._keys import are_keys_lost, are_keys_old
from stepleak._lifetime import Life, life_of
from stepleak._limit import OutOfTimeError, TimeLimit
from stepleak._objects import (
    CONTAINERS,
    all_class_names,
    code_of,
    container_kind,
    free_places_in,
    full_type_name,
    groups_of,
    is_a,
    items_of,
    namespace_of,
    optimizers_states,
    type_name,
)
from stepleak._paths import End, Paths, Search
from stepleak._sources import Access, Place, Sources, makes_of_itself, no_statement
from stepleak._structure import UNKNOWN as UNKNOWN_STRUCTURE
from stepleak._structure import Structure, caching_line, judged
from stepleak._unseen import array_types, is_array_of_objects, length_of, lengths_of, places_of
from stepleak._user_code import UserCode
from stepleak._uses import Use
from stepleak._way_down import way_down
from stepleak._weights import UNKNOWN, Weight, weight_of_born, weight_of_gain

_MOST_TENSORS = 24
"""Survivors to search for: they are alike, one a group would do, and each costs some scans of all objects."""
_MOST_SEARCHES = 4
"""Searches for tensors that share no holder with one found before."""
_MOST_FILES = 40
"""In which a container's name stands, of those in which no survivor was made: a commoner one says little."""
_MOST_WEIGHED = 64
"""Containers that grew, of which some weigh the most."""
_MOST_ASKED = 16
"""Containers that grew, of which one may keep what something else has in use."""
_FEWEST_ENTRIES = 2
"""Of a container that grew, where what it gained can be weighed."""
_FILLED_BY_OTHERS = frozenset({"torch", "builtins", "collections", "types", "functools", "_thread"})
"""Modules whose objects keep what the user's code puts into them."""
_FEWEST_LINKS = 3
"""Of one type, on one way."""


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
        self._births = Births()
        self._buffers = Buffers(read_locals)
        self._doubtful: set[int] = set()
        """The `id` of each container that something may keep small, as the search before found."""
        self._contents: dict[int, set[int]] = {}
        """What was in these when the pass began, by the `id` of each."""

    def begin(self, seconds: float = math.inf) -> None:
        """Remembers the length of every container and large buffer, to see afterwards which ones grew.

        Of none, if it takes longer.
        """
        self._lengths, self._births, self._contents = {}, Births(), {}
        limit = TimeLimit(seconds)
        lengths: dict[int, int] = {}
        with contextlib.suppress(OutOfTimeError):
            self._buffers.begin(limit)
            for part in limit.parts(gc.get_objects()):
                for container, length in _containers(part):
                    lengths[id(container)] = length
                    if id(container) in self._doubtful:
                        self._contents[id(container)] = set(map(id, items_of(container)))
            self._lengths = lengths

    def halfway(self) -> None:
        """Remembers what was born in the first half of the steps."""
        self._births.halfway()

    def end(self) -> None:
        """Remembers what was born meanwhile: a container may have the `id` of another that is gone."""
        self._births.end()

    def search(
        self,
        wanted: list[int],
        lines: dict[str, set[int]],
        steps: int,
        seconds: float = math.inf,
        *,
        are_graphs_cyclic: bool = False,
        blocks: Collection[int] = (),
    ) -> dict[str, Any]:
        """Holders of the tensors with these TensorImpl addresses, and of containers and buffers that grew each step.

        Returns `nodes` and `edges` (dicts as `stepleak::ObjectNode` and `ObjectEdge`), `holders` (as
        `stepleak::HeldPath`), `holder_of` (address -> index), `unreachable` (addresses of tensors to which no root
        leads), `gradient` (the index of a holder of graphs that lead back to themselves, or -1), `held` (addresses of
        those that some Python object refers to) and `notes`; where it takes longer, what was found.
        `wanted`: the likeliest first. `blocks`: addresses of memory of which it is not known which tensors use it:
        where some do, these are searched for after the others, and are in `holder_of` by this address. `lines`: source
        files to search for the keeping statement, with the lines that the survivors' stacks name in them.
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
                grown_by_id.update((id(o), o) for o, length in _containers(part) if self._has_grown(o, length, most))
            tensors |= self._using(blocks, list(tensors.values()))
            wanted = [*wanted, *(memory for memory in blocks if memory in tensors)]
        part = ()
        was_seen = not limit.is_over
        # What grew most first: the collector's own order follows addresses in places.
        grown = sorted(grown_by_id.values(), key=lambda o: (self._lengths[id(o)] - length_of(o), type_name(o)))
        del objects, grown_by_id
        buffers: list[Buffer] = []
        weights: dict[int, Weight] = {}
        with contextlib.suppress(OutOfTimeError):
            buffers = self._buffers.grown(steps, limit)[:_MOST_SEARCHES]
            self._weigh(grown[:_MOST_WEIGHED], weights, limit)
        any_grown = grown[:_MOST_ASKED]
        # Then what gained most; of what got less than an entry in two steps only what it gained is a reason to name it.
        # A thread has a stack, whatever else it keeps.
        grown = [
            o
            for o in grown
            if self._growth(o) >= steps // 2 or weights.get(id(o), UNKNOWN).is_complete or _is_of(o, threading.Thread)
        ]
        grown.sort(key=lambda o: -weights.get(id(o), UNKNOWN).heap_bytes)
        # Who keeps what weak references name is another one.
        grown = [o for o in grown[:_MOST_ASKED] if not self._is_of_shadows(o)]
        entry = code_of(self._root)
        all_lines: dict[str, set[int]] = ({} if entry is None else {entry.co_filename: set()}) | lines
        folders = [] if self._root is None else user_folders(self._root)
        code = UserCode(folders, all_lines, entry=entry, limit=limit)
        found = _Found(
            self._growth, self._has_taken, self._births, any_grown, Sources(all_lines), code, self._read_locals, limit
        )
        ours = [
            tensors,
            grown,
            any_grown,
            buffers,
            *buffers,
            *map(vars, buffers),
            self._lengths,
            self._births,
            self._births.__dict__,
            self._contents,
            self.__dict__,
            wanted,
            found.__dict__,
            *_declared.holders(),
        ]
        paths = Paths(self._root, ours, self._read_locals, limit)
        held = {a for a in wanted if (_tensors.is_held(tensors, a) if a in tensors else not was_seen)}
        with contextlib.suppress(OutOfTimeError):
            found.add_tensors(paths, tensors, [address for address in wanted if address in tensors])
            found.add_grown(paths, grown, weights)
            for buffer in buffers:
                found.add_buffer(paths, buffer)
            found.add_lasting(paths, steps)
            if are_graphs_cyclic:
                found.add_gradient(paths, tensors)
        # Megabytes, which are not the program's.
        self._lengths, self._births, self._contents = {}, Births(), {}
        self._doubtful = found.doubtful
        self._buffers.forget()
        return found.values() | {"held": held, "notes": [_note_of(limit, most)] if limit.is_over else []}

    def _using(self, blocks: Collection[int], tensors: list[Any]) -> dict[int, Any]:
        """By the address of memory, a tensor that was born in the pass and has it."""
        known = ((_tensors.memory_of(tensor), tensor) for tensor in tensors if id(tensor) in self._births.all)
        return {memory: tensor for memory, tensor in known if memory in blocks}

    def _is_of_shadows(self, container: Any) -> bool:
        """Whether it has weak references to what is kept elsewhere, by its newest item."""
        items = items_of(container)
        return bool(items) and self._births.is_shadow(items[-1])

    def _has_taken(self, container: Any) -> bool:
        """Whether something was taken out of a container that was doubtful, which grew all the same."""
        return bool(self._contents.get(id(container), set()) - set(map(id, items_of(container))))

    def _weigh(self, grown: list[Any], weights: dict[int, Weight], limit: TimeLimit) -> None:
        """What each gained, by its `id`. Not in the search, whose variables would be references that nobody sees."""
        for container in grown:
            weights[id(container)] = weight_of_gain(container, self._growth(container), limit, self._births.all)

    def _has_grown(self, container: Any, length: int, most: int) -> bool:
        if length - self._lengths.get(id(container), length) < _FEWEST_ENTRIES or container is self._lengths:
            return False  # as of nearly all
        return _FEWEST_ENTRIES <= self._growth(container) < most

    def _growth(self, container: Any) -> int:
        """Entries more than before; NEW of one that was not there."""
        before = None if id(container) in self._births.all else self._lengths.get(id(container))
        length = length_of(container)
        if before is None or (is_array_of_objects(container) and length != before):
            return NEW
        return max(0, length - before)


class _Found:
    """What the searches found, by and by."""

    def __init__(
        self,
        growth: Callable[[Any], int],
        has_taken: Callable[[Any], bool],
        births: Births,
        grown: list[Any],
        sources: Sources,
        code: UserCode,
        read_locals: ReadLocals,
        limit: TimeLimit,
    ) -> None:
        self.grown = grown
        self.doubtful: set[int] = set()
        self._growth = growth
        self._has_taken = has_taken
        self._births = births
        self._limit = limit
        self._graph = Graph(read_locals, growth)
        self._sources = sources
        self._code = code
        self._read_locals = read_locals
        self._holders: list[dict[str, Any]] = []
        self._holder_of: dict[int, int] = {}
        self._wanted: dict[int, int] = {}
        """The address of each tensor whose holder is wanted, by the tensor's `id`."""
        self._unreachable: list[int] = []
        self._cycle_of: dict[int, int] = {}
        self._gradient = -1

    def values(self) -> dict[str, Any]:
        return {
            "nodes": self._graph.nodes,
            "edges": self._graph.edges,
            "holders": self._holders,
            "holder_of": self._holder_of | self._cycle_of,
            "unreachable": set(self._unreachable),
            "gradient": self._gradient,
        }

    def add(
        self,
        paths: Paths,
        search: Search,
        buffer: Buffer | None = None,
        weight: Weight = UNKNOWN,
        within: Any = None,
        *,
        is_link: bool = False,
    ) -> None:
        """`within`: a container on the way, beyond which none is taken for what keeps it. `is_link`: whether what is
        held keeps all that was born before it."""
        if search.end is not End.FOUND:
            return
        links = self._links_in(search)
        is_link = is_link or links >= 0
        holder = self._graph.add(search, is_whole=is_link or buffer is not None, within=within)
        place, chain = holder.pop("place"), holder.pop("chain")
        if buffer is not None:
            place = dataclasses.replace(place, buffer=type(buffer.item))
        elif links >= 0:
            to_first = dataclasses.replace(search, objects=search.objects[: links + 1])
            place = _without_items(self._graph.add(to_first, is_whole=True)["place"])
        elif is_link:
            place = _as_link(place, search.objects[-1])
        function = search.root_name.removeprefix("local of ") if search.variable else ""
        life = Life(search.variable, function, None)
        if search.variable:
            life = life_of(search.objects[0], search.variable, function, self._code, self._read_locals)
        end = life.end

        def are_lost(container: Any) -> bool:
            return are_keys_lost(container, max(0, self._growth(container)), paths, [chain, search.objects])

        whole = [*life.owners, *chain] if chain else []
        growth = self._growth(chain[-1]) if chain else NEW
        container = judged(whole, self._code, life.variable, life.function, are_lost, is_as_long=growth == 0)
        structure = container.structure
        if structure.kind == "bounded" and (around := self._around(chain)) is not None:
            # Of ever more bounded ones what they are in is what grows.
            self.add(paths, search, buffer, within=around)
            return
        if not chain and holder["graph"] >= 0:
            structure = accumulated([*life.owners, *search.objects], self._code, life.variable, life.function)
            # Whether the variable itself lets go of it is said by its assignments.
            end = end if life.owners or len(search.objects) > 1 else None
        elif not chain and structure == UNKNOWN_STRUCTURE:
            structure = cut([*life.owners, *search.objects], self._code, life.variable, life.function)
        if structure.kind == "keyed" and growth == 0 and holder["graph"] >= 0:
            # No key came: what grows is the graph of an item that is made of itself.
            structure = UNKNOWN_STRUCTURE
        if structure.kind == "unknown" and chain and are_keys_old(chain[-1], max(0, growth), self._births.all):
            structure = Structure("keyed")
        if structure.kind == "conditional" and chain:
            self.doubtful.add(id(chain[-1]))
            structure = UNKNOWN_STRUCTURE if self._has_taken(chain[-1]) else structure
        if structure.kind == "unbounded" and end is not None:
            structure = end
        elif not chain and life.dropped is not None:
            structure = life.dropped
        declared = _declared.of(chain[-1]) if chain else None
        if declared is not None:
            structure = _structure_of(declared, length_of(chain[-1]))
        try:
            statement = self._statement_keeping(search, place, chain, container.fills, is_link=is_link)
            if links >= 0 and buffer is None and not makes_of_itself(statement):
                statement = self._statement_behind(self._place_behind(search, links)) or statement
        except Exception:
            # Source that nobody thought of must not lose the holder itself.
            statement = no_statement()
        holder |= {"kept_by": statement, "structure": dataclasses.asdict(structure)}
        holder |= {"buffer_bytes": buffer.size if buffer else 0, "buffer_growth": buffer.growth if buffer else 0}
        holder |= {
            "gained_entries": max(0, growth),
            "free_entries": free_places_in(_places_of(chain[-1])) if chain else 0,
        }
        holder |= {"is_waiting": search.waits_at is not None, "are_items_used": container.are_items_used}
        holder |= _gain_of(weight)
        self._holders.append(holder)

    def _place_behind(self, search: Search, first: int) -> Place | None:
        """The attribute by which the first link of a chain keeps the next; None where it is none."""
        kind = type(search.objects[first])
        second = next((at for at in range(first + 1, len(search.objects)) if type(search.objects[at]) is kind), -1)
        if second < 0:
            return None
        way = dataclasses.replace(search, objects=search.objects[: second + 1])
        place: Place = self._graph.add(way, is_whole=True)["place"]
        is_attribute = not place.is_container and place.way[-1].kind == "attribute"
        return dataclasses.replace(place, way=place.way[-1:]) if is_attribute else None

    def _statement_behind(self, place: Place | None) -> dict[str, Any] | None:
        """What puts a link behind another, where that is no constructor: `node.before = self.newest`."""
        statement = no_statement() if place is None else self._sources.statement_keeping(place, is_later=True)
        return statement | {"expression": ""} if statement["file"] else None

    def _statement_keeping(
        self, search: Search, place: Place, chain: list[Any], fills: tuple[Use, ...], *, is_link: bool
    ) -> dict[str, Any]:
        if _is_gradient(search.objects) and (making := self._sources.statement_making_graphs())["file"]:
            return making
        if search.waits_at is not None and not chain:
            # Each has a function of its own, which does not go on.
            return self._sources.statement_at(*search.waits_at)
        statement = self._statement_of_link(place) if is_link else self._sources.statement_keeping(place)
        if not statement["file"]:
            statement = self._sources.statement_filling(fills)
        if not statement["file"]:
            statement = self._statement_elsewhere(place, is_link=is_link)
        if not statement["file"] and _is_state_of_listed(search.objects):
            statement = self._sources.statement_calling("add_param_group")
        if not statement["file"] and search.root_name.startswith("signal."):
            statement = self._sources.statement_making("signal")
        if not statement["file"] and chain and _is_of(chain[-1], threading.Thread):
            statement = self._sources.statement_calling("ThreadPoolExecutor")
        if not statement["file"] and chain:
            statement |= dict(zip(("file", "line", "text"), caching_line(chain, self._code), strict=True))
        return statement if statement["file"] else self._statement_making_owner(chain or search.objects)

    def _statement_making_owner(self, objects: list[Any]) -> dict[str, Any]:
        """Of a library's object that fills itself, innermost of `objects`: a handler that gathers records, a mock its
        calls, an iterator what it will give again."""
        for item in reversed(objects):
            if any(self._code.classes(name) for name in all_class_names(item)):
                break
            if full_type_name(item).partition(".")[0] in _FILLED_BY_OTHERS:
                continue
            statement = self._sources.statement_making(type_name(item).lstrip("_"))
            if statement["file"]:
                return statement
        return no_statement()

    def _statement_elsewhere(self, place: Place, *, is_link: bool) -> dict[str, Any]:
        """In files of the user's in which no survivor was made."""
        modules, _ = self._code.mentioning(place.way[-1].label)
        others = [module for module in modules if not self._sources.has(module.file)]
        if len(others) > _MOST_FILES:
            return no_statement()
        return Sources.of(others).statement_keeping(place, is_later=is_link, is_sure=True)

    def _statement_of_link(self, place: Place) -> dict[str, Any]:
        statement = self._sources.statement_keeping(place, is_later=True)
        if not statement["file"] and place.way[-1].kind == "attribute":
            # One link is put behind another, whichever way leads to that: `self.tail.next = node`.
            statement = self._sources.statement_keeping(dataclasses.replace(place, way=place.way[-1:]), is_later=True)
        # What it assigns is a link, and not what was found in one.
        return statement | {"expression": ""}

    def _links_in(self, search: Search) -> int:
        """Where on the way the links of a chain begin that were born while steps were recorded, and lie in no container
        that grew; -1 where none do.
        """
        born = [at for at, item in enumerate(search.objects) if id(item) in self._births.all]
        kinds = [id(type(search.objects[at])) for at in born]
        first = next((at for at, kind in zip(born, kinds, strict=True) if kinds.count(kind) >= _FEWEST_LINKS), -1)
        return -1 if any(self._growth(item) > 0 for item in search.objects) else first

    def add_grown(self, paths: Paths, grown: list[Any], weights: dict[int, Weight]) -> None:
        """Those that gained most, and with each the others that lie in the same container: a list for each layer.

        No variable of ours may hold one while a path is searched.
        """
        known: set[int] = set()
        searches = 0
        for index in range(len(grown)):
            if id(grown[index]) in known or searches == _MOST_SEARCHES:
                continue
            searches += 1
            search = paths.to(grown[index])
            self.add(paths, search, weight=weights.get(id(grown[index]), UNKNOWN))
            for at in _siblings(search, grown):
                if id(grown[at]) not in known:
                    known.add(id(grown[at]))
                    beside = dataclasses.replace(search, objects=[*search.objects[:-1], grown[at]])
                    self.add(paths, beside, weight=weights.get(id(grown[at]), UNKNOWN))

    def add_lasting(self, paths: Paths, steps: int) -> None:
        """What steps left that nothing found so far leads to: links of a chain, leaves of a tree, tuples."""
        # Where nothing that grew is known yet, what some steps left now and then is better than nothing.
        has_grown = any(holder["gained_entries"] or holder["buffer_growth"] for holder in self._holders)
        fewest = max(1, steps // 4) if has_grown else 1
        known = self._births.reached_from(paths.passed(), self._limit)
        if not self._births.are_lasting(known, fewest, self._limit):
            return
        found = paths.to_entry(self._births, known, fewest, self._code.namespaces())
        if found is not None:
            search, born = found
            self.add(paths, search, weight=weight_of_born(born, self._limit, self._births.all), is_link=True)

    def _around(self, chain: list[Any]) -> Any:
        """The nearest container around the last one that grew as well, or was made anew as that was."""
        is_new = self._growth(chain[-1]) == NEW
        for owner, item in reversed(list(zip([None, *chain], chain[:-1], strict=False))):
            if container_kind(item) is None or (owner is not None and namespace_of(owner) is item):
                continue
            if (growth := self._growth(item)) > 0 or (is_new and growth == NEW):
                return item
        return None

    def add_buffer(self, paths: Paths, buffer: Buffer) -> None:
        """The way to what the collector does not track leads through its owner."""
        if buffer.owner is None:
            search = paths.to(buffer.item)
        else:
            search = paths.to(buffer.owner)
            search = dataclasses.replace(search, objects=[*search.objects, buffer.item])
        self.add(paths, search, buffer)

    def add_gradient(self, paths: Paths, tensors: dict[int, Any]) -> None:
        """Of a leaf whose gradient has a graph, which leads back to it: of one with a way from a root, if there is."""
        leaves = [address for address, leaf in tensors.items() if _tensors.gradient_with_graph(leaf) is not None]
        lost = -1
        for address in leaves[:_MOST_SEARCHES]:
            search = paths.to(tensors[address])
            if search.end is End.FOUND:
                self._gradient = len(self._holders)
                gradient = _tensors.gradient_with_graph(tensors[address])
                self.add(paths, dataclasses.replace(search, objects=[*search.objects, gradient]))
                return
            lost = address if search.end in (End.NO_ROOT, End.NOT_HELD) else lost
        if lost >= 0:
            self._gradient = len(self._holders)
            self._add_cycle([tensors[lost], _tensors.gradient_with_graph(tensors[lost])], "unreachable")

    def add_tensors(self, paths: Paths, tensors: dict[int, Any], addresses: list[int]) -> None:
        ends: dict[int, End] = {}
        self._wanted = {id(tensors[address]): address for address in addresses}
        for address in addresses[:_MOST_TENSORS]:
            if address in self._holder_of:
                continue
            if sum(end is not End.NOT_HELD for end in ends.values()) < _MOST_SEARCHES:
                ends[address] = self._add_tensor(paths, tensors, address)
        self._conclude(addresses, ends)

    def _add_tensor(self, paths: Paths, tensors: dict[int, Any], address: int) -> End:
        search = paths.to(tensors[address])
        if search.end is End.FOUND and all(self._growth(o) <= 0 for o in search.objects):
            search = self._through_grown(paths, tensors[address]) or search
        if search.end is End.FOUND:
            index = len(self._holders)
            # First of all: where its time is over, nothing may name a holder that is not there.
            self.add(paths, search)
            self._holder_of[address] = index
            container = search.objects[-2] if len(search.objects) > 1 else None
            if container_kind(container) is not None:
                for item in items_of(container):
                    if id(item) in self._wanted:
                        self._holder_of.setdefault(self._wanted[id(item)], index)
        elif search.end is End.NO_ROOT and not self._cycle_of:
            # One shows where they close.
            ways = Ways(tensors[address], search.visited, self._limit)
            cycle = ways.round()
            if objects := cycle or ways.through_graph():
                self._cycle_of[address] = len(self._holders)
                self._add_cycle(objects, "unreachable" if cycle else "unknown")
        return search.end

    def _add_cycle(self, objects: list[Any], structure: str) -> None:
        holder, way = self._graph.add_cycle(objects)
        holder |= {"kept_by": statement_closing(objects, way, self._sources)}
        holder |= {"structure": dataclasses.asdict(Structure(structure))}
        holder |= {"buffer_bytes": 0, "buffer_growth": 0, "gained_entries": 0, "free_entries": 0}
        self._holders.append(holder | {"is_waiting": False, "are_items_used": False} | _gain_of(UNKNOWN))

    def _through_grown(self, paths: Paths, tensor: Any) -> Search | None:
        """Through a container that grew, where there is a way: one that did not may be a list of what is open now, made
        anew in each step."""
        with contextlib.suppress(OutOfTimeError):
            for container in self.grown:
                below = way_down(container, tensor, self._limit)[1:]
                if below and (above := paths.to(container)).end is End.FOUND:
                    return dataclasses.replace(above, objects=[*above.objects, *below])
        return None

    def _conclude(self, addresses: list[int], ends: dict[int, End]) -> None:
        self._unreachable = [address for address, end in ends.items() if end is End.NO_ROOT]
        # Siblings that were not searched share their neighbour's fate only where all agree.
        if self._unreachable and not self._holder_of and End.UNKNOWN not in ends.values():
            self._unreachable = [address for address in addresses if ends.get(address) is not End.NOT_HELD]


def _as_link(place: Place, last: Any) -> Place:
    """What hangs on a container was put in there."""
    if (kind := container_kind(last)) is None:
        return place
    return dataclasses.replace(place, beyond=[Access("key" if kind is dict else "index", "")], is_container=True)


def _without_items(place: Place) -> Place:
    """The container of what is an item of one, and else the place itself."""
    way = list(place.way)
    while len(way) > 1 and way[-1].kind in ("index", "key"):
        way.pop()
    if len(way) == len(place.way):
        return place
    return dataclasses.replace(place, way=way, beyond=[Access("index", "")], is_container=True)


def _siblings(search: Search, grown: list[Any]) -> list[int]:
    """Places of those that lie in the same container as what was found."""
    if search.end is not End.FOUND or len(search.objects) < 2:
        return []
    around, found = search.objects[-2:]
    is_namespace = len(search.objects) > 2 and namespace_of(search.objects[-3]) is around
    if is_namespace or (search.is_namespace and len(search.objects) == 2):
        return []
    held = set(map(id, items_of(around))) - {id(found)}
    return [at for at in range(len(grown)) if id(grown[at]) in held]


def _is_state_of_listed(objects: list[Any]) -> bool:
    """Whether the way leads through an optimizer's state of a parameter that a group of the optimizer lists."""
    for namespace, at in optimizers_states(objects):
        state, held = objects[at], objects[at + 1]
        if is_a(state, dict):
            parameters = {id(key) for key, value in dict.items(state) if value is held or key is held}
            return any(id(parameter) in parameters for _, listed in groups_of(namespace) for parameter in listed)
    return False


def _is_gradient(objects: list[Any]) -> bool:
    """Whether the last one is the gradient of the one before it, and has a graph."""
    return (
        len(objects) > 1
        and _tensors.is_tensor(objects[-2])
        and objects[-1] is _tensors.gradient_with_graph(objects[-2])
    )


def _gain_of(weight: Weight) -> dict[str, Any]:
    return {
        "gained_bytes": weight.heap_bytes,
        "gained_blocks": weight.blocks,
        "gained_block_bytes": weight.block_bytes,
        "gained_cuda_objects": weight.cuda_objects,
        "is_weighed": weight.is_complete,
    }


def _containers(objects: tuple[Any, ...]) -> Iterable[tuple[Any, int]]:
    """Those among objects, and the dicts of plain values and arrays of objects that these refer to (the collector does
    not track them), each with its length.
    """
    plain = untracked_referents(objects, (dict, *array_types()))
    found = instances_of(objects, CONTAINERS)
    found += [o for o in plain if (o if type(o) is dict else is_array_of_objects(o))]
    return zip(found, lengths_of(found), strict=True)


def _is_of(container: Any, kind: type) -> bool:
    """What a container holds, by its newest item."""
    items = items_of(container)
    return bool(items) and is_a(items[-1], kind)


def _places_of(container: Any) -> list[Any]:
    """Of a list or an array of objects, which may have been made before they were filled."""
    return items_of(container) if container_kind(container) is list else places_of(container)


def _note_of(limit: TimeLimit, objects: int) -> str:
    return (
        f"who keeps the memory was searched for {limit.seconds:.1f} s among {objects} objects, and not to the end: "
        "a larger --timeout gives it more, a minute at most"
    )


def _structure_of(declared: _declared.Declared, length: int) -> Structure:
    kind = "exceeded" if length > declared.bound else "declared"
    return Structure(kind, declared.bound, declared.file, declared.line, declared.text)
