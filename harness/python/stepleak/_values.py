# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What an expression in the user's sources is worth now.

Values are read from the objects of the running program where the source leads to them, and no code of the user's runs.
"""

from __future__ import annotations

import ast
import os
import types
from typing import Any

from stepleak._assignments import assignments, variable_stores
from stepleak._objects import all_class_names, attributes_of, class_attributes_of, is_a, module_namespace
from stepleak._syntax import FUNCTIONS, Module, argument_of, called_name, default_of, is_parameter
from stepleak._user_code import UserCode

_MOST_DEPTH = 6
_MOST_BOUND = 1 << 62
NOTHING: Any = object()


class Values:
    """What expressions are worth. `objects`: those of one chain, which names in the sources may stand for."""

    def __init__(self, code: UserCode, objects: list[Any]) -> None:
        self._code = code
        self._objects = objects

    def number(self, module: Module, node: ast.AST | None, depth: int = 0) -> int:
        """What an expression is worth, if it is a whole number above zero that can be told; else -1."""
        value = self.value(module, node, depth)
        if type(value) is float and value.is_integer():
            value = int(value)
        return value if type(value) is int and 0 < value < _MOST_BOUND else -1

    def real(self, module: Module, node: ast.expr) -> float | None:
        """What an expression is worth, if it is a number that can be told."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            left, right = self.real(module, node.left), self.real(module, node.right)
            return left / right if left is not None and right else None
        value = self.value(module, node)
        return value if type(value) in (int, float) else None

    def value(self, module: Module, node: ast.AST | None, depth: int = 0) -> Any:
        """What an expression is worth; NOTHING where that cannot be told."""
        if node is None or depth > _MOST_DEPTH:
            return NOTHING
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.BinOp):
            return _computed(
                node.op, self.value(module, node.left, depth + 1), self.value(module, node.right, depth + 1)
            )
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return _computed(ast.Sub(), 0, self.value(module, node.operand, depth + 1))
        if isinstance(node, ast.Name):
            return self._variable(module, node, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(module, node, depth)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return named(self.value(module, node.value, depth + 1), node.slice.value)
        if (
            isinstance(node, ast.Call)
            and called_name(node) in ("int", "max", "min")
            and isinstance(node.func, ast.Name)
        ):
            values = [self.value(module, a, depth + 1) for a in node.args]
            if values and not node.keywords and all(type(v) in (int, float) for v in values):
                return int(values[0]) if node.func.id == "int" else {"max": max, "min": min}[node.func.id](values)
        return NOTHING

    def _variable(self, module: Module, node: ast.Name, depth: int) -> Any:
        scope = module.resolve(node, node.id)
        if scope is module.tree:
            known = named(module.namespace, node.id)
            return known if known is not NOTHING else self._assigned(module, scope, node.id, depth)
        closed = self._closed_over(module, scope, node.id)
        if closed is not NOTHING:
            return closed
        owner = module.class_of_self(node)
        if owner is not None:
            return next((o for o in self._objects if owner.name in all_class_names(o)), NOTHING)
        if is_parameter(scope, node.id):
            known = self._passed(module, scope, node.id, depth)
        else:
            known = self._assigned(module, scope, node.id, depth)
        return known if known is not NOTHING else self._kept(module, scope, node.id)

    def now(self, module: Module, node: ast.expr) -> Any:
        """What a variable, an attribute or an item is at this moment, also where it gets another value in each step."""
        scope = module.resolve(node, node.id) if isinstance(node, ast.Name) else module.tree
        if not isinstance(node, ast.Name) or scope is module.tree:
            return self.value(module, node)
        closed = self._closed_over(module, scope, node.id)
        return closed if closed is not NOTHING else self._running(module, scope, node.id)

    def _kept(self, module: Module, scope: ast.AST, name: str) -> Any:
        """What a variable of a running function has, where it gets it once: `arguments = parser.parse_args()`."""
        stored = [module.statement(node) for node in variable_stores(module, scope, name)]
        is_given = is_parameter(scope, name) and not stored
        is_assigned = len(stored) == 1 and isinstance(stored[0], (ast.Assign, ast.AnnAssign))
        is_assigned = is_assigned and not module.loops(stored[0])
        return self._running(module, scope, name) if is_given or is_assigned else NOTHING

    def _running(self, module: Module, scope: ast.AST, name: str) -> Any:
        values = self._code.running_values(module, scope, name) if isinstance(scope, FUNCTIONS) else []
        return values[0] if values and all(value is values[0] for value in values) else NOTHING

    def _closed_over(self, module: Module, scope: ast.AST, name: str) -> Any:
        """The value that a function of the chain keeps in its closure."""
        for item in self._objects:
            if type(item) is not types.FunctionType or item.__closure__ is None:
                continue
            if name not in item.__code__.co_freevars or not isinstance(scope, FUNCTIONS):
                continue
            first, last = scope.lineno, scope.end_lineno or scope.lineno
            if first <= item.__code__.co_firstlineno <= last and _is_file(module, item.__code__.co_filename):
                cell = item.__closure__[item.__code__.co_freevars.index(name)]
                try:
                    return cell.cell_contents
                except ValueError:
                    return NOTHING
        return NOTHING

    def _passed(self, module: Module, function: ast.AST, name: str, depth: int) -> Any:
        """What all calls in the sources pass for a parameter, or its default."""
        called = getattr(function, "name", "")
        owner = module.class_of_method(function)
        calls = self._code.calls(called) if called else []
        if owner is not None and called == "__init__":
            calls = self._code.calls(owner.name)
        values = []
        for home, call in calls:
            passed = argument_of(call, function, name, owner is not None)
            values.append(NOTHING if passed is None else self.value(home, passed, depth + 1))
        if any(value is NOTHING for value in values) or not values:
            values = [v for v in values if v is not NOTHING]
            values.append(self.value(module, default_of(function, name), depth + 1))
        return values[0] if all(type(v) is int and v == values[0] for v in values) else NOTHING

    def _assigned(self, module: Module, scope: ast.AST, name: str, depth: int) -> Any:
        """The one value that a variable is given."""
        values = [v for v in assignments(module, scope, name)]
        return self.value(module, values[0], depth + 1) if len(values) == 1 else NOTHING

    def _attribute(self, module: Module, node: ast.Attribute, depth: int) -> Any:
        owner = self.value(module, node.value, depth + 1)
        if owner is NOTHING:
            # A variable that is not at hand: another name of something in the chain.
            owners = [o for o in self._objects if type(named(o, node.attr)) is int]
            return named(owners[0], node.attr) if len(owners) == 1 else NOTHING
        return named(owner, node.attr)


def named(owner: Any, name: object) -> Any:
    """An attribute, a module's variable or a dict's item; without asking the object."""
    if type(name) is not str or owner is NOTHING:
        return NOTHING
    if type(owner) is dict:
        return next((v for k, v in list(dict.items(owner)) if type(k) is str and k == name), NOTHING)
    if is_a(owner, types.ModuleType):
        return named(module_namespace(owner), name)
    found = next((v for k, v in attributes_of(owner) if k == name), NOTHING)
    return found if found is not NOTHING else class_attributes_of(owner).get(name, NOTHING)


def _computed(op: ast.operator, left: Any, right: Any) -> Any:
    if type(left) not in (int, float) or type(right) not in (int, float):
        return NOTHING
    try:
        if isinstance(op, ast.Add):
            return left + right
        if isinstance(op, ast.Sub):
            return left - right
        if isinstance(op, ast.Mult):
            return left * right
        if isinstance(op, ast.FloorDiv):
            return left // right
        if isinstance(op, ast.Pow) and 0 <= right <= 64 and abs(left) <= 1024:
            return left**right
        if isinstance(op, ast.LShift) and 0 <= right <= 64:
            return left << right
    except (ArithmeticError, TypeError):
        pass
    return NOTHING


def _is_file(module: Module, file: str) -> bool:
    return os.path.realpath(file) == module.file
