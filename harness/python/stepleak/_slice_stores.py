# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What an assignment to a part of a list does to its length: `kept[-20:] = newest`."""

from __future__ import annotations

import ast

from stepleak._syntax import called_name

_AS_LONG = frozenset({"list", "tuple", "reversed", "sorted"})
"""Functions that give as many items as they get."""


def is_part(cut: ast.Slice) -> bool:
    return cut.lower is not None or cut.upper is not None or cut.step is not None


def of_part(part: ast.Subscript, value: ast.expr) -> str:
    """As a kind of use: "trim" where it takes the part out, "fill" where there is none yet, "put" where it puts as many
    items in its place, "remove" where it may put fewer. `part`: with a slice."""
    cut: ast.Slice = part.slice  # type: ignore[assignment]
    if isinstance(value, (ast.List, ast.Tuple)) and not value.elts:
        return "trim"
    if _is_between(cut, part.value):
        return "fill"
    # Of a part that leaves items out Python asks for as many as it has.
    is_extended = cut.step is not None and not (isinstance(cut.step, ast.Constant) and cut.step.value == 1)
    return "put" if is_extended or _is_as_long(cut, value) else "remove"


def _is_between(cut: ast.Slice, whole: ast.expr) -> bool:
    """Whether no item is in it: `kept[:0]`, `kept[len(kept):]`."""
    first = "0" if cut.lower is None else ast.unparse(cut.lower)
    last = f"len({ast.unparse(whole)})" if cut.upper is None else ast.unparse(cut.upper)
    return cut.step is None and first == last


def _is_as_long(cut: ast.Slice, value: ast.expr) -> bool:
    """Whether a part at one of the ends has as many items as it gets, where the list is no shorter."""
    last = cut.lower.operand if isinstance(cut.lower, ast.UnaryOp) and isinstance(cut.lower.op, ast.USub) else None
    if cut.upper is None:
        number = last
    elif cut.lower is None or (isinstance(cut.lower, ast.Constant) and cut.lower.value == 0):
        number = None if isinstance(cut.upper, ast.UnaryOp) else cut.upper
    else:
        number = None
    if isinstance(value, (ast.List, ast.Tuple)):
        is_plain = not any(isinstance(item, ast.Starred) for item in value.elts)
        return is_plain and isinstance(number, ast.Constant) and number.value == len(value.elts)
    measured = number.args[0] if isinstance(number, ast.Call) and called_name(number) == "len" and number.args else None
    return measured is not None and ast.unparse(_items_of(value)) == ast.unparse(measured)


def _items_of(value: ast.expr) -> ast.expr:
    """What an expression takes its items from, one each."""
    if isinstance(value, ast.Call) and called_name(value) in _AS_LONG and len(value.args) == 1:
        return _items_of(value.args[0])
    if isinstance(value, (ast.ListComp, ast.GeneratorExp)) and len(value.generators) == 1:
        return value if value.generators[0].ifs else _items_of(value.generators[0].iter)
    return value
