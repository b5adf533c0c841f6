# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Statements that may give any attribute another value: `setattr(trainer, name, fresh())`, `self.__dict__.update(...)`,
`self.state.__init__()`, and an assignment to a property that stores elsewhere."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stepleak._assignments import SET_UP
from stepleak._runs import Runs
from stepleak._slots import Slot
from stepleak._syntax import Module, called_name, has_text, last_name
from stepleak._use import Use
from stepleak._user_code import OwnerClasses, UserCode

_CALLS = {
    "setattr": ("setattr", "__setattr__"),
    "__setstate__": ("__setstate__",),
    "__init__": ("__init__",),
    "patch": ("object",),  # mock.patch.object(trainer, "state", ...)
}
"""Words that a file has which calls one of these."""
_NAMESPACE_WORDS = ("__dict__", "vars")
_METHODS = ("update", "clear", "pop", "__setitem__")


@dataclass(frozen=True)
class Asked:
    """What leads to a container: attributes, the classes that have them, and variables."""

    attributes: frozenset[str]
    classes: tuple[OwnerClasses, ...]
    variables: frozenset[str]

    def may_be(self, module: Module, receiver: ast.expr | None) -> bool:
        """Whether a receiver is, by its name, one of the objects on the way."""
        owner = None if receiver is None else module.class_of_self(receiver)
        if owner is not None:
            return any(classes.has(owner) for classes in self.classes)
        if isinstance(receiver, ast.Attribute):
            return receiver.attr in self.attributes
        return isinstance(receiver, ast.Name) and receiver.id in self.variables

    def has_text(self, module: Module) -> bool:
        """Whether a file has one of the attributes' names as text."""
        return any(has_text(module, attribute) for attribute in self.attributes)


def set_by_name(code: UserCode, slots: list[Slot], runs: Runs) -> Use | None:
    """The first statement that may give an attribute on the way to a container another value while the steps run, and
    does not say which it is."""
    names = [name for slot in slots for name in slot.names]
    asked = Asked(
        frozenset(name.name for name in names if name.kind == "attribute"),
        tuple(OwnerClasses(code, slot.owner) for slot in slots if slot.owner is not None),
        frozenset(name.name for name in names if name.kind == "variable"),
    )
    for use in itertools.chain(_dynamic(code, asked), _of_properties(code, asked)) if asked.attributes else ():
        function = use.module.function(use.node)
        is_making = getattr(function, "name", "") in SET_UP or runs.is_before_steps(use.module, use.node)
        is_run = not runs.is_uncalled(use.module, use.node) and not runs.is_at_end(use.module, use.node)
        if is_run and not is_making:
            return use
    return None


def _dynamic(code: UserCode, asked: Asked) -> Iterator[Use]:
    for word, names in _CALLS.items():
        for module in code.mentioning(word)[0]:
            for call in (call for name in names for call in module.calls.get(name, ())):
                if _may_set(module, call, asked):
                    yield Use("assign", module, call)
    for word in _NAMESPACE_WORDS:
        for module in code.mentioning(word)[0]:
            for node in module.nodes:
                if isinstance(node, ast.expr) and _is_namespace_changed(module, node, asked):
                    yield Use("assign", module, node)


def _may_set(module: Module, call: ast.Call, asked: Asked) -> bool:
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    if called_name(call) in ("__init__", "__setstate__"):
        # What a derived class calls of its base makes the same object, once.
        is_by_class = bool(call.args) and module.class_of_self(call.args[0]) is not None
        return not is_by_class and asked.may_be(module, receiver)
    if len(call.args) < 2:
        return False
    text = call.args[1] if called_name(call) != "__setattr__" or len(call.args) > 2 else call.args[0]
    if isinstance(text, ast.Constant):
        return text.value in asked.attributes
    return asked.may_be(module, call.args[0]) or asked.has_text(module)


def _is_namespace_changed(module: Module, node: ast.expr, asked: Asked) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        owner = node.value
    elif isinstance(node, ast.Call) and called_name(node) == "vars" and node.args:
        owner = node.args[0]
    else:
        return False
    parent, field = module.parent(node)
    is_item = isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load)
    is_changed = (
        is_item
        or (isinstance(parent, ast.Attribute) and parent.attr in _METHODS)
        or (isinstance(parent, (ast.AugAssign, ast.Assign)) and field in ("target", "targets"))
    )
    return is_changed and (asked.may_be(module, owner) or asked.has_text(module))


def _of_properties(code: UserCode, asked: Asked) -> Iterator[Use]:
    """Assignments to a property whose setter stores to one of the attributes."""
    for module in code.mentioning("setter")[0]:
        for functions in module.functions.values():
            for function in functions:
                is_setter = any(last_name(decorator) == "setter" for decorator in function.decorator_list)
                stores = _stores_in(ast.walk(function)) if is_setter else ()
                if any(n.attr in asked.attributes and asked.may_be(module, n.value) for n in stores):
                    yield from _stores_of(code, function.name)


def _stores_of(code: UserCode, attribute: str) -> Iterator[Use]:
    for module in code.mentioning(attribute)[0]:
        yield from (Use("assign", module, node) for node in _stores_in(module.nodes) if node.attr == attribute)


def _stores_in(nodes: Iterable[ast.AST]) -> Iterator[ast.Attribute]:
    return (node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
