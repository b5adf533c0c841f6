# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What bounds a buffer that is made anew, longer each time: a line that cuts it to a length or makes it empty, or a
test of its length: `self.rows = torch.cat([self.rows, row])[-self.length :]`.

As with containers, being unsure is "unknown". A cut on another axis than that on which the buffer grows bounds nothing,
and neither does one that it has outgrown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from stepleak._accumulated import is_fresh
from stepleak._assignments import assignments
from stepleak._bounds import Bounds
from stepleak._endings import Endings
from stepleak._latches import is_idle
from stepleak._objects import class_namespace_of, is_a, is_one_of, mro_of
from stepleak._places import Places
from stepleak._runs import Runs
from stepleak._slots import Slots
from stepleak._structure import UNKNOWN, Structure, at
from stepleak._syntax import FUNCTIONS, called_name
from stepleak._tensors import is_tensor, shape_of
from stepleak._unseen import array_type, is_array
from stepleak._use import Use
from stepleak._user_code import UserCode
from stepleak._uses import Uses, uses_of

_JOINING = {"cat": 0, "concat": 0, "concatenate": 0, "append": 0, "vstack": 0, "row_stack": 0}
"""Functions that make a longer buffer of others, and the axis where none is given."""
_SIZES = frozenset({"shape", "size", "numel", "nbytes"})
_SELECTING = frozenset({"narrow", "index_select", "masked_select", "compress", "take", "topk"})
"""Functions and methods that take some rows of what they get."""
_MOST_NAMES = 3
"""Variables that a value may have gone through in one function."""


def cut(objects: list[Any], code: UserCode, variable: str = "", function: str = "") -> Structure:
    """Of the variable that holds the buffer, the last of `objects`, each of which leads to the next. Never raises for
    what the sources contain. `variable`, `function`: where the way begins at a variable of a running function."""
    while len(objects) > 1 and is_array(objects[-2]) and is_array(objects[-1]):
        objects = objects[:-1]  # whose memory the array shows
    try:
        return _judged(objects, code, variable, function)
    except Exception:
        # Source that nobody thought of must not lose the holder itself.
        return UNKNOWN


def cut_where_made(item: Any, code: UserCode, lines: dict[str, set[int]]) -> Structure:
    """Of a buffer that no variable known to the sources holds: a line that cuts what grew, where it, or what outlives
    a step, was made: `k = torch.cat([old, k], 2)`, `k = k[:, :, -window:]`. Never raises for what the
    sources contain. `lines`: where that was made, by file."""
    try:
        return _judged_where_made(_shape_of(item), code, lines)
    except Exception:
        # Source that nobody thought of must not lose the holder itself.
        return UNKNOWN


def _judged_where_made(shape: tuple[int, ...], code: UserCode, lines: dict[str, set[int]]) -> Structure:
    bounds = Bounds(code, [])
    for module in filter(None, map(code.file, lines)):
        made_in = [f for f in module.nodes if isinstance(f, FUNCTIONS) and _has_any(f, lines[module.file])]
        for node in (node for function in made_in for node in ast.walk(function)):
            if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
                continue
            use = Use("assign", module, node, node)
            joins = [part for part in _parts(use, node.value) if called_name(part) in _JOINING]
            for axis, part in _sliced(node, len(shape)) if joins else ():
                bound = bounds.kept_by_slice(module, part)
                if bound != 0 and shape[axis] <= (bound if bound > 0 else shape[axis]):
                    return at("bounded" if bound > 0 else "conditional", use, bound)
    return UNKNOWN


def _has_any(function: ast.AST, lines: set[int]) -> bool:
    return any(function.lineno <= line <= (function.end_lineno or line) for line in lines)  # type: ignore[attr-defined]


def _judged(objects: list[Any], code: UserCode, variable: str, function: str) -> Structure:
    shape = _shape_of(objects[-1])
    slots = Slots(code, objects, variable, function).all() if shape else []
    if not slots or slots[0] is None:
        return UNKNOWN
    uses = uses_of(slots[0], code)
    runs = Runs(code, is_closure=slots[0].is_closure)
    places = Places(code, uses, runs)
    places.find_lengths()
    bounds = Bounds(code, objects, lambda module, node: places.is_length(module, node) or _is_size(node, uses))
    assigned = [u for u in uses.found if u.kind == "assign" and u.detail is not None]
    in_steps = [u for u in assigned if not runs.is_set_up(u) and not runs.is_at_end(u.module, u.node)]
    endings = Endings(code, objects)
    living = [u for u in in_steps if not is_idle(u, runs, endings)]
    joins = [join for use in living for join in _joins(use, uses)]
    grown = [axis for _, axis in joins]
    lengths = [_length_tested(join, runs, bounds, is_short=True) for join, _ in joins]
    if lengths and 0 not in lengths:
        axis = 0 if grown[0] is None else grown[0] % len(shape)
        if grown[0] is None or shape[axis] <= max(lengths):
            return at("bounded", joins[0][0], max(lengths))
    for use in living:
        for axis, part in _cuts(use, uses, len(shape)):
            if any(_is_same(axis, other, len(shape)) for other in grown) or not grown:
                kind, bound = _kept(use, part, runs, bounds)
                if bound < 0 or shape[axis] <= bound:
                    return at(kind, use, bound)
    for use in living:
        if any(_selections(use, uses)):
            return at("conditional", use)
    for use in living:
        if use.detail is not None and is_fresh(use.detail) and not runs.is_making(use.module, use.node):
            return at("reset", use)
    return UNKNOWN


