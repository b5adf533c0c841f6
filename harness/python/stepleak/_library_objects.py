# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What may keep a container small that is part of a library's object: methods that the user's sources call on that,
limits that it was made with, and functions of the library's that they call.

The library's own code is not followed, so that nothing here says how many entries there may be: such a container is
perhaps kept small by the line that is named.
"""

from __future__ import annotations

import ast
import types
from typing import Any

from stepleak._container_words import REMOVING
from stepleak._facts import Facts
from stepleak._objects import attributes_of, is_one_of, length_of, package_of
from stepleak._runs import Runs
from stepleak._slots import Slots
from stepleak._structure import UNKNOWN, Structure, at
from stepleak._syntax import Module, called_name, first_name, last_name
from stepleak._use import Use
from stepleak._user_code import UserCode

_REMOVING_WORDS = REMOVING | {
    *("clear", "delete", "drop", "evict", "expire", "forget", "prune", "purge", "trim", "truncate", "unregister"),
}
"""Of which one is a word of the name of a method that takes something out: `remove_nodes_from`, `evict_oldest`."""
_LIMIT_WORDS = frozenset({"maxsize", "maxlen", "max", "limit", "capacity", "ttl", "expiry", "maxage"})
_OF_PYTHON = (types.ModuleType, types.FunctionType, types.MethodType, types.CellType, types.FrameType, type)


def of_library_object(objects: list[Any], code: UserCode, variable: str, function: str) -> Structure:
    """Of the last one of a chain of objects: "conditional" with the line that may keep it small."""
    for index in range(len(objects) - 2, -1, -1):
        item = objects[index]
        if not _is_of_library(item, code):
            continue
        known = Slots(code, objects[: index + 1], variable, function).all()
        slots = [slot for slot in known if slot is not None]
        if not known or known[0] is None:
            continue
        facts = Facts(objects[: index + 1], code, slots, False, objects[index])
        facts.follow()
        found = _taken_from(facts) or _limited(facts, objects[-1])
        return found or _taken_by_function([item], code) or UNKNOWN
    return _taken_by_function([item for item in objects if _is_of_library(item, code)], code) or UNKNOWN


def _is_of_library(item: Any, code: UserCode) -> bool:
    is_plain = package_of(item) in ("builtins", "collections")
    return not is_plain and not is_one_of(type(item), _OF_PYTHON) and not code.defines_class_of(item)


def _taken_from(facts: Facts) -> Structure | None:
    """By a call of one of its methods in the steps."""
    for module, node in _expressions(facts):
        method, _ = module.parent(node)
        if not isinstance(method, ast.Attribute) or not _has_word(method.attr, _REMOVING_WORDS):
            continue
        call, field = module.parent(method)
        use = Use("remove", module, node)
        is_run = not facts.runs.is_at_end(module, node) and not facts.is_idle(use)
        if isinstance(call, ast.Call) and field == "func" and is_run:
            return at("conditional", use)
    return None


def _taken_by_function(items: list[Any], code: UserCode) -> Structure | None:
    """By a call in the steps of a function of the library's whose name says so: `pyro.clear_param_store()`."""
    runs = Runs(code)
    for package in dict.fromkeys(package_of(item) for item in items):
        for module in code.mentioning(package)[0]:
            names = _names_of(module, package)
            for node in module.nodes:
                if not isinstance(node, ast.Call) or first_name(node.func) not in names:
                    continue
                if not _has_word(called_name(node), _REMOVING_WORDS):
                    continue
                use = Use("remove", module, node)
                if not runs.is_set_up(use) and not runs.is_at_end(module, node):
                    return at("conditional", use)
    return None


def _names_of(module: Module, package: str) -> set[str]:
    """Under which a file has a package, its modules, and what it imports of these."""
    names: set[str] = set()
    for node in module.nodes:
        if isinstance(node, ast.Import):
            taken = [alias for alias in node.names if alias.name.partition(".")[0] == package]
            names |= {alias.asname or package for alias in taken}
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == package:
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def _limited(facts: Facts, container: Any) -> Structure | None:
    """By a number among its attributes that the container has not come to, as `TTLCache` has `maxsize` and `ttl`."""
    numbers = [
        v for name, v in attributes_of(facts.container) if _has_word(name, _LIMIT_WORDS) and type(v) in (int, float)
    ]
    if not any(number >= length_of(container) > 0 for number in numbers):
        return None
    made = next((use for use in facts.resolved() if use.kind in ("make", "assign", "reset")), None)
    return None if made is None else at("conditional", made)


def _expressions(facts: Facts) -> list[tuple[Module, ast.expr]]:
    """Where it stands in the sources, under whatever name."""
    denoting = {node for node in facts.uses.denoting if isinstance(node, (ast.Name, ast.Attribute))}
    modules = {id(module): module for name in map(last_name, denoting) for module in facts.code.mentioning(name)[0]}
    found = [(module, node) for module in modules.values() for node in module.nodes if node in denoting]
    return sorted(found, key=lambda place: (place[0].file, place[1].lineno))


def _has_word(name: str, words: frozenset[str]) -> bool:
    return any(part in words for part in name.lower().split("_"))
