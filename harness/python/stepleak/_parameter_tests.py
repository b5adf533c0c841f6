# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a test of a parameter says by what the calls of its function pass: `if record:` of `train(x, record=True)`."""

from __future__ import annotations

import ast

from stepleak._assignments import assigned_value, stores, variable_stores
from stepleak._reach import MOST_CALLERS
from stepleak._syntax import FUNCTIONS, Guard, Module, argument_of, called_name, default_of, is_parameter
from stepleak._user_code import UserCode

_CONTAINERS = {"list", "dict", "set", "deque", "defaultdict", "OrderedDict", "Counter"}


def is_passed_so(code: UserCode, module: Module, guard: Guard) -> bool:
    """Whether some calls always pass what lets a statement run that a test of a parameter guards, where of each call it
    is known what it passes."""
    asks_for_none = isinstance(guard.test, ast.Compare)
    asked = _asked(guard.test)
    function = None if asked is None else module.resolve(asked, asked.id)
    if asked is None or not isinstance(function, FUNCTIONS) or not is_parameter(function, asked.id):
        return False
    if function.decorator_list or variable_stores(module, function, asked.id) or _is_named_besides(code, function.name):
        return False
    calls = code.calls(function.name)
    if len(calls) > MOST_CALLERS or any(_is_spread(call) for _, call in calls):
        return False
    is_bound = module.class_of_method(function) is not None
    said = set()
    for home, call in calls:
        passed = argument_of(call, function, asked.id, is_bound)
        value = (home, passed) if passed is not None else (module, default_of(function, asked.id))
        said.add(_is_none(code, *value) if asks_for_none else _is_true(value[1]))
    is_none = isinstance(guard.test, ast.Compare) and isinstance(guard.test.ops[0], ast.Is)
    return None not in said and (guard.holds if is_none or not asks_for_none else not guard.holds) in said


def _asked(test: ast.expr) -> ast.Name | None:
    """The variable of a test that asks for it alone, or whether it is None."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
        none = test.comparators[0]
        test = test.left if isinstance(none, ast.Constant) and none.value is None else none
    return test if isinstance(test, ast.Name) else None


def _is_named_besides(code: UserCode, name: str) -> bool:
    """Whether a function is named without being called: others may call it, and pass what they like."""
    return any(
        module.parent(node)[1] != "func" and isinstance(node.ctx, ast.Load)
        for module in code.mentioning(name)[0]
        for node in module.named.get(name, ())
    )


def _is_spread(call: ast.Call) -> bool:
    is_unpacked = any(keyword.arg is None for keyword in call.keywords)
    return is_unpacked or any(isinstance(argument, ast.Starred) for argument in call.args)


def _is_true(value: ast.expr | None) -> bool | None:
    return bool(value.value) if isinstance(value, ast.Constant) else None


def _is_none(code: UserCode, module: Module, value: ast.expr | None) -> bool | None:
    if isinstance(value, ast.Constant):
        return value.value is None
    if isinstance(value, (ast.Name, ast.Attribute)):
        given = [assigned_value(home, node) for home, node in stores(code, module, value)]
        return False if given and all(map(_is_container, given)) else None
    return False if _is_container(value) else None


def _is_container(value: ast.expr | None) -> bool:
    displays = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    return isinstance(value, displays) or (isinstance(value, ast.Call) and called_name(value) in _CONTAINERS)
