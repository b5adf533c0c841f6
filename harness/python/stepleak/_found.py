# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a search after a record pass found: holders, each with its way, its statement and its structure."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import gc
from collections.abc import Callable, Collection
from typing import Any

from stepleak import _declared, _tensors
from stepleak._access import Access, Place
from stepleak._accumulated import accumulated
from stepleak._births import Births
from stepleak._buffers import Buffer
from stepleak._collectives import is_recording_collectives
from stepleak._cut_buffers import cut, cut_where_made
from stepleak._cycles import Garbage, Ways, codes_of, statement_closing
from stepleak._frames import Position, ReadLocals
from stepleak._graph import NEW, Graph
from stepleak._growth import ending_where
from stepleak._hooked_again import table_of_hooks
from stepleak._judge import Judged, judged
from stepleak._keys import (
    are_keys_kept_by_rising,
    are_keys_lost,
    are_keys_measured,
    are_keys_old,
    are_keys_rising,
)
from stepleak._lifetime import Life, life_of
from stepleak._limit import OutOfTimeError, TimeLimit
from stepleak._named_loggers import is_table, registered
from stepleak._objects import (
    all_class_names,
    attributes_of,
    container_kind,
    free_places_in,
    is_namespace_of,
    items_of,
    package_of,
    type_name,
)
from stepleak._paths import AT_EXIT, End, Paths, Search
from stepleak._profilers import endless_profiler
from stepleak._renewed import ended
from stepleak._runs import is_atexit
from stepleak._sources import Sources
from stepleak._statement import makes_of_itself, no_statement
from stepleak._statements import Statements
from stepleak._structure import UNKNOWN as UNKNOWN_STRUCTURE
from stepleak._structure import Structure
from stepleak._unseen import is_array_of_objects, length_of, places_of
from stepleak._user_code import UserCode
from stepleak._way_down import way_down
from stepleak._weights import UNKNOWN, Weight, weight_of_born

_MOST_TENSORS = 24
"""Survivors to search for: they are alike, one a group would do, and each costs some scans of all objects."""
_MOST_SEARCHES = 4
"""Searches for tensors that share no holder with one found before."""
_OF_ALL = frozenset({"builtins", "__main__"})
"""Modules whose objects are no parts of one another for that."""
_FEWEST_LINKS = 3
"""Of one type, on one way."""


