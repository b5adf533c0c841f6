# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Lines that take something out of whatever container comes by: `for part in self.parts: part.clear()`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stepleak._container_words import FRESH, REMOVING
from stepleak._facts import Facts
from stepleak._runs import is_atexit
from stepleak._syntax import FUNCTIONS, Module, argument_of, called_name, is_parameter
from stepleak._use import Use

_MOST_LEVELS = 3
"""Of calls that hand a container on."""
_AT_ITS_END = frozenset({"add_done_callback", "finalize"})
"""What calls a method once a task, or an object, is over: that takes out what is over, and nothing that is in use."""
_OF_STATEMENTS = ("del ", "[:]", "*=")
"""What the text of a statement has that empties something."""


def removals_of_any(facts: Facts) -> Iterator[Use]:
    """Those that a step may run, by methods that the container has, of what may be the container for all that the
    sources tell."""
    known = facts.uses.denoting
    named = [*_by_methods(facts), *_by_statements(facts)]
    unknown = [(module, node) for module, node in named if node not in known and _may_be_any(facts, module, node)]
    for module, node in (*_handed_on(facts), *unknown, *_by_functions(facts)):
        use = Use("remove", module, node)
        if not facts.runs.is_at_end(module, node) and not facts.is_idle(use):
            yield use


def _handed_on(facts: Facts) -> Iterator[tuple[Module, ast.expr]]:
    """Its own methods, to be called by others: `stack.callback(self.kept.clear)`, `flush = kept.clear`."""
    for module, word in _named(facts):
        for method in module.named.get(word, ()):
            if not isinstance(method, ast.Attribute) or method.value not in facts.uses.denoting:
                continue
            outer, field = module.parent(method)
            call = outer if isinstance(outer, ast.Call) else None
            is_late = call is not None and (is_atexit(call.func) or called_name(call) in _AT_ITS_END)
            if not (call is not None and field == "func") and not is_late:
                yield module, method.value


def _named(facts: Facts) -> Iterator[tuple[Module, str]]:
    """The files with each method of the container that takes something out."""
    for word in sorted({"clear", *REMOVING} & facts.uses.methods):
        yield from ((module, word) for module in facts.code.mentioning(word)[0])


def _by_methods(facts: Facts) -> Iterator[tuple[Module, ast.expr]]:
    for module, word in _named(facts):
        calls = (call.func for call in module.calls.get(word, ()))
        yield from ((module, called.value) for called in calls if isinstance(called, ast.Attribute))


def _by_statements(facts: Facts) -> Iterator[tuple[Module, ast.expr]]:
    modules = {module: None for word in _OF_STATEMENTS for module in facts.code.mentioning(word)[0]}
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult):
                yield module, node.target
            elif isinstance(node, ast.Delete):
                yield from ((module, target.value) for target in node.targets if isinstance(target, ast.Subscript))
            elif isinstance(node, ast.Assign):
                slices = (t for t in node.targets if isinstance(t, ast.Subscript) and isinstance(t.slice, ast.Slice))
                yield from ((module, target.value) for target in slices)


def _by_functions(facts: Facts) -> Iterator[tuple[Module, ast.expr]]:
    """Methods that are handed on: `methodcaller("clear")`, `list.clear`."""
    for module in facts.code.mentioning("methodcaller")[0]:
        calls = module.calls.get("methodcaller", ())
        yield from ((module, call) for call in calls if facts.uses.kind_of_unbound(call) in ("reset", "remove"))
    for module, word in _named(facts):
        for node in module.named.get(word, ()):
            parent, field = module.parent(node)
            is_called = isinstance(parent, ast.Call) and field == "func"
            if not is_called and facts.uses.kind_of_unbound(node) in ("reset", "remove"):
                yield module, node


def _may_be_any(facts: Facts, module: Module, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression is an item of something, or what a function gets or returns, of which nobody tells what
    that is. An attribute or a variable of another name is another container."""
    if isinstance(node, ast.Subscript):
        return True
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        return name not in FRESH and name != "super" and not facts.code.classes(name)
    if not isinstance(node, ast.Name) or depth > _MOST_LEVELS or module.class_of_self(node) is not None:
        return False
    scope = module.resolve(node, node.id)
    if isinstance(scope, (*FUNCTIONS, ast.Lambda)) and is_parameter(scope, node.id):
        return _may_argument(facts, module, scope, node.id, depth)
    values = _values_of(module, node.id, scope)
    return any(value is None or _may_be_any(facts, module, value, depth + 1) for value in values)


def _may_argument(facts: Facts, module: Module, function: ast.AST, name: str, depth: int) -> bool:
    calls = facts.code.calls(getattr(function, "name", "")) if isinstance(function, FUNCTIONS) else []
    if not calls:
        return True
    is_bound = module.class_of_method(function) is not None
    arguments = [(home, argument_of(call, function, name, is_bound)) for home, call in calls]
    return any(value is None or _may_be_any(facts, home, value, depth + 1) for home, value in arguments)


def _values_of(module: Module, name: str, scope: ast.AST) -> Iterator[ast.expr | None]:
    """What a variable gets; None for an item of what a loop goes over, unless these are written out."""
    for node in module.named.get(name, ()):
        if not isinstance(node, ast.Name) or isinstance(node.ctx, ast.Load) or module.resolve(node, name) is not scope:
            continue
        parent, field = module.parent(node)
        while isinstance(parent, (ast.Tuple, ast.List)):
            parent, field = module.parent(parent)
        if isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)) and field == "target":
            over = parent.iter
            yield from over.elts if isinstance(over, (ast.Tuple, ast.List)) else (None,)
        elif isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and field in ("target", "targets"):
            yield parent.value