def _kept(use: Use, part: ast.Slice, runs: Runs, bounds: Bounds) -> tuple[str, int]:
    """What a cut makes of the buffer, and the length of which it is at most then; -1 unknown, 0: none that lasts."""
    if not bounds.is_fixed(use.module, part):
        return "unknown", 0
    kept = bounds.kept_by_slice(use.module, part)
    if not runs.is_guarded(use):
        return "bounded", kept
    longest = _length_tested(use, runs, bounds, is_short=False)
    return ("bounded", max(kept, longest)) if longest > 0 and kept > 0 else ("conditional", -1)


def _length_tested(use: Use, runs: Runs, bounds: Bounds, *, is_short: bool) -> int:
    """The length that a test names which lets only shorter ones through, or only longer ones; 0: none does."""
    for module, guard in runs.guards(use):
        allowed = None if guard.is_loop else bounds.allowed(module, guard.test, guard.holds)
        if allowed is not None and allowed[0] is is_short and allowed[1] > 0 and bounds.is_fixed(module, guard.test):
            return allowed[1]
    return 0


def _is_size(node: ast.AST, uses: Uses) -> bool:
    """`x.shape[0]`, `x.size(0)` and the like, of the buffer."""
    if isinstance(node, (ast.Subscript, ast.Call)):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return isinstance(node, ast.Attribute) and node.attr in _SIZES and node.value in uses.denoting


def _shape_of(item: Any) -> tuple[int, ...]:
    """Of a buffer, or of a tuple; empty where it is none."""
    if is_a(item, tuple):
        return (tuple.__len__(item),)
    if is_tensor(item):
        return shape_of(item)
    array = array_type()
    if array is not None and is_one_of(array, mro_of(type(item))):
        shape: tuple[int, ...] = class_namespace_of(array)["shape"].__get__(item)
        return shape
    text = next((kind for kind in (str, bytes, bytearray) if is_a(item, kind)), None)
    return () if text is None else (text.__len__(item),)


def _parts(use: Use, node: ast.AST, depth: int = 0) -> Iterator[ast.AST]:
    """An expression with all in it, and what variables in it were assigned in the same function."""
    for part in ast.walk(node):
        yield part
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and depth < _MOST_NAMES:
            scope = use.module.resolve(part, part.id)
            for value in assignments(use.module, scope, part.id) if scope is use.module.scope(use.node) else []:
                yield from _parts(use, value, depth + 1)


def _is_made_of(use: Use, uses: Uses, node: ast.AST) -> bool:
    return any(part in uses.denoting for part in _parts(use, node))


def _joins(use: Use, uses: Uses) -> Iterator[tuple[Use, int | None]]:
    """What makes the assigned value longer than the buffer that it is made of, and on which axis; None where that is
    not known. What takes the place of a part that is left out makes it no longer."""
    assert use.detail is not None
    for node in _parts(use, use.detail):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_made_of(use, uses, node):
            yield replace(use, node=node), 0
        if isinstance(node, ast.Tuple) and any(
            isinstance(e, ast.Starred) and _is_made_of(use, uses, e) for e in node.elts
        ):
            yield replace(use, node=node), 0
        if not isinstance(node, ast.Call) or not any(_is_made_of(use, uses, a) for a in node.args):
            continue
        name = called_name(node)
        if name in ("hstack", "column_stack", "pad"):
            yield replace(use, node=node), None
        elif name in _JOINING and not all(_is_part(use, part) for part in _parts(use, node) if part in uses.denoting):
            given = next((k.value for k in node.keywords if k.arg in ("dim", "axis")), None)
            given = node.args[1] if given is None and name != "append" and len(node.args) > 1 else given
            yield replace(use, node=node), _JOINING[name] if given is None else _constant(given)


def _is_part(use: Use, node: ast.AST) -> bool:
    """Whether only a slice of it is taken: `self.rows[1:]`."""
    parent, field = use.module.parent(node)
    return isinstance(parent, ast.Subscript) and field == "value"


def _cuts(use: Use, uses: Uses, dimensions: int) -> Iterator[tuple[int, ast.Slice]]:
    """The axes on which the assigned value is cut, and to what."""
    assert use.detail is not None
    for node in _parts(use, use.detail):
        if not isinstance(node, ast.Subscript) or not _is_made_of(use, uses, node.value):
            continue
        yield from _sliced(node, dimensions)


def _selections(use: Use, uses: Uses) -> Iterator[ast.expr]:
    """Where only some rows of it are taken, by their numbers or a mask: `features[scores.topk(size).indices]`."""
    assert use.detail is not None
    for node in _parts(use, use.detail):
        if isinstance(node, ast.Subscript) and _is_made_of(use, uses, node.value) and not _is_position(node.slice):
            yield node
        elif isinstance(node, ast.Call) and called_name(node) in _SELECTING:
            of = [node.func.value, *node.args] if isinstance(node.func, ast.Attribute) else node.args
            if any(_is_made_of(use, uses, part) for part in of):
                yield node


def _is_position(item: ast.expr) -> bool:
    """Whether an index takes slices, single rows, or all."""
    items = item.elts if isinstance(item, ast.Tuple) else [item]
    return all(isinstance(each, (ast.Slice, ast.Constant, ast.UnaryOp)) for each in items)


def _sliced(node: ast.Subscript, dimensions: int) -> Iterator[tuple[int, ast.Slice]]:
    """The axes on which an expression is sliced, each with its slice."""
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    dots = next((i for i, item in enumerate(items) if _is_dots(item)), len(items))
    for index, item in enumerate(items):
        axis = index if index < dots else index - len(items) + dimensions
        if isinstance(item, ast.Slice) and (item.lower or item.upper) and 0 <= axis < dimensions:
            yield axis, item


def _is_dots(item: ast.expr) -> bool:
    return isinstance(item, ast.Constant) and item.value is Ellipsis


def _is_same(axis: int, other: int | None, dimensions: int) -> bool:
    return other is None or axis == other % dimensions


def _constant(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is int else None
