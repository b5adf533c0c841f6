# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a call by a function's name calls that function, and nothing else that goes by the same name."""

from __future__ import annotations

import ast
import sys
import types

from stepleak._assignments import assigned_value, stores
from stepleak._syntax import Module, last_name
from stepleak._user_code import UserCode
from stepleak._values import NOTHING, named

_OF_TORCH = (("torch.nn", "Module"), ("torch.optim", "Optimizer"), ("torch", "Tensor"))
"""What programs call methods of."""


def may_call(code: UserCode, home: Module, call: ast.Call, module: Module, *, is_any: bool) -> bool:
    """`home`: the file of the call. `module`: that of the function. `is_any`: any object's attribute may be it, as of
    a method."""
    if isinstance(call.func, ast.Name):
        return home is module or not defines(home, call.func.id)
    return is_any or not isinstance(call.func, ast.Attribute) or not _is_of_object(code, home, call.func, module)


def defines(module: Module, name: str) -> bool:
    """Whether a file has a function of this name of its own."""
    return any(module.scope(function) is module.tree for function in module.functions.get(name, ()))


def _is_of_object(code: UserCode, home: Module, called: ast.Attribute, module: Module) -> bool:
    """Whether it is what an object has under this name, as in `self.main = Sequential()` and `self.main(x)`, a method
    (`model.train()`), or another module's function (`asyncio.run()`)."""
    owner = called.value
    if home.class_of_self(owner) is not None:
        values = [assigned_value(at, node) for at, node in stores(code, home, called)]
        return bool(values) and all(value is not None and last_name(value) != called.attr for value in values)
    if isinstance(owner, ast.Name):
        is_global = home.resolve(owner, owner.id) is home.tree
        value = named(home.namespace, owner.id) if is_global else NOTHING
        if type(value) is types.ModuleType:
            return _is_of_another_file(named(value, called.attr), module)
        if any(isinstance(node, ast.alias) and owner.id in (node.asname, node.name) for node in home.nodes):
            return False
    is_own = any(at.class_of_method(function) is not None for at, function in code.functions(called.attr))
    return is_own or any(_has(*kind, called.attr) for kind in _OF_TORCH)


def _is_of_another_file(function: object, module: Module) -> bool:
    """Whether a function, under whatever decorators, is one that a file does not define."""
    return type(function) is types.FunctionType and function.__module__ != named(module.namespace, "__name__")


def _has(module: str, kind: str, name: str) -> bool:
    return named(named(dict.get(sys.modules, module, NOTHING), kind), name) is not NOTHING
