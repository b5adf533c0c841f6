# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Where the graph may be cut of what a statement assigns, so that no gradient of a step is lost.

`h = cell(x, h)` with a loss of `h` behind it must not be detached: the cell would learn nothing any more. What comes in
may be: `h = cell(x, h.detach())`, where each round of the statement has a `backward()` of its own.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from stepleak._assignments import SET_UP, assigned_value, assignments, stores
from stepleak._needs import Need, need_of
from stepleak._reads import Read, reads
from stepleak._statement import expression_in, line_of
from stepleak._syntax import COMPREHENSIONS, Module, called_name, is_parameter
from stepleak._user_code import UserCode

_BACKWARD = ("backward", "manual_backward")
_Assigning = ast.Assign | ast.AugAssign


@dataclass(frozen=True)
class Cut:
    """What may be called on parts of a statement."""

    detached: tuple[str, ...] | None = None
    """The expressions to be detached, where that is not just the one that is kept."""
    is_used_as_tensor: bool = False
    """Whether methods of tensors are called of what it assigns, so that no number will do."""


ANY = Cut()
NOWHERE = Cut(())


def cut_of(code: UserCode, module: Module, statement: ast.stmt, expression: str) -> Cut:
    """Of a statement that keeps what an expression gives."""
    targets = _targets_of(statement, expression)
    if not isinstance(statement, (ast.Assign, ast.AugAssign)) or not targets:
        return ANY
    found = [read for target in targets for read in reads(code, module, target)]
    others = [read for read in found if module.statement(read[1]) is not statement]
    needs = {read: need_of(code, read) for read in others if not _is_set_up(*read)}
    needing = [read for read, need in needs.items() if need is Need.GRAPH]
    old = _olds_in(statement, targets)
    if needing and (old or not all(_is_before(code, module, statement, read) for read in needing)):
        return _cut_of_old(code, module, statement, targets, old)
    return Cut(is_used_as_tensor=any(need > Need.NUMBER for need in needs.values()))


def statement_at(module: Module, line: int, text: str) -> ast.stmt | None:
    """The statement of a line whose text begins so."""
    for node in module.nodes:
        if isinstance(node, ast.stmt) and line_of(node) == line and ast.unparse(node).splitlines()[0] == text:
            return node
    return None


def _targets_of(statement: ast.stmt, expression: str) -> list[ast.expr]:
    """What gets all that an expression gives: a variable, an attribute, or an item that is made of itself."""
    if isinstance(statement, ast.AugAssign):
        return [statement.target] if ast.unparse(statement.value) == expression else []
    if not isinstance(statement, ast.Assign):
        return []
    whole = [target for target in statement.targets if ast.unparse(statement.value) == expression]
    beside = [
        to
        for target in statement.targets
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple)
        for to, value in zip(target.elts, statement.value.elts, strict=False)
        if ast.unparse(value) == expression
    ]
    return [to for to in whole + beside if not isinstance(to, ast.Subscript) or _olds_in(statement, [to])]


def _olds_in(statement: _Assigning, targets: list[ast.expr]) -> list[ast.expr]:
    """What an assignment reads of what it assigns to."""
    texts = {ast.unparse(target) for target in targets}
    parts = (part for part in ast.walk(statement.value) if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)))
    return [part for part in parts if ast.unparse(part) in texts]


def _cut_of_old(
    code: UserCode, module: Module, statement: _Assigning, targets: list[ast.expr], old: list[ast.expr]
) -> Cut:
    """With what comes in detached, where that is the only way that leads back, and surely a tensor."""
    if not isinstance(statement, ast.Assign) or len(old) != 1 or not isinstance(old[0], (ast.Name, ast.Attribute)):
        return NOWHERE
    text = expression_in(statement, old[0], ast.unparse(statement).splitlines()[0])
    outer = [node for node, _ in module.around(old[0])]
    is_later = any(isinstance(node, (ast.Lambda, *COMPREHENSIONS)) for node in outer[: outer.index(statement)])
    is_sure = not is_later and _ends_in_backward(module, statement) and _is_always_tensor(code, module, targets)
    return Cut((text,)) if text and is_sure else NOWHERE


def _ends_in_backward(module: Module, statement: ast.stmt) -> bool:
    """Whether what runs once for each round of a statement's innermost loop, or each call of its function, has a
    `backward()` behind it, whatever the round."""
    scope, loops = module.scope(statement), module.loops(statement)
    guards = module.guards(statement)
    return any(
        module.scope(call) is scope
        and module.loops(call) == loops
        and call.lineno > statement.lineno
        and all(guard in guards for guard in module.guards(call))
        for name in _BACKWARD
        for call in module.calls.get(name, ())
    )


def _is_always_tensor(code: UserCode, module: Module, targets: list[ast.expr]) -> bool:
    """Whether nothing else gives a target a number or None, as `total = 0` does before the first step."""
    for target in targets:
        if not isinstance(target, (ast.Name, ast.Attribute)):
            return False
        given = [(home, node) for home, node in stores(code, module, target) if node is not target]
        if not given or any(_is_parameter_of(home, node) or not _makes_tensor(home, node) for home, node in given):
            return False
    return True


def _is_parameter_of(module: Module, node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and is_parameter(module.resolve(node, node.id), node.id)


def _makes_tensor(module: Module, node: ast.Name | ast.Attribute) -> bool:
    parent, _ = module.parent(node)
    if isinstance(parent, ast.AugAssign) or isinstance(node.ctx, ast.Del):
        return True
    value = assigned_value(module, node)
    return value is not None and _may_be_tensor(module, value)


def _may_be_tensor(module: Module, value: ast.expr) -> bool:
    if isinstance(value, (ast.BinOp, ast.UnaryOp)):
        parts = [value.operand] if isinstance(value, ast.UnaryOp) else [value.left, value.right]
        return any(_may_be_tensor(module, part) for part in parts)
    if isinstance(value, ast.Name):
        scope = module.resolve(value, value.id)
        values = [] if is_parameter(scope, value.id) else assignments(module, scope, value.id)
        return bool(values) and all(isinstance(each, (ast.Call, ast.BinOp)) for each in values)
    if isinstance(value, ast.Call):
        return called_name(value) not in ("float", "int", "list", "dict", "tuple", "deque")
    return isinstance(value, (ast.Attribute, ast.Subscript))


def _is_set_up(module: Module, node: ast.AST) -> bool:
    return getattr(module.function(node), "name", "") in SET_UP


def _is_before(code: UserCode, module: Module, statement: ast.stmt, read: Read) -> bool:
    """Whether a read comes before a statement in each round of its loop, or each call of its function; so do all calls
    of the function that has the read."""
    home, node = read
    if home is module and module.scope(node) is module.scope(statement):
        return _comes_before(module, statement, node)
    function = home.function(node)
    calls = [] if function is None else code.calls(function.name)
    return bool(calls) and all(
        other is module and module.scope(call) is module.scope(statement) and _comes_before(module, statement, call)
        for other, call in calls
    )


def _comes_before(module: Module, statement: ast.stmt, node: ast.expr) -> bool:
    if node.lineno >= statement.lineno:
        return False
    around = [loop for loop in module.loops(statement) if loop in module.loops(node)]
    return not around or any(
        module.loops(call)[:1] == around[:1] for name in _BACKWARD for call in module.calls.get(name, ())
    )
