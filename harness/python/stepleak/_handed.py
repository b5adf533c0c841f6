# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What an object was handed when it was made: the value of its attribute for good."""

from __future__ import annotations

import ast

from stepleak._assignments import stores
from stepleak._syntax import FUNCTIONS, Function, Module, argument_of, called_name, is_parameter, last_name
from stepleak._user_code import UserCode

_MAKING = frozenset({"__new__", "__init__", "__setattr__", "__getattribute__"})


def handed(code: UserCode, module: Module, key: ast.Attribute) -> ast.expr | None:
    """What the maker of an object that was made for the statement was handed, and the attribute has:
    `next(self.numbers)` of `job.number` below `job = Job(next(self.numbers))`. None where that is not sure."""
    made = made_before(module, key)
    found = [] if made is None else code.classes(called_name(made))
    if made is None or len(found) != 1 or code.functions(key.attr):
        return None
    home, owner = found[0]
    makers = [f for f in owner.body if isinstance(f, FUNCTIONS) and f.name in _MAKING]
    is_plain = not (owner.decorator_list or owner.keywords or code.functions(owner.name))
    is_derived = any(code.classes(last_name(base)) for base in owner.bases)
    has_other = any(isinstance(n, ast.Name) and home.scope(n) is owner for n in home.named.get(key.attr, ()))
    if not is_plain or is_derived or has_other:
        return None
    if [f.name for f in makers] != ["__init__"] or makers[0].decorator_list:
        return None
    passed = _handed_to(code, home, makers[0], key)
    return argument_of(made, makers[0], passed, True) if passed else None


def given_before(module: Module, key: ast.Attribute) -> ast.expr | None:
    """What the same function has given this attribute of its own object before, each time, and nothing else:
    `next(numbers)` of `self.number` below `self.number = next(numbers)`."""
    function = module.function(key)
    if function is None or module.class_of_self(key.value) is None:
        return None
    stored = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr == key.attr and not isinstance(node.ctx, ast.Load)
    ]
    made, field = module.parent(stored[0]) if len(stored) == 1 else (None, "")
    if not isinstance(made, ast.Assign) or field != "targets" or module.class_of_self(stored[0].value) is None:
        return None
    return made.value if _is_later(module, made, key) else None


def _handed_to(code: UserCode, home: Module, maker: Function, key: ast.Attribute) -> str:
    """The parameter of an `__init__` that an attribute has for good; "" where it may get something else."""
    values = []
    for module, node in stores(code, home, key):
        function, (statement, _) = module.function(node), module.parent(node)
        if getattr(function, "name", "") != "__init__" or module.class_of_self(node.value) is None:
            return ""
        if function is maker:
            values.append(statement.value if isinstance(statement, ast.Assign) else node)
    name = last_name(values[0]) if len(values) == 1 and isinstance(values[0], ast.Name) else ""
    is_given_anew = any(
        isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load) for n in ast.walk(maker)
    )
    return name if is_parameter(maker, name) and not is_given_anew else ""


def made_before(module: Module, key: ast.Attribute) -> ast.Call | None:
    """The call that makes the object whose attribute it is, each time before the attribute is asked for."""
    name = key.value
    if not isinstance(name, ast.Name):
        return None
    scope = module.resolve(name, name.id)
    stored = [n for n in module.named.get(name.id, ()) if not isinstance(n.ctx, ast.Load)]
    stored = [n for n in stored if isinstance(n, ast.Name) and module.resolve(n, name.id) is scope]
    made, field = module.parent(stored[0]) if len(stored) == 1 else (None, "")
    if not isinstance(made, ast.Assign) or field != "targets" or not isinstance(made.value, ast.Call):
        return None
    return made.value if _is_later(module, made, key) else None


def _is_later(module: Module, made: ast.Assign, key: ast.expr) -> bool:
    """Whether an expression is asked for after an assignment has run, once for each time."""
    block, part = module.parent(made)
    statements = getattr(block, part, None)
    later = statements[statements.index(made) + 1 :] if isinstance(statements, list) else []
    is_beside = module.loops(key) == module.loops(made) and module.scope(key) is module.scope(made)
    return is_beside and any(key in ast.walk(statement) for statement in later)
