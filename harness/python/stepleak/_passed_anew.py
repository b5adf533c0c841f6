# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the calls of a function pass another object each time: `for fold in folds: trainer.fit(Model(fold))`."""

from __future__ import annotations

import ast

from stepleak._assignments import assigned_value, variable_stores
from stepleak._reach import MOST_CALLERS
from stepleak._runs import Runs
from stepleak._syntax import FUNCTIONS, Module, argument_of, called_name, is_parameter
from stepleak._user_code import UserCode


def passed_anew(code: UserCode, runs: Runs, module: Module, name: ast.Name) -> str:
    """Of the object that a parameter is: "yes" where each call of its function passes a new one, "perhaps" where one
    does, "no" where none is known to."""
    function = module.resolve(name, name.id)
    if not isinstance(function, FUNCTIONS) or not is_parameter(function, name.id):
        return "no"
    calls = runs.calls_of(module, function)
    if len(calls) > MOST_CALLERS or variable_stores(module, function, name.id):
        return "no"
    is_bound = module.class_of_method(function) is not None
    passed = [(home, call, argument_of(call, function, name.id, is_bound)) for home, call in calls]
    are_new = [value is not None and _is_new(code, home, call, value) for home, call, value in passed]
    if not any(are_new):
        return "no"
    is_known = all(are_new) and not function.decorator_list and not runs.is_passed_on(function.name)
    return "yes" if is_known else "perhaps"


def _is_new(code: UserCode, module: Module, call: ast.Call, value: ast.expr) -> bool:
    """Whether an object of the user's is made for the call, in its arguments or by a variable that is given one in the
    same round."""
    if isinstance(value, ast.Name):
        stored = variable_stores(module, module.scope(call), value.id)
        made = assigned_value(module, stored[0]) if len(stored) == 1 else None
        return made is not None and module.loops(made) == module.loops(call) and _is_new(code, module, call, made)
    return isinstance(value, ast.Call) and bool(code.classes(called_name(value)))
