# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what takes an object's place has what that object kept."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stepleak._syntax import Function, Module, argument_of, called_name, last_name, parameters
from stepleak._use import Use
from stepleak._user_code import UserCode

COPYING = frozenset({"copy", "deepcopy", "replace", "_replace"})
"""Functions that make another one with the same attributes, but for those that are named."""
_ASKING = frozenset({"type", "id", "len", "isinstance", "repr", "str", "int", "float", "bool"})
_WHOLE = frozenset({"__dict__", "__reduce__", "__reduce_ex__", "__getstate__", "__copy__", "__deepcopy__"})
"""Attributes that lead to all others."""


def carried(use: Use, denoting: set[ast.AST], code: UserCode, names: set[str]) -> str:
    """Whether a statement that puts another object in the place of one gives it the attribute of one of these names:
    "yes", "perhaps" or "no".

    `Epoch(self.epoch.number + 1)` does not, nor does `replace(state, outputs=[])`, nor `self.state.next()` where that
    asks for other attributes alone; `State(self.state.kept)` does, and so does `Probe(self.bus)`, where the owner keeps
    it as `bus`. `denoting`: the expressions that are the object.
    """
    return _worst(_answers(use, denoting, code, names))


def _worst(answers: Iterator[str]) -> str:
    found = set(answers)
    return next((answer for answer in ("yes", "perhaps") if answer in found), "no")


def _answers(use: Use, denoting: set[ast.AST], code: UserCode, names: set[str]) -> Iterator[str]:
    for node in ast.walk(use.detail) if use.detail is not None else ():
        if isinstance(node, (ast.Attribute, ast.Name)) and last_name(node) in names:
            yield _of_part(use.module, node)
        elif node in denoting:
            yield _of_owner(use.module, node, code, names)


def _of_part(module: Module, node: ast.expr) -> str:
    """Of the container itself: what is made of it goes on, unless it is cut."""
    parent, _ = module.parent(node)
    if isinstance(parent, ast.Call) and called_name(parent) in _ASKING:
        return "no"
    return "perhaps" if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Slice) else "yes"


def _of_owner(module: Module, node: ast.AST, code: UserCode, names: set[str]) -> str:
    parent, field = module.parent(node)
    if isinstance(parent, ast.Attribute):
        call, place = module.parent(parent)
        if not isinstance(call, ast.Call) or place != "func":
            return "perhaps" if parent.attr in _WHOLE else "no"
        return _of_call(call, None, code, names)
    call, _ = module.parent(parent) if isinstance(parent, ast.keyword) else (parent, field)
    if isinstance(call, ast.Call) and field != "func":
        return _of_call(call, node, code, names)
    return "perhaps" if isinstance(parent, (ast.Call, ast.Subscript)) else "yes"


def _of_call(call: ast.Call, argument: ast.AST | None, code: UserCode, names: set[str]) -> str:
    """Of a call with the object as an argument, or of a method of it."""
    if _is_given(call, names):
        return "no"
    name = called_name(call)
    if name in COPYING and not code.functions(name):
        return "yes"
    if name in _ASKING:
        return "no"
    function = _only_function(name, code)
    if function is None:
        return "perhaps"
    module, body, is_bound = function
    if argument is None:
        passed = parameters(body)[:1] if is_bound else []
    else:
        passed = [p for p in parameters(body) if argument_of(call, body, p, is_bound) is argument]
    if not passed:
        return "no" if argument is None and not is_bound else "perhaps"
    return _worst(_in_function(module, body, passed[0], names))


def _is_given(call: ast.Call, names: set[str]) -> bool:
    """Whether a call names the attribute: what is passed there counts by itself."""
    return any(keyword.arg in names for keyword in call.keywords)


def _only_function(name: str, code: UserCode) -> tuple[Module, Function, bool] | None:
    """What a call by this name runs, if one function alone has it; and whether its first parameter is not passed."""
    classes, functions = code.classes(name), code.functions(name)
    if len(classes) == 1 and not functions:
        module, owner = classes[0]
        makers = [f for f in module.functions.get("__init__", ()) if module.class_of_method(f) is owner]
        return (module, makers[0], True) if len(makers) == 1 else None
    if len(functions) != 1 or classes:
        return None
    module, function = functions[0]
    decorators = {last_name(decorator) for decorator in function.decorator_list}
    if decorators - {"classmethod", "staticmethod"}:
        return None
    return module, function, module.class_of_method(function) is not None and "staticmethod" not in decorators


def _in_function(module: Module, function: Function, name: str, names: set[str]) -> Iterator[str]:
    """What a function does with a parameter."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        parent, _ = module.parent(node)
        if isinstance(parent, ast.Attribute) and parent.attr in names:
            yield _of_part(module, parent)
        elif isinstance(parent, ast.Attribute):
            call, place = module.parent(parent)
            is_called = isinstance(call, ast.Call) and place == "func"
            yield "perhaps" if is_called or parent.attr in _WHOLE else "no"
        elif isinstance(parent, ast.Call) and called_name(parent) in _ASKING:
            yield "no"
        elif isinstance(parent, ast.Call) and called_name(parent) in COPYING:
            yield "no" if _is_given(parent, names) else "yes"
        else:
            stored, _ = module.parent(parent) if isinstance(parent, ast.Tuple) else (parent, "")
            yield "yes" if isinstance(stored, (ast.Return, ast.Assign, ast.AnnAssign)) else "perhaps"