class Found:
    """What the searches found, by and by."""

    def __init__(
        self,
        growth: Callable[[Any], int],
        is_as_long: Callable[[Any], bool],
        has_taken: Callable[[Any], bool],
        has_kept_all: Callable[[Any], bool],
        has_slowed: Callable[[Any], bool],
        births: Births,
        grown: list[Any],
        callbacks: set[int],
        sources: Sources,
        code: UserCode,
        read_locals: ReadLocals,
        limit: TimeLimit,
        born: dict[int, list[Position]],
        garbage: Garbage | None,
    ) -> None:
        self._born = born
        self.grown = grown
        self.doubtful: set[int] = set()
        self._growth = growth
        self._is_as_long = is_as_long
        self._callbacks = callbacks
        self._has_taken = has_taken
        self._has_kept_all = has_kept_all
        self._has_slowed = has_slowed
        self._births = births
        self._limit = limit
        self._graph = Graph(read_locals, growth)
        if garbage is not None:
            self._graph.begin_with(garbage.graph)
        self._garbage = -1
        self._sources = sources
        self._code = code
        self._statements = Statements(sources, code)
        self._read_locals = read_locals
        self._holders: list[dict[str, Any]] = []
        self._endings: dict[tuple[str, int], Structure | None] = {}
        """Of statements that add groups to an optimizer, by their places."""
        self._holder_of: dict[int, int] = {}
        self._wanted: dict[int, int] = {}
        """The address of each tensor whose holder is wanted, by the tensor's `id`."""
        self._unreachable: list[int] = []
        self._cycle_of: dict[int, int] = {}
        self._gradient = -1
        self._keeping_nodes = -1
        self._records_profile = False
        self._profiler = -1

    def values(self) -> dict[str, Any]:
        return {
            "nodes": self._graph.nodes,
            "edges": self._graph.edges,
            "holders": self._holders,
            "holder_of": self._holder_of | self._cycle_of,
            "unreachable": set(self._unreachable),
            "gradient": self._gradient,
            "keeping_nodes": self._keeping_nodes,
            "records_collectives": is_recording_collectives(),
            "records_profile": self._records_profile,
            "profiler": self._profiler,
            "garbage": self._garbage,
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
        born: Collection[Position] = (),
    ) -> None:
        """`within`: a container on the way, beyond which none is taken for what keeps it. `is_link`: whether what is
        held keeps all that was born before it. `born`: the user's lines where that was made."""
        if search.end is not End.FOUND:
            return
        links = self._links_in(search)
        is_link = is_link or links >= 0
        holder = self._graph.add(search, is_whole=is_link or buffer is not None, within=within)
        entry = -1 if is_link else self._entry_of(holder, search.objects)
        if entry >= 0 and self._is_replaced(search, entry, holder["chain"], paths):
            # It goes with all that hangs on it.
            search = dataclasses.replace(search, objects=search.objects[: entry + 1])
            holder = self._graph.add(search)
        elif entry >= 0:
            holder = self._graph.add(search, is_whole=True)
        place, chain = holder.pop("place"), holder.pop("chain")
        if chain and is_array_of_objects(chain[-1]):
            # Its places are as many as ever: a longer one is made of it.
            place = dataclasses.replace(place, buffer=type(chain[-1]))
        place = self._place_for(search, place, links, buffer, is_link=is_link)
        life = self._life_of(search)
        growth = self._growth(chain[-1]) if chain else NEW
        container = self._judged(search, chain, life, paths)
        if container.structure.kind in ("bounded", "reset") and (around := self._around(chain)) is not None:
            # Of ever more bounded ones what they are in is what grows, and of those that are taken out one by one.
            self.add(paths, search, buffer, weight, within=around, born=born)
            return
        is_graph = holder["graph"] >= 0
        structure = self._structure(container, search, chain, life, growth, is_graph=is_graph)
        if growth <= 0 and structure.kind in ("unknown", "bounded"):
            made = cut_where_made(search.objects[-1], self._code, self._sources.lines)
            if made != UNKNOWN_STRUCTURE:
                # What it bounds is the buffer, whatever that lies in.
                structure, holder["container"] = made, -1
        try:
            linking = search.objects[links] if links >= 0 else search.objects[-1]
            link = type_name(linking) if is_link else ""
            statement = self._statements.keeping(search, place, chain, container.fills, link, born, container.over)
            if links >= 0 and buffer is None and not makes_of_itself(statement):
                statement = self._statements.behind(self._place_behind(search, links)) or statement
            if is_link and (setting := self._statements.setting(_place_of_token(linking)))["file"]:
                # What a context variable had before hangs on the token of what it is set to.
                statement = setting
            if structure == UNKNOWN_STRUCTURE:
                # An optimizer's states are as many as the parameters that it was given.
                structure = self._ending_of_groups(statement) or structure
            if buffer is None and not is_link:
                statement, holder["container"] = self._hooking(search, statement, holder["container"])
            if search.root_name == AT_EXIT:
                # However few of them each call's own objects keep, there are ever more calls.
                statement, structure, holder["container"] = *self._registering(), -1
            is_alone = buffer is None and not is_link and not chain and not is_graph
            if structure == UNKNOWN_STRUCTURE and is_alone and self._is_in_old_attribute(search, place):
                structure = dataclasses.replace(UNKNOWN_STRUCTURE, bound=1)
        except Exception:
            # Source that nobody thought of must not lose the holder itself.
            statement = no_statement()
        holder |= {
            "kept_by": statement,
            "structure": dataclasses.asdict(structure),
            "buffer_bytes": buffer.size if buffer else 0,
            "buffer_growth": buffer.growth if buffer else 0,
            "gained_entries": max(0, growth),
            "free_entries": free_places_in(_places_of(chain[-1])) if chain else 0,
            "gains_callbacks": growth > 0 and id(chain[-1]) in self._callbacks,
            "is_waiting": search.waits_at is not None,
            "are_items_used": container.are_items_used,
            "has_new_keys_only": structure.kind == "keyed" and bool(chain) and self._has_new_keys_only(chain[-1]),
        }
        if self._keeping_nodes < 0 and chain and any(map(_tensors.is_autograd_node, items_of(chain[-1])[-1:])):
            self._keeping_nodes = len(self._holders)
        self._holders.append(holder | _gain_of(weight))

    def _judged(self, search: Search, chain: list[Any], life: Life, paths: Paths) -> Judged:
        def are_lost(container: Any) -> bool:
            gained = max(0, self._growth(container))
            return are_keys_lost(container, gained, paths, self.grown, [chain, search.objects])

        whole = [*life.owners, *chain] if chain else []
        variable, function = life.variable, life.function
        if 0 < search.shared < len(chain):
            # What leads there besides keeps it, whatever takes the place of what is before that.
            whole, variable, function = chain[min(search.shared, len(chain) - 2) :], "", ""
        if (at := registered(whole[:-1])) >= 0:
            whole, variable, function = whole[at:], "", ""
        is_as_long = bool(chain) and self._is_as_long(chain[-1])
        found = judged(whole, self._code, variable, function, are_lost, is_as_long=is_as_long)
        if found.structure != UNKNOWN_STRUCTURE or life.inner is None:
            return found
        # What its owners do with it is not known. The variable that the function has of it lets go of it for sure.
        alone = judged(chain, self._code, life.inner.variable, life.inner.function, are_lost, is_as_long=is_as_long)
        if alone.structure.kind != "unbounded":
            return alone
        return dataclasses.replace(alone, structure=life.inner.end or UNKNOWN_STRUCTURE)

    def _is_replaced(self, search: Search, entry: int, chain: list[Any], paths: Paths) -> bool:
        """Whether an entry of a container that is full took the place of another one."""
        if id(search.objects[entry]) not in self._births.all:
            return False
        return self._judged(search, chain, self._life_of(search), paths).structure.kind == "bounded"

    def _hooking(self, search: Search, statement: dict[str, Any], container: int) -> tuple[dict[str, Any], int]:
        """The statement that adds a hook in steps, and the table that has it, where the way leads through one: what the
        hook gathers goes with it. Else those that are known."""
        table = table_of_hooks(search.objects, self._code)
        if table is None:
            return statement, container
        hooks = self._graph.add(search, within=table)
        adding = self._statements.keeping(search, hooks["place"], hooks["chain"], ())
        return (adding, hooks["container"]) if adding["file"] else (statement, container)

    def _is_in_old_attribute(self, search: Search, place: Place) -> bool:
        """Whether it lies in the only place that there is for it, of an object that was there before it."""
        is_known = bool(self._births.all) and bool(place.way) and place.way[-1].kind == "attribute"
        return is_known and not any(id(item) in self._births.all for item in search.objects[:-1])

    def _registering(self) -> tuple[dict[str, Any], Structure]:
        """The only statement that registers a function to be called at exit, and what becomes of those."""
        found = [(module, call) for module, call in self._code.calls("register") if is_atexit(call.func)]
        statement = self._sources.statement_at(found[0][0].file, found[0][1].lineno) if len(found) == 1 else None
        is_known = bool(found) and not self._code.calls("unregister")
        return statement or no_statement(), Structure("unbounded") if is_known else UNKNOWN_STRUCTURE

    def _ending_of_groups(self, statement: dict[str, Any]) -> Structure | None:
        at = (statement["file"], statement["line"])
        if at not in self._endings:
            self._endings[at] = ending_where(self._code, statement, "add_param_group")
        return self._endings[at]

    def _entry_of(self, holder: dict[str, Any], way: list[Any]) -> int:
        """Where on the way lies an entry of a container that has got nothing, which has what is held as an attribute: a
        layer with a cache of its own, or what took the place of another entry; -1: nowhere.
        """
        chain: list[Any] = holder["chain"]
        is_attribute = any(access.kind == "attribute" for access in holder["place"].beyond)
        if not chain or not is_attribute or self._growth(chain[-1]) != 0:
            return -1
        return next((at + 1 for at, item in enumerate(way[:-1]) if item is chain[-1]), -1)

    def _place_for(self, search: Search, place: Place, links: int, buffer: Buffer | None, *, is_link: bool) -> Place:
        """Where a statement puts what is kept: `place` is where it lies."""
        if buffer is not None:
            return dataclasses.replace(place, buffer=type(buffer.item))
        if links >= 0:
            to_first = dataclasses.replace(search, objects=search.objects[: links + 1])
            return _without_items(self._graph.add(to_first, is_whole=True)["place"])
        return _as_link(place, search.objects[-1]) if is_link else place

    def _life_of(self, search: Search) -> Life:
        if not search.variable:
            return Life("", "", None)
        function = search.root_name.removeprefix("local of ")
        if search.shared >= 0:
            return Life(search.variable, function, UNKNOWN_STRUCTURE)
        return life_of(search.objects[0], search.variable, function, self._code, self._read_locals)

    def _structure(
        self, judged_alone: Judged, search: Search, chain: list[Any], life: Life, growth: int, *, is_graph: bool
    ) -> Structure:
        """What becomes of a container, or of a tensor without one, all told.

        `judged_alone`: by its uses in the sources. `growth`: entries that it gained. `is_graph`: whether what lies
        there leads to a graph.
        """
        structure, end = judged_alone.structure, life.end
        way = [*life.owners, *search.objects]
        if not chain and is_graph:
            structure = accumulated(way, self._code, life.variable, life.function)
            # Whether the variable itself lets go of it is said by its assignments.
            end = end if len(way) > 1 else None
        elif not chain and structure == UNKNOWN_STRUCTURE:
            structure = cut(way, self._code, life.variable, life.function)
        if structure == UNKNOWN_STRUCTURE and growth <= 0:
            structure = ended(way, self._births.all, self._code, life.variable, life.function)
        if structure.kind == "keyed" and growth == 0 and is_graph:
            # No key came: what grows is the graph of an item that is made of itself.
            structure = UNKNOWN_STRUCTURE
        if structure.kind == "unknown" and chain and are_keys_old(chain[-1], max(0, growth), self._births.all):
            structure = Structure("keyed")
        if structure.kind == "keyed" and chain:
            self.doubtful.add(id(chain[-1]))
        if structure.kind == "conditional" and chain:
            self.doubtful.add(id(chain[-1]))
            is_vain = self._has_taken(chain[-1]) and not judged_alone.is_taken_from and not self._has_slowed(chain[-1])
            is_vain = is_vain or (judged_alone.is_passing and growth > 0 and self._has_kept_all(chain[-1]))
            structure = UNKNOWN_STRUCTURE if is_vain else structure
        if structure.kind == "unbounded" and end is not None and not is_table(chain):
            structure = end
        elif not chain and life.dropped is not None:
            structure = life.dropped
        declared = _declared.of(chain[-1]) if chain else None
        return structure if declared is None else _structure_of(declared, length_of(chain[-1]))

    def _has_new_keys_only(self, container: Any) -> bool:
        """Whether a step that left nothing in it need not have asked for what is there: no key comes again, or what is
        put in may be taken out."""
        is_rising = are_keys_rising(container) or are_keys_kept_by_rising(container, self.grown)
        return is_rising or are_keys_measured(container) or self._has_taken(container)

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

    def _links_in(self, search: Search) -> int:
        """Where on the way the links of a chain begin that were born while steps were recorded, and lie in no container
        that grew; -1 where none do.
        """
        born = [
            at
            for at, item in enumerate(search.objects)
            if id(item) in self._births.all and not (at > 0 and is_namespace_of(search.objects[at - 1], item))
        ]
        kinds = [id(type(search.objects[at])) for at in born]
        first = next((at for at, kind in zip(born, kinds, strict=True) if kinds.count(kind) >= _FEWEST_LINKS), -1)
        return -1 if any(self._growth(item) > 0 for item in search.objects) else first

    def add_grown(
        self, paths: Paths, grown: list[Any], weights: dict[int, Weight], others: frozenset[int] = frozenset()
    ) -> None:
        """Those that gained most, and with each the others that lie in the same container: a list for each layer.

        `others`: the `id` of each that grew and is not among them. Where some lie in that container, too, as of
        hundreds of lists by sample, each of these gained as much as the least of those that are, by and large.

        No variable of ours may hold one while a path is searched.
        """
        known: set[int] = set()
        searches = 0
        for index in range(len(grown)):
            if id(grown[index]) in known or searches == _MOST_SEARCHES:
                continue
            searches += 1
            search = paths.to(grown[index])
            beside = _ids_beside(search)
            siblings = [at for at in range(len(grown)) if id(grown[at]) in beside]
            known_weights = [weights.get(id(grown[at]), UNKNOWN) for at in (index, *siblings)]
            of_others = min(known_weights, key=lambda weight: weight.bytes).times(len(beside & others))
            self.add(paths, search, weight=known_weights[0].plus(of_others))
            for at in siblings:
                if id(grown[at]) not in known:
                    known.add(id(grown[at]))
                    sibling = dataclasses.replace(search, objects=[*search.objects[:-1], grown[at]])
                    self.add(paths, sibling, weight=weights.get(id(grown[at]), UNKNOWN))

    def add_lasting(self, paths: Paths, steps: int) -> None:
        """What steps left that nothing found so far leads to: links of a chain, leaves of a tree, tuples."""
        # Where nothing that grew is known yet, what some steps left now and then is better than nothing.
        has_grown = any(holder["gained_entries"] or holder["buffer_growth"] for holder in self._holders)
        fewest = max(1, steps // 4) if has_grown else 1
        known = self._births.reached_from(paths.passed(), self._limit)
        if not self._births.are_lasting(known, fewest, self._limit):
            return
        found = paths.to_entry(self._births, known, fewest, self._code.namespaces(), self._is_as_long)
        if found is not None:
            search, born = found
            index = len(self._holders)
            self.add(paths, search, weight=weight_of_born(born, self._limit, self._births.all), is_link=True)
            links = sum(type(item) is type(search.objects[-1]) for item in search.objects)
            if index < len(self._holders) and links >= _FEWEST_LINKS:
                # A chain; what else leads to most of them may lead to others.
                self._give(self._births.reached_from(born, self._limit) | set(map(id, born)), index)

    def _around(self, chain: list[Any]) -> Any:
        """The nearest container around the last one that grew as well, or was made anew as that was."""
        is_new = self._growth(chain[-1]) == NEW
        for owner, item in reversed(list(zip([None, *chain], chain[:-1], strict=False))):
            if container_kind(item) is None or (owner is not None and is_namespace_of(owner, item)):
                continue
            if (growth := self._growth(item)) > 0 or (is_new and growth == NEW):
                return item
        return None

    def add_buffers(self, paths: Paths, buffers: list[Buffer]) -> None:
        """Those of an object that took the place of another one together, as that object: a table has several."""
        anew: dict[int, tuple[Search, Buffer]] = {}
        for buffer in buffers:
            search = self._way_to_buffer(paths, buffer)
            at = self._place_taken(search) if buffer.is_of_new and search.end is End.FOUND else -1
            if at < 0:
                self.add(paths, search, buffer)
                continue
            item = search.objects[at]
            search = dataclasses.replace(search, objects=search.objects[: at + 1])
            _, before = anew.get(id(item), (search, Buffer(item, 0)))
            both = dataclasses.replace(before, size=before.size + buffer.size, growth=before.growth + buffer.growth)
            anew[id(item)] = search, both
        for search, buffer in anew.values():
            self.add(paths, search, buffer)

    def _way_to_buffer(self, paths: Paths, buffer: Buffer) -> Search:
        """The way to what the collector does not track leads through its owner."""
        if buffer.owner is None:
            return paths.to(buffer.item)
        search = paths.to(buffer.owner)
        return dataclasses.replace(search, objects=[*search.objects, buffer.item])

    def _place_taken(self, search: Search) -> int:
        """Where on a way the first object lies that was born while steps were recorded; where it is a part of another
        one of its library's, that one, which the user's code knows: a table has a new block for each row. -1: nowhere.
        """
        objects = search.objects
        at = next((at for at, item in enumerate(objects) if id(item) in self._births.all), -1)
        while at > 0:
            above = at - 2 if at > 1 and is_namespace_of(objects[at - 2], objects[at - 1]) else at - 1
            package = package_of(objects[at])
            if package in _OF_ALL or package_of(objects[above]) != package:
                break
            if self._code.defines_class_of(objects[above]):
                break
            at = above
        return at

    def add_profiler(self, paths: Paths) -> None:
        """Of torch's that records until it is stopped: what it keeps is memory of torch's own. No variable of ours
        may hold it."""
        self._records_profile = endless_profiler() is not None
        if not self._records_profile or (search := paths.to(endless_profiler())).end is not End.FOUND:
            return
        self._profiler = len(self._holders)
        self.add(paths, search, is_link=True)
        # Whatever it lies in, what grows is its own.
        self._holders[self._profiler] |= {"container": -1, "structure": dataclasses.asdict(UNKNOWN_STRUCTURE)}
        statement = self._only_call("profile")
        if statement is not None:
            self._holders[self._profiler] |= {"kept_by": statement}

    def _only_call(self, name: str) -> dict[str, Any] | None:
        """The statement of the only call of what has this name in the user's sources."""
        calls = self._code.calls(name)
        return self._sources.statement_at(calls[0][0].file, calls[0][1].lineno) if len(calls) == 1 else None

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
        for address in ends:
            if address in self._holder_of and len(self._holder_of) < len(addresses):
                self._share_parts(paths.to(tensors[address]).objects, self._holder_of[address])
        self._conclude(addresses, ends)

    def add_gradients(self, paths: Paths, tensors: dict[int, Any], addresses: Collection[int]) -> None:
        """Those that are gradients, which C++ keeps, where no way is seen. Of leaves which are older than the pass each
        took the place of what its leaf had before, or of none, and there are never more of them than leaves: a sparse
        one is as large as its step makes it. One of a leaf that was born goes with that.
        """
        missing = set(addresses) - self._holder_of.keys()
        for address, leaf in tensors.items() if missing else ():
            gradient = _tensors.gradient_of(leaf) if address in self._holder_of else None
            if gradient is not None and _tensors.address_of(gradient) in missing:
                self._holder_of[_tensors.address_of(gradient)] = self._holder_of[address]
        missing -= self._holder_of.keys()
        searches = 0
        for leaf in tensors.values() if missing else ():
            if id(leaf) in self._births.all or (gradient := _tensors.gradient_of(leaf)) is None:
                continue
            address = _tensors.address_of(gradient)
            if address not in missing or _tensors.graph_of(gradient) is not None:
                continue
            if searches < _MOST_SEARCHES and (search := paths.to(leaf)).end is End.FOUND:
                searches += 1
                search = dataclasses.replace(search, objects=[*search.objects, gradient])
                self._append(self._graph.add_place(search), no_statement(), Structure("bounded", 1))
            if searches > 0:
                parts = (address, *_tensors.parts_of_sparse(gradient))
                self._holder_of |= dict.fromkeys(parts, len(self._holders) - 1)

    def add_handed_on(self, paths: Paths, tensors: dict[int, Any], likeliest: list[int], addresses: list[int]) -> None:
        """The first that has a holder, where the likeliest of all has none: a call that is not over holds that."""
        if any(address in self._holder_of for address in likeliest):
            return
        for address in addresses:
            if self._add_tensor(paths, tensors, address) is End.FOUND:
                return

    def _add_tensor(self, paths: Paths, tensors: dict[int, Any], address: int) -> End:
        search = paths.to(tensors[address])
        if search.end is End.FOUND and all(self._growth(o) <= 0 for o in search.objects):
            search = self._through_grown(paths, tensors[address]) or search
        if search.end is End.FOUND:
            index = len(self._holders)
            # First of all: where its time is over, nothing may name a holder that is not there.
            born = self._born.get(address, ())
            self.add(paths, search, born=born)
            if self._is_to_end(index) and (other := self._through_another(paths, search)) is not None:
                self.add(paths, other, born=born)
                if self._holders[-1]["structure"]["kind"] == "unbounded":
                    search, index = other, len(self._holders) - 1
            self._holder_of[address] = index
            self._share(search.objects, index)
        elif search.end is End.NO_ROOT and not self._cycle_of:
            # One shows where they close.
            ways = Ways(tensors[address], search.visited, self._limit)
            cycle = ways.round()
            if objects := cycle or ways.through_graph():
                self._cycle_of[address] = len(self._holders)
                self._add_cycle(objects, "unreachable" if cycle else "unknown")
        return search.end

    def _share(self, way: list[Any], index: int) -> None:
        """Whose holder it is as well: what lies in the same container, or hangs on what came to lie in it."""
        for at in range(len(way) - 2, -1, -1):
            if container_kind(way[at]) is None:
                continue
            items = items_of(way[at])
            if at < len(way) - 2:
                young = [item for item in items if id(item) in self._births.all]
                items = gc.get_referents(*young) if id(way[at + 1]) in self._births.all else []
                items += gc.get_referents(*(item for item in items if type(item) is dict))
            self._give(set(map(id, items)), index)
            if at == 0 or not is_namespace_of(way[at - 1], way[at]):
                return

    def _share_parts(self, way: list[Any], index: int) -> None:
        """Whose holder it is where none of its own was found: what is a part, however deep, of what came to lie in the
        innermost container that was there before."""
        for at in range(len(way) - 2, -1, -1):
            is_new = id(way[at]) in self._births.all
            if container_kind(way[at]) is None or is_new or (at > 0 and is_namespace_of(way[at - 1], way[at])):
                continue
            if id(way[at + 1]) in self._births.all:
                young = [item for item in items_of(way[at]) if id(item) in self._births.all]
                self._give(self._births.reached_from(young, self._limit), index)
            return

    def _give(self, items: Collection[int], index: int) -> None:
        """A holder to those of the wanted tensors, by `id`, that have none."""
        for item in self._wanted.keys() & items:
            self._holder_of.setdefault(self._wanted[item], index)

    def _add_cycle(self, objects: list[Any], structure: str) -> None:
        holder, way = self._graph.add_cycle(objects)
        self._append(holder, statement_closing(codes_of(objects), way, self._sources), Structure(structure))

    def add_garbage(self, garbage: Garbage) -> None:
        """The cycle of what a collection of ours freed, where the program has no other."""
        if garbage.holder is not None:
            self._garbage = len(self._holders)
            self._append(garbage.holder, garbage.statement(self._sources), UNKNOWN_STRUCTURE)

    def _append(self, holder: dict[str, Any], statement: dict[str, Any], structure: Structure) -> None:
        """One of no container that gained."""
        holder |= {"kept_by": statement, "structure": dataclasses.asdict(structure)}
        holder |= {"buffer_bytes": 0, "buffer_growth": 0, "gained_entries": 0, "free_entries": 0}
        holder |= {"gains_callbacks": False, "is_waiting": False, "are_items_used": False}
        holder |= {"has_new_keys_only": False}
        self._holders.append(holder | _gain_of(UNKNOWN))

    def _through_grown(self, paths: Paths, tensor: Any) -> Search | None:
        """Through a container that grew, where there is a way: one that did not may be a list of what is open now, made
        anew in each step."""
        with contextlib.suppress(OutOfTimeError):
            for container in self.grown:
                below = way_down(container, tensor, self._limit)[1:]
                if below and (above := paths.to(container)).end is End.FOUND:
                    return dataclasses.replace(above, objects=[*above.objects, *below])
        return None

    def _is_to_end(self, index: int) -> bool:
        """Whether something that is known ends the growth of what holds it."""
        return self._holders[index]["structure"]["kind"] not in ("unbounded", "unknown", "unreachable")

    def _through_another(self, paths: Paths, search: Search) -> Search | None:
        """Through another container that grew, and has the same entry: what the first lets go of, it may keep."""
        objects = search.objects
        at = next((at for at in range(len(objects) - 2, -1, -1) if self._growth(objects[at]) > 0), -1)
        for container in self.grown if at >= 0 else ():
            is_other = container is not objects[at] and any(item is objects[at + 1] for item in items_of(container))
            if is_other and (above := paths.to(container)).end is End.FOUND:
                return dataclasses.replace(above, objects=[*above.objects, *objects[at + 1 :]])
        return None

    def _conclude(self, addresses: list[int], ends: dict[int, End]) -> None:
        self._unreachable = [address for address, end in ends.items() if end is End.NO_ROOT]
        # Siblings that were not searched share their neighbour's fate only where all agree.
        if self._unreachable and not self._holder_of and End.UNKNOWN not in ends.values():
            self._unreachable = [address for address in addresses if ends.get(address) is not End.NOT_HELD]


def _place_of_token(item: Any) -> Place | None:
    """The attribute that has what setting a context variable returned; None where an object has none."""
    names = (name for name, value in attributes_of(item) if type(value) is contextvars.Token)
    name = next(names, None)
    owners = frozenset(all_class_names(item))
    return None if name is None else Place([Access("attribute", name, owners)], [], is_container=False)


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


def _ids_beside(search: Search) -> set[int]:
    """The `id` of all in the same container as what was found, without that."""
    if search.end is not End.FOUND or len(search.objects) < 2:
        return set()
    around, found = search.objects[-2:]
    is_namespace = len(search.objects) > 2 and is_namespace_of(search.objects[-3], around)
    if is_namespace or (search.is_namespace and len(search.objects) == 2):
        return set()
    return set(map(id, items_of(around))) - {id(found)}


def _gain_of(weight: Weight) -> dict[str, Any]:
    return {
        "gained_bytes": weight.heap_bytes,
        "gained_blocks": weight.blocks,
        "gained_block_bytes": weight.block_bytes,
        "gained_cuda_objects": weight.cuda_objects,
        "is_weighed": weight.is_complete,
    }


def _places_of(container: Any) -> list[Any]:
    """Of a list or an array of objects, which may have been made before they were filled."""
    return items_of(container) if container_kind(container) is list else places_of(container)


def _structure_of(declared: _declared.Declared, length: int) -> Structure:
    kind = "exceeded" if length > declared.bound else "declared"
    return Structure(kind, declared.bound, declared.file, declared.line, declared.text)
