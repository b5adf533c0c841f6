# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Removals that take out what the same call has put in, and nothing else: what a call leaves behind, since something
was raised in between, nobody takes out any more."""

from __future__ import annotations

import ast
import gc
import types

from stepleak._assignments import assigned_value, variable_stores
from stepleak._container_words import ADDING
from stepleak._latches import is_suspended
from stepleak._syntax import Function, Module, called_name, is_parameter
from stepleak._unseen import length_of
from stepleak._use import Use
from stepleak._user_code import UserCode, place_in, place_of

_CODES = {types.CoroutineType: "cr_code", types.GeneratorType: "gi_code", types.AsyncGeneratorType: "ag_code"}


def is_of_own_call(removal: Use, fills: list[Use]) -> bool:
    """Whether a removal, by a variable of its function, follows the only fill that there is, by the same one, in that
    function: `self.waiting[number] = x; await answer; del self.waiting[number]`.

    One that surely comes, as it stands in a `finally`, is none: what it has not taken out yet is in use. The keys must
    be ever new ones.
    """
    module, key = removal.module, removal.detail
    if removal.kind != "remove" or not isinstance(key, ast.Name) or len(fills) != 1:
        return False
    fill = fills[0]
    function = module.function(removal.node)
    if function is None or fill.module is not module or module.function(fill.node) is not function:
        return False
    is_same = isinstance(fill.detail, ast.Name) and fill.detail.id == key.id
    if not is_same or module.resolve(fill.node, key.id) is not function or _is_last(module, removal.node):
        return False
    times_set = len(variable_stores(module, function, key.id)) + is_parameter(function, key.id)
    return times_set == 1 and fill.node.lineno < removal.node.lineno


def undoes_own_set(use: Use, uses: list[Use], code: UserCode) -> bool:
    """Whether a context variable's `reset` takes back what its own call has set, and nothing else sets it: what a call
    leaves there, since something was raised in between, is what the next one begins with.

    `token = current.set(Span(current.get())); check(x); current.reset(token)`. One that surely comes is none, and what
    goes on over several steps ends them all.
    """
    module, call = use.module, use.node
    token = call.args[0] if isinstance(call, ast.Call) and called_name(call) == "reset" and call.args else None
    function = module.function(call)
    if not isinstance(token, ast.Name) or function is None or _is_last(module, call):
        return False
    if is_suspended(function) or code.is_running(module, function):
        return False
    given = variable_stores(module, function, token.id)
    own = assigned_value(module, given[0]) if len(given) == 1 else None
    sets = [each.node for each in uses if each.kind == "assign" and called_name(each.node) == "set"]
    within = [node for node in sets if module.function(node) is not None]
    return own is not None and within == [own]


def is_put_back(removal: Use) -> bool:
    """Whether what it takes out goes in again at once: `recent.append(recent.pop(0))`."""
    module = removal.module
    taking, _ = module.parent(removal.node)
    call = None if taking is None else module.parent(taking)[0]
    putting, field = (None, "") if call is None else module.parent(call)
    if removal.kind != "remove" or not isinstance(call, ast.Call) or not isinstance(putting, ast.Call):
        return False
    method = putting.func
    is_filling = isinstance(method, ast.Attribute) and method.attr in ADDING and field == "args"
    return is_filling and ast.unparse(method.value) == ast.unparse(removal.node)  # type: ignore[attr-defined]


def are_calls_over(removal: Use, container: object) -> bool:
    """Whether most of what a container has is of calls of the removal's function that have ended. Looks at coroutines
    and generators, of which many may be waiting at once; other calls are over when a step is, all but one."""
    function = removal.module.function(removal.node)
    if function is None:
        return False
    return not is_suspended(function) or 2 * _calls_of(removal.module, function) < length_of(container)


def _calls_of(module: Module, function: Function) -> int:
    """How many coroutines or generators of a function have not ended."""
    place = place_in(module, function)
    running = (item for item in gc.get_objects() if type(item) in _CODES)
    return sum(place_of(getattr(item, _CODES[type(item)])) == place for item in running)


def _is_last(module: Module, node: ast.AST) -> bool:
    """Whether it stands in a `finally`, or where an exception is taken."""
    return any(isinstance(outer, ast.ExceptHandler) or field == "finalbody" for outer, field in module.around(node))
