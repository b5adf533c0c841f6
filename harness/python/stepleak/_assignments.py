# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Where the user's sources give a variable, or an attribute of some name, a value."""

from __future__ import annotations

import ast
from typing import Any, TypeGuard

from stepleak._syntax import LOOPS, Module, is_parameter, is_property, last_name
from stepleak._user_code import UserCode

SET_UP = frozenset(
    {"__init__", "__new__", "__post_init__", "setup", "set_up", "setUp", "setup_class", "__init_subclass__"}
)
"""Names of functions that run before the steps."""


def assignments(module: Module, scope: ast.AST, name: str) -> list[ast.expr]:
    """Values that statements of a file assign to a variable."""
    found = []
    for node in module.nodes:
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            parent, _ = module.parent(node)
            value = getattr(parent, "value", None) or assigned_beside(module, parent, node)
            if isinstance(value, ast.expr) and module.resolve(node, name) is scope:
                found.append(value)
    return found


def assigned_beside(module: Module, targets: ast.AST | None, node: ast.Name | ast.Attribute) -> ast.expr | None:
    """What one of several names is assigned: `keys, values = a, b` are two assignments."""
    if not isinstance(targets, (ast.Tuple, ast.List)):
        return None
    statement, _ = module.parent(targets)
    values = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(values, (ast.Tuple, ast.List)) or len(values.elts) != len(targets.elts):
        return None
    is_any_starred = any(isinstance(part, ast.Starred) for part in [*values.elts, *targets.elts])
    return None if is_any_starred else values.elts[targets.elts.index(node)]


def assigned_value(module: Module, node: ast.Name | ast.Attribute) -> ast.expr | None:
    """What a statement assigns to a variable or an attribute; None where that does not stand there by itself."""
    parent, _ = module.parent(node)
    if isinstance(parent, (ast.Assign, ast.AnnAssign)):
        return parent.value
    return assigned_beside(module, parent, node)


def named_value(code: UserCode, module: Module, node: ast.expr) -> tuple[Module, ast.expr]:
    """What a variable was given in the same function, or what a function or a property of the user's returns."""
    if isinstance(node, ast.NamedExpr):
        return module, node.value
    if isinstance(node, ast.Name):
        scope = module.resolve(node, node.id)
        values = assignments(module, scope, node.id)
        is_own = scope is module.scope(node) and not is_parameter(scope, node.id)
        is_counted = len(values) != 1 or isinstance(module.parent(values[0])[0], ast.AugAssign)
        return (module, node) if is_counted or not is_own else (module, values[0])
    called = node.func if isinstance(node, ast.Call) and not node.args else node
    found = code.functions(last_name(called)) if isinstance(called, (ast.Attribute, ast.Name)) else []
    if len(found) != 1 or (called is node and not is_property(found[0][1])):
        return module, node
    home, function = found[0]
    returned = [n.value for n in home.nodes if isinstance(n, ast.Return) and home.scope(n) is function]
    return (home, returned[0]) if len(returned) == 1 and returned[0] is not None else (module, node)


def named_variable(code: UserCode, module: Module, node: ast.expr) -> tuple[Module, ast.expr]:
    """As `named_value`, where that is a variable or an attribute, too; else the node itself."""
    home, value = named_value(code, module, node)
    return (home, value) if isinstance(value, (ast.Name, ast.Attribute)) else (module, node)


def is_constant(value: ast.expr | None) -> TypeGuard[ast.expr]:
    """Whether it is one, or a member of an enumeration: `Mode.COLLECT`."""
    is_member = isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id[:1].isupper()
    return isinstance(value, ast.Constant) or is_member


def variable_stores(module: Module, scope: ast.AST, name: str) -> list[ast.Name]:
    """Where a variable of a scope is given a value, or deleted; not as a parameter."""
    return [
        n
        for n in module.named.get(name, ())
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load) and module.resolve(n, name) is scope
    ]


def is_only_assigned(module: Module, scope: ast.AST, name: str) -> bool:
    """Whether one statement assigns to a variable, those aside that count it up."""
    stored = [n for n in variable_stores(module, scope, name) if isinstance(n.ctx, ast.Store)]
    return len([n for n in stored if not isinstance(module.parent(n)[0], ast.AugAssign)]) == 1


def stored_values(module: Module, name: str) -> list[ast.expr]:
    """Values that a file assigns to a variable or an attribute of this name."""
    found = []
    for node in module.nodes:
        if isinstance(node, (ast.Name, ast.Attribute)) and last_name(node) == name and isinstance(node.ctx, ast.Store):
            parent, _ = module.parent(node)
            value = getattr(parent, "value", None)
            found.append(value if isinstance(value, ast.expr) else node)
    return found


def is_stored(node: ast.AST, name: str) -> TypeGuard[ast.Attribute]:
    """Whether an attribute of this name is assigned, or deleted."""
    return isinstance(node, ast.Attribute) and node.attr == name and not isinstance(node.ctx, ast.Load)


def stores(code: UserCode, module: Module, target: ast.Name | ast.Attribute) -> list[tuple[Module, Any]]:
    """Where a variable, or any attribute of this name, is given a value or deleted."""
    if isinstance(target, ast.Attribute):
        homes = code.mentioning(target.attr)[0]
        return [(home, node) for home in homes for node in home.nodes if is_stored(node, target.attr)]
    scope = module.resolve(target, target.id)
    parameter = [(module, target)] if is_parameter(scope, target.id) else []
    return parameter + [(module, node) for node in variable_stores(module, scope, target.id)]


def is_setting(code: UserCode, module: Module, node: ast.Name | ast.Attribute) -> bool:
    """Whether nothing changes a variable, or the attributes of this name, once it is made."""
    if isinstance(node, ast.Attribute):
        given = [
            (m, n)
            for m in code.mentioning(node.attr)[0]
            for n in m.nodes
            if isinstance(n, ast.Attribute) and n.attr == node.attr and isinstance(n.ctx, ast.Store)
        ]
        return all(getattr(m.function(n), "name", "") in SET_UP for m, n in given)
    scope = module.resolve(node, node.id)
    stored = [
        n
        for n in module.nodes
        if isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Store)
        if module.resolve(n, node.id) is scope
    ]
    # What a loop of the file assigns gets another value in each round.
    if scope is module.tree and any(module.loops(n) or isinstance(module.statement(n), LOOPS) for n in stored):
        return False
    if scope is module.tree or is_parameter(scope, node.id):
        return len(stored) == (1 if scope is module.tree else 0)
    return len(stored) == 1 and code.is_before_running_loop(module, stored[0])
