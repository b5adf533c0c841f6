# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Removals by a key that equals none of those that are there, since it is of another type: where numbers were put in,
`pop(f"request {number}", None)` takes nothing out. Runs no code of the user's."""

from __future__ import annotations

import ast
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable
from typing import Any

from stepleak._assignments import named_value, variable_stores
from stepleak._facts import Facts
from stepleak._keys import equals_only_itself
from stepleak._objects import is_one_of
from stepleak._reach import MOST_CALLERS, MOST_LEVELS
from stepleak._syntax import FUNCTIONS, Module, argument_of, is_parameter
from stepleak._use import Use

_PLAIN = (dict, OrderedDict, defaultdict, Counter, set)
_BY_KEY = frozenset({"pop", "remove", "discard", "__delitem__"})

_TEXT, _NUMBER, _TUPLE, _OTHER = "text", "number", "tuple", "other"
"""Nothing of one of these kinds equals anything of another."""
_KINDS = ((str, _TEXT), (int, _NUMBER), (float, _NUMBER), (bool, _NUMBER), (complex, _NUMBER), (tuple, _TUPLE))
_OTHERS = (bytes, frozenset, type(None))
_MAKING = {"str": _TEXT, "repr": _TEXT, "int": _NUMBER, "float": _NUMBER, "len": _NUMBER, "tuple": _TUPLE}


def is_of_other_type(removal: Use, facts: Facts) -> bool:
    """Whether a removal's key surely equals none that its container has."""
    if not is_one_of(type(facts.container), _PLAIN) or not facts.container or not _is_by_key(removal):
        return False
    asked = _kind_of(facts, removal.module, removal.detail, 0)
    return asked is not None and asked not in _kinds_in(facts.container)


def _is_by_key(removal: Use) -> bool:
    parent, _ = removal.module.parent(removal.node)
    is_item = isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Del)
    return removal.kind == "remove" and (is_item or (isinstance(parent, ast.Attribute) and parent.attr in _BY_KEY))


def _kinds_in(container: Any) -> set[str]:
    """Of all its keys; all kinds, where one may equal whatever it likes."""
    keys: Iterable[Any] = set.__iter__(container) if type(container) is set else dict.__iter__(container)
    one_of_each = {id(type(key)): key for key in keys}
    found = {_kind_of_key(key) for key in one_of_each.values()}
    return {_TEXT, _NUMBER, _TUPLE, _OTHER} if None in found else {kind for kind in found if kind is not None}


def _kind_of_key(key: Any) -> str | None:
    kind = next((kind for known, kind in _KINDS if type(key) is known), None)
    return _OTHER if kind is None and (is_one_of(type(key), _OTHERS) or equals_only_itself(key)) else kind


def _kind_of(facts: Facts, module: Module, key: ast.expr | None, depth: int) -> str | None:
    """Of what an expression has for a value; None where it may be more than one, or is not known."""
    if key is None or depth > MOST_LEVELS:
        return None
    if isinstance(key, ast.JoinedStr):
        return _TEXT
    if isinstance(key, ast.Tuple):
        return _TUPLE
    if isinstance(key, ast.Constant):
        return _kind_of_key(key.value)
    if isinstance(key, ast.BinOp) and isinstance(key.op, (ast.Add, ast.Mod)):
        is_text = _kind_of(facts, module, key.left, depth + 1) == _TEXT
        return _TEXT if is_text else None
    if isinstance(key, ast.Call) and isinstance(key.func, ast.Name) and not facts.code.functions(key.func.id):
        return _MAKING.get(key.func.id)
    home, value = named_value(facts.code, module, key)
    if value is not key:
        return _kind_of(facts, home, value, depth + 1)
    return _kind_passed(facts, module, key, depth) if isinstance(key, ast.Name) else None


def _kind_passed(facts: Facts, module: Module, key: ast.Name, depth: int) -> str | None:
    """Of what all who call a function pass for one of its parameters, which it leaves as it is."""
    function = module.resolve(key, key.id)
    if not isinstance(function, FUNCTIONS) or not is_parameter(function, key.id):
        return None
    calls = facts.code.calls(function.name)
    is_changed = bool(variable_stores(module, function, key.id))
    if is_changed or not 0 < len(calls) <= MOST_CALLERS or facts.runs.is_passed_on(function.name):
        return None
    is_bound = module.class_of_method(function) is not None
    passed = ((home, argument_of(call, function, key.id, is_bound)) for home, call in calls)
    kinds = {_kind_of(facts, home, value, depth + 1) for home, value in passed}
    return kinds.pop() if len(kinds) == 1 else None
