# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a test says by how it is written: which of its sides is larger, and whether it may hold no more some day."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stepleak._syntax import Guard, Module, called_name
from stepleak._use import TAKING, Use

_PARTS = {f"{named}{parts}" for named in ("", "named_") for parts in ("parameters", "modules", "children", "buffers")}
"""Methods of a module that list what it is made of."""
_PASSING_ON = frozenset(
    {"enumerate", "filter", "islice", "iter", "list", "map", "reversed", "set", "sorted", "tuple", "zip"}
)
"""Functions that give no items where their arguments have none."""
_FIXED = {"dim", "ndim", "shape", "size", "numel", "dtype", "is_floating_point", "is_sparse"} | {
    "startswith",
    "endswith",
}
"""Of a parameter, and of a name."""


def parts_of(guard: Guard) -> list[Guard]:
    """Tests that all hold where a statement runs: `step % 20 == 0` and `self.left > 0` of `a and b`."""
    test = guard.test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return parts_of(Guard(test.operand, not guard.holds, guard.is_loop))
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == guard.holds:
        return [part for t in test.values for part in parts_of(Guard(t, guard.holds, guard.is_loop))]
    return [guard]


def sides_where(guard: Guard) -> tuple[ast.expr, ast.expr] | None:
    """The smaller and the larger side of a test by size, where what it guards runs; None of other tests."""
    test = guard.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    op, left, right = test.ops[0], test.left, test.comparators[0]
    if not isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        return None
    is_left_small = isinstance(op, (ast.Lt, ast.LtE)) == guard.holds
    return (left, right) if is_left_small else (right, left)


def guards_of_item(use: Use) -> Iterator[Guard]:
    """Tests without which a fill puts nothing in: `kept += [x] if len(kept) < 9 else []`."""
    if use.detail is not None and use.puts_many():
        yield from guards_of_items(use.detail, use.detail)


def guards_of_items(items: ast.expr, each: ast.expr) -> Iterator[Guard]:
    """Tests without which an expression gives no items: `[x] if is_on else []`, `[x] * is_on`, `[x][:is_on]`, and which
    each of them has to pass. `each`: an item's name, or what has them all."""
    if isinstance(items, ast.IfExp):
        empty = [branch for branch in (items.body, items.orelse) if _is_empty(branch)]
        if len(empty) == 1:
            yield Guard(items.test, empty[0] is items.orelse, False)
    elif isinstance(items, ast.BinOp) and isinstance(items.op, ast.Mult):
        yield from (Guard(side, True, False) for side in (items.left, items.right) if _is_test(side))
    elif isinstance(items, ast.BinOp) and isinstance(items.op, ast.Sub):
        unseen = ast.Compare(each, [ast.NotIn()], [items.right])  # `for x in set(rows) - seen`
        yield Guard(ast.copy_location(unseen, items), True, False)
    elif isinstance(items, ast.Subscript) and isinstance(items.slice, ast.Slice):
        if items.slice.upper is not None and _is_test(items.slice.upper):
            yield Guard(items.slice.upper, True, False)
    elif isinstance(items, (ast.GeneratorExp, ast.ListComp, ast.SetComp)):
        for part in items.generators:
            yield from (Guard(test, True, False) for test in part.ifs)
            yield from guards_of_items(part.iter, part.target)
    elif isinstance(items, ast.Call) and called_name(items) in _PASSING_ON:
        kept = items.args[0] if called_name(items) == "filter" and items.args else None
        if isinstance(kept, ast.Lambda):
            yield Guard(kept.body, True, False)
        for argument in items.args:
            yield from guards_of_items(argument, each)


def guard_of_change(use: Use) -> Guard | None:
    """The test without which an assignment leaves a container as it is: `kept = kept[-9:] if len(kept) > 9 else
    kept`."""
    value = getattr(use.module.statement(use.node), "value", None)
    if use.kind not in ("assign", *TAKING) or not isinstance(value, ast.IfExp):
        return None
    same = [branch for branch in (value.body, value.orelse) if ast.unparse(branch) == ast.unparse(use.node)]
    return Guard(value.test, same[0] is value.orelse, False) if len(same) == 1 else None


def _is_test(node: ast.expr) -> bool:
    """Whether it is one by how it is written, and so 0 or 1 where a number is meant."""
    return isinstance(node, (ast.Compare, ast.BoolOp)) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def _is_empty(node: ast.expr) -> bool:
    return (isinstance(node, (ast.List, ast.Tuple)) and not node.elts) or (isinstance(node, ast.Dict) and not node.keys)


def is_of_equals(guard: Guard) -> bool:
    """Whether what it guards runs where two things are equal."""
    test = guard.test
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq if guard.holds else ast.NotEq)


def may_cease(guard: Guard) -> bool:
    """Whether a statement that a test guards may cease to run some day (`if epoch == 0`, `if self.is_warming_up`).

    What comes round again, as a test of a remainder does, will run again; a constant, and what the module is called, do
    not change.
    """
    return not guard.is_loop and not all(_comes_again(part.test) for part in parts_of(guard))


