# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what fills a container is a function that others were given to call, and that may be taken from them again.

A hook that a line removes once it has seen enough, a listener that is unsubscribed, a method that another one takes the
place of: the container grows until then. What is handed over in each step anew, or taken back when all steps are over,
goes on for as long as they do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stepleak._assignments import SET_UP, stores
from stepleak._runs import Runs
from stepleak._syntax import FUNCTIONS, Function, Module, arguments_of, called_name, last_name
from stepleak._use import Use
from stepleak._user_code import UserCode

_TAKING_BACK = ("cancel", "close", "detach", "discard", "disconnect", "dispose", "off", "pop", "remove", "stop", "un")
"""How functions begin that take back what was handed over, or a handle's own."""


def withdrawal(fill: Use, code: UserCode, runs: Runs) -> Use | None:
    """The line that may take back each function by which something is filled; None where there is none, or something
    calls the function by its name."""
    function = fill.module.scope(fill.node)
    if isinstance(function, ast.Lambda):
        handed_on: list[tuple[Module, ast.AST]] = [(fill.module, function)]
    elif isinstance(function, FUNCTIONS):
        if any(not runs.is_uncalled(home, call) for home, call in code.calls(function.name)):
            return None
        handed_on = list(_named(function, code))
    else:
        return None
    found = [_taking_back(module, node, code, runs) for module, node in handed_on]
    return found[0] if found and all(found) else None


def _named(function: Function, code: UserCode) -> Iterator[tuple[Module, ast.AST]]:
    for module in code.mentioning(function.name)[0]:
        taken_back = {argument for call in _taking_back_calls(module) for argument in arguments_of(call)}
        for node in module.named.get(function.name, ()):
            parent, field = module.parent(node)
            is_called = isinstance(parent, ast.Call) and field == "func"
            if isinstance(node.ctx, ast.Load) and not is_called and node not in taken_back:
                yield module, node


def _taking_back_calls(module: Module) -> Iterator[ast.Call]:
    for name, calls in module.calls.items():
        if name.startswith(_TAKING_BACK):
            yield from calls


def _taking_back(module: Module, node: ast.AST, code: UserCode, runs: Runs) -> Use | None:
    """Of a place where a function is handed over."""
    parent, _ = module.parent(node)
    if isinstance(parent, ast.keyword):
        parent, _ = module.parent(parent)
    if isinstance(parent, ast.Assign):
        targets = [target for target in parent.targets if isinstance(target, (ast.Name, ast.Attribute))]
        return next((found for target in targets if (found := _replaced(module, target, parent, code, runs))), None)
    if not isinstance(parent, ast.Call) or not _is_done_once(module, parent, runs):
        return None
    name, kept_as = last_name(node), _kept_as(module, parent)
    for home in {home: None for word in (name, kept_as) if word for home in code.mentioning(word)[0]}:
        for call in _taking_back_calls(home):
            is_of_it = bool(name) and any(last_name(argument) == name for argument in arguments_of(call))
            if (is_of_it or _is_of_handle(home, call, kept_as)) and _is_to_come(home, call, runs):
                return Use("test", home, call)
    return None


def _replaced(
    module: Module, target: ast.Name | ast.Attribute, made: ast.Assign, code: UserCode, runs: Runs
) -> Use | None:
    """Where what a function was assigned to gets another value."""
    for home, node in stores(code, module, target):
        is_other = module is not home or home.parent(node)[0] is not made
        is_set_up = getattr(home.function(node), "name", "") in SET_UP or runs.is_before_steps(home, node)
        if is_other and not is_set_up and not runs.is_uncalled(home, node):
            return Use("test", home, node)
    return None


def _is_done_once(module: Module, call: ast.Call, runs: Runs) -> bool:
    return runs.is_before_steps(module, call) or runs.is_once(module, call)


def _kept_as(module: Module, call: ast.Call) -> str:
    """The name of the variable or the attribute that gets the handle, or a list that it is put into."""
    statement = module.statement(call)
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Assign):
        return next(filter(None, map(last_name, statement.targets)), "")
    is_put = isinstance(value, ast.Call) and called_name(value) in ("append", "add") and call in value.args
    return last_name(value.func.value) if is_put else ""  # type: ignore[union-attr]


def _is_of_handle(module: Module, call: ast.Call, kept_as: str) -> bool:
    """Whether it is called of the handle, or of each of several."""
    if not kept_as or call.args or not isinstance(call.func, ast.Attribute):
        return False
    name = last_name(call.func.value)
    loop = _loop_over(module, call)
    return name == kept_as or (loop is not None and last_name(loop.iter) == kept_as)


def _loop_over(module: Module, call: ast.Call) -> ast.For | None:
    """The loop whose variable it is called of."""
    name = last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    loops = (loop for loop in module.loops(module.statement(call)) if isinstance(loop, ast.For))
    return next((loop for loop in loops if name and last_name(loop.target) == name), None)


def _is_to_come(module: Module, call: ast.Call, runs: Runs) -> bool:
    """Whether a step may reach it, and not only what follows them all."""
    over = _loop_over(module, call) or call
    return runs.is_to_come(module, call) and not runs.is_once(module, over)
