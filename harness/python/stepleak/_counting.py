# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Statements that count, and where a count comes from: a function that is passed it and returns it, a generator, or the
keys of a dictionary."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from stepleak._assignments import assigned_value, variable_stores
from stepleak._syntax import Module, argument_of, called_name, is_parameter, parameters
from stepleak._user_code import UserCode

_SAME_ITEMS = frozenset({"list", "tuple", "sorted", "iter", "reversed"})
_DICTIONARIES = frozenset({"dict", "OrderedDict"})
_ASKING = frozenset({"get", "pop", "popitem", "keys", "values", "items", "clear", "move_to_end"})
"""Methods that give a dictionary no key."""


def _step_up(op: ast.operator, value: ast.expr) -> int:
    step = value.value if isinstance(op, ast.Add) and isinstance(value, ast.Constant) else None
    return step if type(step) is int and step > 0 else 0


def is_capped(module: Module, statement: ast.AST, target: ast.Name | ast.Attribute) -> bool:
    """Whether a count goes on only under a test of itself: `if self.length < 48: self.length += 1`."""
    name = ast.unparse(target)
    tests = (guard.test for guard in module.guards(statement))
    return any(isinstance(n, ast.expr) and ast.unparse(n) == name for test in tests for n in ast.walk(test))


def is_counted_up(statement: ast.AST, target: ast.Name | ast.Attribute) -> bool:
    """Whether it says `n += 1`, or `n = n + 1`."""
    return counted_by(statement, target) > 0


def counted_by(statement: ast.AST, target: ast.Name | ast.Attribute) -> int:
    """The number by which it is counted up; 0 where it is not."""
    if isinstance(statement, ast.AugAssign):
        return _step_up(statement.op, statement.value) if statement.target is target else 0
    if not isinstance(statement, ast.Assign) or statement.targets != [target]:
        return 0
    value = statement.value
    is_of_itself = isinstance(value, ast.BinOp) and ast.unparse(value.left) == ast.unparse(target)
    return _step_up(value.op, value.right) if is_of_itself else 0  # type: ignore[attr-defined]


# --- through a function and back --------------------------------------------------------------------------------------


def comes_back_counted(code: UserCode, module: Module, target: ast.Name, call: ast.Call | None = None) -> bool:
    """Whether a variable is assigned what a function, which is passed it, has counted it up to:
    `step = train_epoch(loader, step)`; `call`: by this call."""
    statement, value = module.statement(target), assigned_value(module, target)
    position = -1
    if value is None and isinstance(statement, ast.Assign):
        value, position = statement.value, _position(module.parent(target)[0], target)
        if position < 0:
            return False
    found = code.functions(called_name(value)) if isinstance(value, ast.Call) else []
    if len(found) != 1 or not isinstance(value, ast.Call) or call not in (None, value):
        return False
    home, function = found[0]
    for name in parameters(function):
        passed = argument_of(value, function, name, home.class_of_method(function) is not None)
        if isinstance(passed, ast.Name) and passed.id == target.id:
            is_same = module.resolve(passed, passed.id) is module.resolve(target, target.id)
            return is_same and _counts_up(home, function, name) and _returns(home, function, name, position)
    return False


def returned_by(code: UserCode, module: Module, call: ast.Call) -> tuple[Module, ast.expr | None]:
    """What the only function of the user's that a call may mean returns, each time that it is called. None where that
    is not known: what decorates it may return what it did before."""
    found = code.functions(called_name(call))
    if len(found) != 1 or found[0][1].decorator_list or code.is_of_library(module, call):
        return module, None
    home, function = found[0]
    nodes = [n for n in home.nodes if home.scope(n) is function]
    returned = [n.value for n in nodes if isinstance(n, ast.Return)]
    is_plain = len(returned) == 1 and not any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in nodes)
    return home, returned[0] if is_plain and isinstance(function, ast.FunctionDef) else None


def _counts_up(module: Module, function: ast.AST, name: str) -> bool:
    """Whether a function only counts one of its parameters up."""
    stored = [(node, module.statement(node)) for node in variable_stores(module, function, name)]
    return bool(stored) and all(is_counted_up(s, n) and not is_capped(module, s, n) for n, s in stored)


