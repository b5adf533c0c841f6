# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Limits that stay as they are: whether anything gives what a test compares with another value once the steps run."""

from __future__ import annotations

import ast

from stepleak._assignments import assignments, is_setting, named_value, stores
from stepleak._facts import Facts
from stepleak._objects import type_name
from stepleak._syntax import FUNCTIONS, Module, argument_of, called_name, is_parameter
from stepleak._values import NOTHING

_MOST_DEPTH = 8
_OF_NUMBERS = frozenset({"int", "float", "max", "min", "round", "abs"})
_PLAIN = frozenset({"Namespace", "SimpleNamespace", "module", "dict", "type"})
"""Types of objects that have settings, and change none of them."""

_MOST = ("max", "num_", "n_", "total", "limit", "log", "save", "every")
_COUNTED = ("step", "epoch", "iter", "count", "index", "idx", "seen", "position", "time")
"""What libraries call a setting, and what they count."""


class FixedValues:
    """Asks about expressions of the user's sources."""

    def __init__(self, facts: Facts) -> None:
        self._code = facts.code
        self._runs = facts.runs
        self._values = facts.values

    def is_fixed(self, module: Module, node: ast.AST, depth: int = 0) -> bool:
        """Whether nothing gives what a limit is made of another value once the steps run."""
        if depth > _MOST_DEPTH:
            return False
        if isinstance(node, ast.Attribute):
            return self._is_fixed_attribute(module, node, depth)
        if isinstance(node, ast.Name):
            return self._is_fixed_variable(module, node, depth)
        if isinstance(node, ast.Call):
            home, value = named_value(self._code, module, node)
            if value is not node:
                return self.is_fixed(home, value, depth + 1)
            is_getter = called_name(node) == "get" and isinstance(node.func, ast.Attribute)
            parts = [*node.args, *([node.func.value] if is_getter else [])]  # type: ignore[attr-defined]
            is_known = is_getter or called_name(node) in _OF_NUMBERS
            return is_known and all(self.is_fixed(module, part, depth + 1) for part in parts)
        return all(self.is_fixed(module, part, depth + 1) for part in ast.iter_child_nodes(node))

    def _is_fixed_attribute(self, module: Module, node: ast.Attribute, depth: int) -> bool:
        if not is_setting(self._code, module, node):
            return False
        if stores(self._code, module, node):
            return True
        home, value = named_value(self._code, module, node)
        if value is not node:
            return self.is_fixed(home, value, depth + 1)
        # A library's object may count by itself: `trainer.global_step`, but not `config.max_steps`.
        owner = self._values.value(module, node.value)
        is_plain = owner is not NOTHING and (type_name(owner) in _PLAIN or self._code.defines_class_of(owner))
        is_most = node.attr.startswith(_MOST)
        return is_plain or is_most or not any(word in node.attr for word in _COUNTED)

    def _is_fixed_variable(self, module: Module, node: ast.Name, depth: int) -> bool:
        scope = module.resolve(node, node.id)
        stored = stores(self._code, module, node)
        if module.class_of_self(node) is not None:
            return True
        if is_parameter(scope, node.id):
            return len(stored) == 1 and self._is_passed_fixed(module, scope, node.id, depth)
        if not stored:
            return scope is module.tree
        values = assignments(module, scope, node.id)
        is_made = len(stored) == len(values) == 1 and not module.loops(module.statement(stored[0][1]))
        return is_made and (self._runs.is_once(module, stored[0][1]) or self.is_fixed(module, values[0], depth + 1))

    def _is_passed_fixed(self, module: Module, function: ast.AST, name: str, depth: int) -> bool:
        """Whether each call in the sources passes what is fixed; of what a library calls, that is not known."""
        called, owner = getattr(function, "name", ""), module.class_of_method(function)
        calls = self._code.calls(owner.name if owner is not None and called == "__init__" else called) if called else []
        passed = [(home, argument_of(call, function, name, owner is not None)) for home, call in calls]
        if not passed:
            return isinstance(function, FUNCTIONS) and bool(self._code.running_values(module, function, name))
        return all(value is None or self.is_fixed(home, value, depth + 1) for home, value in passed)