def _comes_again(test: ast.AST) -> bool:
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.In, ast.NotIn)):
        return False  # what was seen once stays so, whatever it is told by
    return isinstance(test, ast.Constant) or any(
        (isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod)) or (isinstance(n, ast.Name) and n.id == "__name__")
        for n in ast.walk(test)
    )


def is_given_back(module: Module, acquired: ast.AST) -> bool:
    """Whether the same function gives a lock or a permit back that it asks for, so that it is there the next time."""
    function, asked = module.function(acquired), _receiver(acquired)
    called = [call for call in module.calls.get("release", ()) if module.function(call) is function]
    return called_name(acquired) == "acquire" and any(_receiver(call) == asked for call in called)


def _receiver(call: ast.AST) -> str:
    method = call.func if isinstance(call, ast.Call) else None
    return ast.unparse(method.value) if isinstance(method, ast.Attribute) else ""


def is_access_of_object(module: Module, guard: Guard) -> bool:
    """Whether a descriptor's `__get__` tells by it an object's access from that of a class, which is no matter of time:
    `if instance is None: return self`."""
    test, function = guard.test, module.function(guard.test)
    if getattr(function, "name", "") != "__get__" or not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    arguments = function.args.args[1:2]  # type: ignore[union-attr]
    is_of_object = isinstance(test.left, ast.Name) and [test.left.id] == [argument.arg for argument in arguments]
    none = test.comparators[0]
    is_of_none = isinstance(none, ast.Constant) and none.value is None
    return is_of_object and is_of_none and isinstance(test.ops[0], ast.IsNot if guard.holds else ast.Is)


def is_of_parts(module: Module, guard: Guard) -> bool:
    """Whether a test picks some of a model's parameters or modules by what these are: `isinstance(part, nn.Linear)`,
    `"weight" in name`, `p.dim() == 2` in a loop over `model.named_parameters()`, or over `group["params"]` of an
    optimizer. It picks the same ones each time; what has a gradient in some steps gets one again.
    """
    test = guard.test
    loops = [loop for loop in module.loops(test) if isinstance(loop, ast.For)]
    targets = {
        n.id for loop in loops if _is_over_parts(loop.iter) for n in ast.walk(loop.target) if isinstance(n, ast.Name)
    }
    targets |= {
        node.id
        for loop in loops
        for statement in ast.walk(loop)
        if isinstance(statement, ast.Assign) and _is_gradient_of(statement.value, targets)
        for node in statement.targets
        if isinstance(node, ast.Name)
    }
    if _is_with_gradient(guard, targets):
        return True
    if isinstance(test, ast.Call) and called_name(test) == "isinstance":
        asked = test.args[:1]
    elif isinstance(test, ast.Compare):
        asked = [test.left, *test.comparators]
    else:
        asked = [test]
    kept = [part for part in asked if not isinstance(part, ast.Constant)]
    return bool(kept) and all(_is_fixed_of(part, targets) for part in kept)


def _is_over_parts(iterated: ast.expr) -> bool:
    if isinstance(iterated, ast.Call) and called_name(iterated) == "enumerate" and iterated.args:
        return _is_over_parts(iterated.args[0])
    if isinstance(iterated, ast.Subscript):
        return isinstance(iterated.slice, ast.Constant) and iterated.slice.value == "params"
    return called_name(iterated) in _PARTS


def _is_with_gradient(guard: Guard, parts: set[str]) -> bool:
    """Whether what a test guards runs for what has a gradient: `if p.grad is None: continue`."""
    test = guard.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not _is_gradient_of(test.left, parts):
        return False
    none = test.comparators[0]
    is_none = isinstance(none, ast.Constant) and none.value is None
    return is_none and isinstance(test.ops[0], ast.IsNot if guard.holds else ast.Is)


def _is_gradient_of(value: ast.expr, parts: set[str]) -> bool:
    return isinstance(value, ast.Attribute) and value.attr == "grad" and _is_fixed_of(value.value, parts)


def _is_fixed_of(asked: ast.expr, targets: set[str]) -> bool:
    """Whether it is one of these variables, or what does not change of it, as a call with constants gives it."""
    if isinstance(asked, ast.Call):
        return all(isinstance(a, (ast.Constant, ast.Tuple)) for a in asked.args) and _is_fixed_of(asked.func, targets)
    if isinstance(asked, ast.Attribute):
        return asked.attr in _FIXED and _is_fixed_of(asked.value, targets)
    return isinstance(asked, ast.Name) and asked.id in targets


def is_emptied_beside(module: Module, test: ast.AST, length: ast.AST) -> bool:
    """Whether what has a length is made anew, or cleared, where a test of the length holds."""
    outer, _ = module.parent(test)
    measured = ast.unparse(length.args[0]) if isinstance(length, ast.Call) and length.args else ""
    for node in (inner for statement in getattr(outer, "body", []) for inner in ast.walk(statement)):
        targets = node.targets if isinstance(node, ast.Assign) else []
        method = node.func if isinstance(node, ast.Call) else None
        is_clear = isinstance(method, ast.Attribute) and method.attr == "clear"
        is_cleared = is_clear and ast.unparse(method.value) == measured  # type: ignore[union-attr]
        if is_cleared or any(ast.unparse(target) == measured for target in targets):
            return True
    return False