def _returns(module: Module, function: ast.AST, name: str, position: int) -> bool:
    """Whether a function returns a variable wherever it returns something, among others at `position`; -1: alone."""
    values = [n.value for n in module.nodes if isinstance(n, ast.Return) and module.scope(n) is function]
    returned = _items_at(values, position)
    return bool(returned) and all(isinstance(v, ast.Name) and v.id == name for v in returned)


# --- by a loop --------------------------------------------------------------------------------------------------------


def yielded_to(
    code: UserCode, module: Module, loop: ast.For | ast.AsyncFor, target: ast.Name
) -> tuple[Module, Sequence[ast.expr | None]]:
    """What the only generator of the user's that a loop may mean yields to one of its variables. Nothing where that is
    not known."""
    found = code.functions(called_name(loop.iter)) if isinstance(loop.iter, ast.Call) else []
    if len(found) != 1:
        return module, []
    home, function = found[0]
    nodes = [n for n in home.nodes if isinstance(n, (ast.Yield, ast.YieldFrom)) and home.scope(n) is function]
    values = [n.value for n in nodes if isinstance(n, ast.Yield) and n.value is not None]
    if len(values) < len(nodes):
        return home, []
    position = -1 if loop.target is target else _position(loop.target, target)
    return home, _items_at(values, position) if loop.target is target or position >= 0 else []


def keys_looped_over(module: Module, loop: ast.For | ast.AsyncFor, target: ast.Name) -> list[ast.expr]:
    """Where a loop goes over the keys of a dictionary, a variable that nobody else has: under which ones it is filled
    between two times that it does so, but for the loop's own. Nothing where that is not known, or where it is filled
    before: then there are so many, and no more."""
    over, is_alone = loop.iter, loop.target is target
    while isinstance(over, ast.Call) and called_name(over) in _SAME_ITEMS and len(over.args) == 1:
        over = over.args[0]
    if isinstance(over, ast.Call):
        is_plain = isinstance(over.func, ast.Attribute) and not over.args
        is_first = is_alone or _position(loop.target, target) == 0
        if not is_plain or not is_first or called_name(over) != ("keys" if is_alone else "items"):
            return []
        over = over.func.value  # type: ignore[attr-defined]
    elif not is_alone:
        return []
    if not isinstance(over, ast.Name) or is_parameter(module.resolve(over, over.id), over.id):
        return []
    scope = module.resolve(over, over.id)
    uses = [n for n in module.named.get(over.id, ()) if isinstance(n, ast.Name) and module.resolve(n, n.id) is scope]
    if not all(_is_plain_use(module, use) for use in uses):
        return []
    items = [
        parent for parent, field in map(module.parent, uses) if isinstance(parent, ast.Subscript) and field == "value"
    ]
    fills = [item for item in items if isinstance(item.ctx, ast.Store)]
    others = [item for item in fills if not (isinstance(item.slice, ast.Name) and item.slice.id == target.id)]
    around = module.loops(loop)
    is_filled_between = all(any(outer in around for outer in module.loops(item)) for item in others)
    return [item.slice for item in others] if is_filled_between else []


def _is_plain_use(module: Module, use: ast.Name) -> bool:
    """Whether nothing else gets hold of a dictionary there, and it gets no key but by an item that is set."""
    parent, field = module.parent(use)
    if isinstance(use.ctx, ast.Store):
        value = assigned_value(module, use)
        is_called = isinstance(value, ast.Call) and called_name(value) in _DICTIONARIES and not value.args
        return is_called or (isinstance(value, ast.Dict) and not value.keys)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _ASKING
    if isinstance(parent, ast.Call):
        return called_name(parent) in _SAME_ITEMS | {"len"}
    if isinstance(parent, ast.Subscript):
        return field == "value"
    return isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension, ast.Compare, ast.If, ast.While))


def _position(targets: ast.AST | None, target: ast.Name) -> int:
    """Of one of several variables; -1 where it is none of them."""
    names = targets.elts if isinstance(targets, (ast.Tuple, ast.List)) else []
    is_any_starred = any(isinstance(name, ast.Starred) for name in names)
    return names.index(target) if target in names and not is_any_starred else -1


def _items_at(values: Sequence[ast.expr | None], position: int) -> Sequence[ast.expr | None]:
    """What stands at `position` of tuples; -1: the values themselves. Nothing where one of them is no such tuple."""
    if position < 0:
        return values
    tuples = [value for value in values if isinstance(value, ast.Tuple) and len(value.elts) > position]
    return [value.elts[position] for value in tuples] if len(tuples) == len(values) else []
