# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Where the user's sources read what a statement assigns to."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stepleak._container_words import READING_LIBRARIES
from stepleak._objects import module_namespace
from stepleak._syntax import Module, first_name, last_name
from stepleak._user_code import UserCode

Read = tuple[Module, ast.expr]


def reads(code: UserCode, module: Module, target: ast.expr) -> Iterator[Read]:
    """Of a variable where that is meant; of an attribute wherever an object may be of the same class; of an item where
    it is written alike. A method of the same name is none."""
    if isinstance(target, ast.Name):
        yield from _of_variable(code, module, target)
    elif isinstance(target, ast.Attribute):
        yield from _of_attribute(code, module, target)
    else:
        text = ast.unparse(target)
        yield from (
            (module, n)
            for n in module.nodes
            if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load) and ast.unparse(n) == text
        )


def reads_of_variable(module: Module, scope: ast.AST, name: str) -> Iterator[Read]:
    for node in module.named.get(name, ()):
        is_read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if is_read and module.resolve(node, name) is scope:
            yield module, node


def reads_of_attribute(code: UserCode, name: str, owner: ast.ClassDef | None = None) -> Iterator[Read]:
    """`owner`: the class whose attribute it is, where that is known."""
    for module in code.mentioning(name)[0]:
        for node in module.named.get(name, ()):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Load)
                and _may_be_of(code, module, node, owner)
            ):
                yield module, node
        for call in module.calls.get("getattr", ()):
            text = call.args[1] if len(call.args) > 1 else None
            if isinstance(text, ast.Constant) and text.value == name:
                yield module, call


def _of_variable(code: UserCode, module: Module, target: ast.Name) -> Iterator[Read]:
    scope = module.resolve(target, target.id)
    yield from reads_of_variable(module, scope, target.id)
    if scope is not module.tree:
        return
    for other in code.mentioning(target.id)[0]:
        if other is module:
            continue
        if other.namespace is module.namespace:
            yield from reads_of_variable(other, other.tree, target.id)
        yield from ((other, node) for node in other.named.get(target.id, ()) if _is_in_module(other, node, module))
        for node in other.nodes:
            names = node.names if isinstance(node, ast.ImportFrom) else []
            for alias in names:
                if alias.name == target.id:
                    name = alias.asname or alias.name
                    yield from reads_of_variable(other, other.resolve(node, name), name)


def _of_attribute(code: UserCode, module: Module, target: ast.Attribute) -> Iterator[Read]:
    return reads_of_attribute(code, target.attr, module.class_of_self(target.value))


def _is_in_module(module: Module, node: ast.expr, home: Module) -> bool:
    """Whether it is an attribute of another module that is imported: `state.hidden`."""
    owner = node.value if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) else None
    if not isinstance(owner, ast.Name) or owner.id not in module.namespace:
        return False
    return module_namespace(module.namespace[owner.id]) is home.namespace


def _may_be_of(code: UserCode, module: Module, node: ast.Attribute, owner: ast.ClassDef | None) -> bool:
    call, field = module.parent(node)
    if isinstance(call, ast.Call) and field == "func":
        return False
    if first_name(node) in READING_LIBRARIES:
        return False
    other = module.class_of_self(node.value)
    return owner is None or other is None or _are_related(code, owner.name, other.name)


def _are_related(code: UserCode, owner: str, other: str) -> bool:
    """Whether an object may be of both classes: one is the other, or a class derives from both, by their names."""
    if owner == other:
        return True
    classes = [made for home in code.mentioning("class ")[0] for named in home.classes.values() for made in named]
    bases = {made.name: {last_name(base) for base in made.bases} for made in classes}
    return any({owner, other} <= _with_bases(name, bases) for name in bases)


def _with_bases(name: str, bases: dict[str, set[str]]) -> set[str]:
    found, waiting = set[str](), [name]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += bases.get(one, ())
    return found
