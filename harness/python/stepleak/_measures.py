# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a size in the sources, `t.numel()`, is of the things that are there now, without asking them."""

from __future__ import annotations

import ast
import itertools
import math
import sys
from typing import Any

from stepleak._objects import class_namespace_of, is_a, items_of, length_of
from stepleak._syntax import called_name
from stepleak._tensors import element_size_of, is_tensor, shape_of
from stepleak._unseen import array_type, is_array

_MOST_ITEMS = 1000
_SIZED = (bytes, bytearray, str, tuple)


def mean_of(container: Any, size: ast.expr, name: str) -> float | None:
    """Of the items of a container, each of which a loop calls `name`; None where that cannot be told."""
    sizes = [_size_of(size, name, item) for item in itertools.islice(items_of(container), _MOST_ITEMS)]
    known = [found for found in sizes if found is not None]
    return sum(known) / len(known) if known and len(known) == len(sizes) else None


def measure_of(function: str, value: Any) -> float | None:
    """What `len`, `getsizeof` or `sum` say of something; None where that cannot be told."""
    if function == "sum":
        items = items_of(value)
        return sum(items) if items and all(type(item) in (int, float) for item in items) else None
    if function == "getsizeof":
        return sys.getsizeof(value) if type(value) in (*_SIZED, list, dict, set) else None
    return _length_of(value)


def empty_of(function: str, value: Any) -> float:
    """What it says of an empty one of these."""
    is_of_bytes = function == "getsizeof" and type(value) in (bytes, bytearray, str)
    return sys.getsizeof(type(value)()) if is_of_bytes else 0


def _length_of(value: Any) -> float | None:
    kind = next((kind for kind in _SIZED if is_a(value, kind)), None)
    length = length_of(value) if kind is None else kind.__len__(value)
    return length if length >= 0 else None


def _size_of(size: ast.expr, name: str, item: Any) -> float | None:
    if isinstance(size, ast.Constant):
        return size.value if type(size.value) in (int, float) else None  # type: ignore[return-value]
    if isinstance(size, ast.BinOp) and isinstance(size.op, (ast.Mult, ast.Add)):
        left, right = _size_of(size.left, name, item), _size_of(size.right, name, item)
        if left is None or right is None:
            return None
        return left * right if isinstance(size.op, ast.Mult) else left + right
    if isinstance(size, ast.Call) and called_name(size) in ("len", "getsizeof") and len(size.args) == 1:
        return measure_of(called_name(size), item) if _is_name(size.args[0], name) else None
    method = size.func if isinstance(size, ast.Call) and not size.args else size
    if not isinstance(method, ast.Attribute) or not _is_name(method.value, name):
        return None
    return _size_by(method.attr, item)


def _size_by(name: str, item: Any) -> float | None:
    if is_array(item) and name in ("size", "nbytes", "itemsize"):
        return int(class_namespace_of(array_type())[name].__get__(item))
    if not is_tensor(item):
        return None
    number, each = math.prod(shape_of(item)), element_size_of(item)
    known = {"numel": number, "nelement": number, "nbytes": number * each, "element_size": each, "itemsize": each}
    return known.get(name)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
