# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which statement of the user's puts into a holder what it keeps: ways to find it, the surest first."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import threading
from collections.abc import Collection, Iterator
from typing import Any

from stepleak import _tensors
from stepleak._access import Access, Place
from stepleak._by_type import caching_line
from stepleak._cuts import NOWHERE, Cut, cut_of, statement_at
from stepleak._entry_parts import parts_with_graph
from stepleak._folders import UserFiles
from stepleak._frames import Position
from stepleak._library_calls import LibraryCalls
from stepleak._loggers import statement_asking
from stepleak._matches import functions_filling
from stepleak._objects import (
    full_type_name,
    groups_of,
    holds_a,
    is_a,
    is_namespace_of,
    optimizers_states,
    type_name,
)
from stepleak._paths import AT_EXIT, Search
from stepleak._runs import Runs
from stepleak._sources import Sources
from stepleak._statement import no_statement
from stepleak._use import Use
from stepleak._user_code import UserCode

_MOST_FILES = 40
"""In which a container's name stands, of those in which no survivor was made: a commoner one says little."""
_FILLED_BY_OTHERS = frozenset({"torch", "builtins", "collections", "types", "functools", "_thread"})
"""Modules whose objects keep what the user's code puts into them."""


class Statements:
    """`sources`: files in which survivors were made. `code`: all of the user's."""

    def __init__(self, sources: Sources, code: UserCode) -> None:
        self._sources = sources
        self._code = code
        self._files = UserFiles()
        self._library_calls = LibraryCalls()
        self._cuts: dict[tuple[str, int, int, str], Cut] = {}

    def keeping(
        self,
        search: Search,
        place: Place,
        chain: list[Any],
        fills: tuple[Use, ...],
        link: str = "",
        born: Collection[Position] = (),
        over: tuple[Use, ...] = (),
    ) -> dict[str, Any]:
        """Of what lies at a place; `no_statement()` where none is found. `chain`: from the root to a container.
        `fills`: uses of that. `link`: the type of what is kept, where each keeps the one before it. `born`: where that
        was made. `over`: uses that fill it no more."""
        if _is_gradient(search.objects) and (making := self._sources.statement_making_graphs())["file"]:
            return making
        if search.waits_at is not None and not chain:
            # Each has a function of its own, which does not go on.
            return self._sources.statement_at(*search.waits_at)
        ways = self._ways_to(search, place, chain, fills, link, born)
        past = {(use.module.file, getattr(use.module.statement(use.node), "lineno", 0)) for use in over}
        found = (statement for statement in ways if (statement["file"], statement["line"]) not in past)
        statement = next((statement for statement in found if statement["file"]), no_statement())
        # What calls a library is the user's to change, and not what that does then.
        if statement["file"] and not self._files.has(statement["file"]):
            calling = (self._calling_library(place, chain), self._sources.statement_calling_owner(place, born))
            statement = next((one for one in calling if one["file"]), statement)
        if not statement["file"] and search.waits_at is not None:
            return self._sources.statement_at(*search.waits_at)
        return statement | self._cut_of(statement, search.objects, chain)

    def _putting_there(self, place: Place, fills: tuple[Use, ...], link: str) -> Iterator[dict[str, Any]]:
        yield self._of_link(place) if link else self._sources.statement_keeping(place)
        yield self._sources.statement_filling(fills)
        yield self._elsewhere(place, is_link=bool(link))

    def _cut_of(self, statement: dict[str, Any], objects: list[Any], chain: list[Any]) -> dict[str, Any]:
        """What may be called on parts of a statement. Never raises for what the sources contain."""
        try:
            module = self._code.file(statement["file"]) if statement["expression"] else None
            node = None if module is None else statement_at(module, statement["line"], statement["text"])
            if module is None or node is None:
                return {}
            entry = next((at + 1 for at, item in enumerate(objects) if chain and item is chain[-1]), len(objects))
            parts = parts_with_graph(node, statement["expression"], objects[entry:])
            if parts is not None:
                return {"detached": list(parts)}
            key = (module.file, node.lineno, node.col_offset, statement["expression"])
            if key not in self._cuts:
                self._cuts[key] = cut_of(self._code, module, node, statement["expression"])
            cut = self._cuts[key]
        except Exception:
            # Source that nobody thought of must not lose the statement itself.
            cut = NOWHERE
        detached = None if cut.detached is None else list(cut.detached)
        return {"detached": detached, "is_used_as_tensor": cut.is_used_as_tensor}

    def _is_elsewhere(self, statement: dict[str, Any]) -> bool:
        return not self._sources.has(statement["file"]) or self._sources.is_elsewhere(statement)

    def _ways_to(
        self,
        search: Search,
        place: Place,
        chain: list[Any],
        fills: tuple[Use, ...],
        link: str,
        born: Collection[Position],
    ) -> Iterator[dict[str, Any]]:
        if link and place.way[-1].scope is not None:
            # A function's variable is given the newest one, or one of the others; what makes it links it.
            yield self._making_link(link)
        if any(True for _ in optimizers_states(search.objects)):
            # It is made in the optimizer's own step: a statement elsewhere only moves some.
            yield from (one for one in self._putting_there(place, fills, link) if not self._is_elsewhere(one))
            is_listed = _is_state_of_listed(search.objects)
            sources = self._sources
            yield self._calling("add_param_group") if is_listed else sources.statement_setting_item("params")
        yield from self._putting_there(place, fills, link)
        if link and place.way[-1].scope is None:
            yield self._making_link(link)
        if search.root_name == AT_EXIT:
            yield self._calling("register")
            made = self._sources.statements_calling("register", in_constructors=True)
            yield made[0] if len(made) == 1 else no_statement()
        if search.root_name.startswith("signal."):
            yield self._sources.statement_making("signal")
        if chain and holds_a(chain[-1], threading.Thread):
            yield self._calling("ThreadPoolExecutor")
        if chain:
            file, line, text = caching_line(chain, self._code)
            yield no_statement() | {"file": file, "line": line, "text": text}
            yield statement_asking(chain, self._code)
        yield self._calling_library(place, chain)
        yield self._sources.statement_calling_owner(place, born)
        yield self._making_owner(chain or search.objects)

    def setting(self, place: Place | None) -> dict[str, Any]:
        """What sets an attribute, in any file of the user's; `no_statement()` where none is known."""
        if place is None:
            return no_statement()
        statement = self._sources.statement_keeping(place)
        return statement if statement["file"] else self._elsewhere(place, is_link=False)

    def behind(self, place: Place | None) -> dict[str, Any] | None:
        """What puts a link behind another, where that is no constructor: `node.before = self.newest`."""
        statement = no_statement() if place is None else self._sources.statement_keeping(place, is_later=True)
        return statement | {"expression": ""} if statement["file"] else None

    def _making_link(self, link: str) -> dict[str, Any]:
        """What makes one of the user's class behind the one before it."""
        return self._calling(link) if self._code.classes(link) else no_statement()

    def _calling(self, name: str) -> dict[str, Any]:
        """The only one that may run again and again, and calls something of this name; of several, those left out that
        surely run once."""
        found = self._sources.statements_calling(name)
        if len(found) > 1:
            found = [statement for statement in found if not self._is_once(statement)]
        return found[0] if len(found) == 1 else no_statement()

    def _is_once(self, statement: dict[str, Any]) -> bool:
        module = self._code.file(statement["file"])
        calls = [] if module is None else [n for n in module.nodes if isinstance(n, ast.Call)]
        at_line = next((call for call in calls if call.lineno == statement["line"]), None)
        return module is not None and at_line is not None and Runs(self._code).is_once(module, at_line)

    def _of_link(self, place: Place) -> dict[str, Any]:
        statement = self._sources.statement_keeping(place, is_later=True)
        if not statement["file"] and place.way[-1].kind == "attribute":
            # One link is put behind another, whichever way leads to that: `self.tail.next = node`.
            statement = self._sources.statement_keeping(dataclasses.replace(place, way=place.way[-1:]), is_later=True)
        # What it assigns is a link, and not what was found in one.
        return statement | {"expression": ""}

    def _elsewhere(self, place: Place, *, is_link: bool) -> dict[str, Any]:
        """In files of the user's in which no survivor was made."""
        # What a dict is asked by need not be written there.
        named = next((access for access in reversed(place.way) if access.kind not in ("index", "key")), place.way[-1])
        # `_forward_hooks` is filled by `register_forward_hook()`, whatever the module is called there.
        is_of_hooks = named.label.endswith("_hooks")
        functions = functions_filling(named.label)
        words = functions or [named.label.strip("_").removesuffix("s") if is_of_hooks else named.label]
        modules = {module: None for word in words for module in self._code.mentioning(word)[0]}
        others = [module for module in modules if not self._sources.has(module.file)]
        if len(others) > _MOST_FILES:
            return no_statement()
        is_sure = not (is_of_hooks or functions)
        return self._sources.beside(others).statement_keeping(place, is_later=is_link, is_sure=is_sure)

    def _calling_library(self, place: Place, chain: list[Any]) -> dict[str, Any]:
        """What calls a method by which a library's object fills a container of its own, or a library's object around it
        has it do so: a collection of metrics hands on what it is updated with."""
        owners = [item for item, inner in itertools.pairwise(chain[:-1]) if is_namespace_of(item, inner)]
        way, names = _as_attributes(place.way), frozenset[str]()
        for owner in reversed(owners):
            while way and (way[-1].kind != "attribute" or type_name(owner) not in way[-1].owners):
                way.pop()
            if len(way) < 2 or self._code.defines_class_of(owner):
                break
            calls = self._library_calls
            names = calls.methods_handing_on(owner, names) if names else calls.methods_filling(owner, way[-1].label)
            modules = self._code.mentioning(way[-2].label)[0] if names else []
            mentioning = Sources.of(modules[:_MOST_FILES])
            statement = mentioning.statement_calling_method(dataclasses.replace(place, way=way), names)
            if statement["file"]:
                return statement
        return no_statement()

    def _making_owner(self, objects: list[Any]) -> dict[str, Any]:
        """Of a library's object that fills itself, innermost of `objects`: a handler that gathers records, a mock its
        calls, an iterator what it will give again."""
        for item in reversed(objects):
            # The calls of it are told by its name.
            if self._code.defines_class_of(item) or self._code.classes(type_name(item)):
                break
            if full_type_name(item).partition(".")[0] in _FILLED_BY_OTHERS:
                continue
            statement = self._sources.statement_making(type_name(item).lstrip("_"))
            if statement["file"]:
                return statement
        return no_statement()


def _as_attributes(way: list[Access]) -> list[Access]:
    """With the modules of a module of torch's as its attributes, which is how a source writes them."""
    found: list[Access] = []
    for access in way:
        if access.kind == "key" and found and (found[-1].kind, found[-1].label) == ("attribute", "_modules"):
            found[-1] = dataclasses.replace(found[-1], label=access.label)
        else:
            found.append(access)
    return found


def _is_gradient(objects: list[Any]) -> bool:
    """Whether the last one is the gradient of the one before it, and has a graph."""
    return (
        len(objects) > 1
        and _tensors.is_tensor(objects[-2])
        and objects[-1] is _tensors.gradient_with_graph(objects[-2])
    )


def _is_state_of_listed(objects: list[Any]) -> bool:
    """Whether the way leads through an optimizer's state of a parameter that a group of the optimizer lists."""
    for namespace, at in optimizers_states(objects):
        state, held = objects[at], objects[at + 1]
        if is_a(state, dict):
            parameters = {id(key) for key, value in dict.items(state) if value is held or key is held}
            return any(id(parameter) in parameters for _, listed in groups_of(namespace) for parameter in listed)
    return False
