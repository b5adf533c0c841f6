# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether all that fills a container comes by the line that may take something out of it.

`return stack.pop()` of a free list whose buffers are all got by that very function: where a pass took nothing while
more came, the line is asked for another list each time, and never finds this one.
"""

from __future__ import annotations

import ast

from stepleak._assignments import assigned_value, variable_stores
from stepleak._endings import objects_of
from stepleak._facts import Facts
from stepleak._guards import parts_of
from stepleak._latches import is_suspended
from stepleak._reach import MOST_CALLERS, MOST_LEVELS
from stepleak._syntax import Guard, Module, argument_of, called_name, is_parameter
from stepleak._use import Use


def is_passing(facts: Facts, taking: list[Use], filling: list[Use]) -> bool:
    """Whether each of these removals is tried before each of these fills. False where that is not sure."""
    if not taking or not filling or not facts.uses.is_whole:
        return False
    if any(use.kind == "escape" for use in facts.uses.found):
        return False
    if not all(_is_keyed_by_item(fill.module, fill.node, fill.detail) for fill in filling):
        return False
    return all(
        _asks_only_what_is_there(facts, use)
        and _is_of_one_object(use)
        and all(_comes_from(facts, use, fill.module, fill.detail) for fill in filling)
        for use in taking
    )


def _is_keyed_by_item(module: Module, node: ast.AST, item: ast.expr | None, depth: int = 0) -> bool:
    """Whether what an item is put into is found by what the item is: `free[array.size].append(array)`. By another key
    it may be asked for in time, as one of two pools that change places is."""
    if isinstance(node, ast.Name) and depth == 0:
        stores = variable_stores(module, module.resolve(node, node.id), node.id)
        value = assigned_value(module, stores[0]) if len(stores) == 1 else None
        return value is not None and _is_keyed_by_item(module, value, item, 1)
    if isinstance(node, ast.Subscript):
        key: ast.expr | None = node.slice
    else:
        key = node.args[0] if isinstance(node, ast.Call) and node.args else None
    names = {name.id for name in ast.walk(key or ast.Pass()) if isinstance(name, ast.Name)}
    return isinstance(item, ast.Name) and names == {item.id}


def _is_of_one_object(use: Use) -> bool:
    owner = use.module.class_of_method(use.module.function(use.node))
    return owner is None or len(objects_of(owner.name)) == 1


def _asks_only_what_is_there(facts: Facts, use: Use) -> bool:
    """Whether a removal runs wherever its function does, if only there is something: `if stack: return stack.pop()`."""
    function = use.module.function(use.node)
    if function is not None and (is_suspended(function) or function.decorator_list):
        return False
    parts = [part for guard in use.module.guards(use.node) for part in parts_of(guard) if not guard.is_loop]
    is_in_loop = bool(use.module.loops(use.module.statement(use.node))) and function is not None
    return use.is_sure and not is_in_loop and all(_is_of_presence(facts, use.module, part) for part in parts)


def _is_of_presence(facts: Facts, module: Module, part: Guard) -> bool:
    test = part.test
    if test in facts.uses.denoting or facts.places.is_length(module, test):
        return part.holds
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or test.comparators[0] not in facts.uses.denoting:
        return False
    return isinstance(test.ops[0], ast.In if part.holds else ast.NotIn)


def _comes_from(facts: Facts, use: Use, module: Module, item: ast.expr | None, depth: int = 0) -> bool:
    """Whether an item is what the removal gives, or what its function gives in its place, got for this time."""
    if item is None or depth == MOST_LEVELS:
        return False
    if any(node is use.node for node in ast.walk(item)):
        return True
    if isinstance(item, ast.Call):
        function = use.module.function(use.node)
        name = "" if function is None else function.name
        # Of two calls one may find what the other does not.
        is_only = len(facts.code.calls(name)) == 1 and not facts.runs.is_passed_on(name) if name else False
        return is_only and called_name(item) == name
    if not isinstance(item, ast.Name):
        return False
    scope = module.resolve(item, item.id)
    stores = variable_stores(module, scope, item.id)
    if is_parameter(scope, item.id):
        calls = facts.code.calls(getattr(scope, "name", ""))
        is_bound = module.class_of_method(scope) is not None
        passed = [(home, argument_of(call, scope, item.id, is_bound)) for home, call in calls]
        is_known = 0 < len(passed) <= MOST_CALLERS and not stores
        return is_known and all(_comes_from(facts, use, home, value, depth + 1) for home, value in passed)
    return (
        len(stores) == 1
        and _is_beside(module, stores[0], item)
        and (_comes_from(facts, use, module, assigned_value(module, stores[0]), depth + 1))
    )


def _is_beside(module: Module, store: ast.Name, item: ast.Name) -> bool:
    """Whether a variable is given a value anew for each time that it is used."""
    is_same_round = module.loops(module.statement(store)) == module.loops(module.statement(item))
    known = [(guard.test, guard.holds) for guard in module.guards(item)]
    asked = [(guard.test, guard.holds) for guard in module.guards(store)]
    return module.scope(store) is module.scope(item) and is_same_round and all(guard in known for guard in asked)
