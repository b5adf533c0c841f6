# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Under which names a chain of objects keeps what it leads to, as the sources write them."""

from __future__ import annotations

import ast
import contextvars
import functools
import os
import sys
import types
from dataclasses import dataclass
from typing import Any

from stepleak._assignments import variable_stores
from stepleak._frames import frame_of
from stepleak._objects import all_classes_of, attributes_of, container_kind, is_a, is_namespace_of, module_namespace
from stepleak._syntax import FUNCTIONS, Module, first_line, is_parameter
from stepleak._use import VALUE, Keys, Name
from stepleak._user_code import UserCode

_STEPS_OF_TESTS = os.path.join(os.path.dirname(__file__), "_pytest_steps.py")
"""Where a test is called with its fixtures, by their names."""
_partial_function_of: Any = functools.partial.__dict__["func"].__get__


@dataclass(frozen=True)
class Slot:
    """A variable or an attribute that keeps something, itself or in containers below it."""

    names: list[Name]
    owner: Any = None
    """Of an attribute."""
    is_closure: bool = False
    is_passed: bool = False
    """Whether it is a parameter that each call gets the same for."""
    is_suspended: bool = False
    """Whether it is a variable of a generator or a coroutine, in one of its calls."""


class Slots:
    """Slots of one chain, the innermost first. `variable`, `function`: where the chain begins at a variable."""

    def __init__(self, code: UserCode, objects: list[Any], variable: str, function: str) -> None:
        self._code = code
        self._objects = objects
        self._variable = variable
        self._function = function

    def all(self) -> list[Slot | None]:
        """None where a name is not known."""
        found: list[Slot | None] = []
        index = len(self._objects) - 1
        while index > 0 or (self._variable and index == 0):
            slot, index = self._slot(index)
            found.append(slot)
            if slot is None and len(found) == 1:
                break
        return found

    def _slot(self, index: int) -> tuple[Slot | None, int]:
        """The slot that keeps the object at `index`, and the index of what has the slot."""
        keys: Keys = ()
        while index > 0:
            child: Any = self._objects[index]
            parent: Any = self._objects[index - 1]
            before: Any = self._objects[index - 2] if index > 1 else None
            if is_a(parent, dict):
                if index == 1 and _is_globals(parent):
                    return self._global(parent, _key_in(parent, child), keys), 0
                if before is not None and is_namespace_of(before, parent):
                    name = _key_in(parent, child)
                    if is_a(before, types.ModuleType):
                        return self._global(parent, name, keys), index - 2
                    return self._attribute(before, name, keys), index - 2
            if type(parent) is types.CellType:
                function = self._objects[index - 3] if index > 2 else None
                return self._closed_over(function, parent, keys), max(index - 3, 0)
            if is_a(parent, tuple) and type(before) is types.FunctionType:
                return self._default(before, parent, child, keys), index - 2
            if type(before) is functools.partial and is_a(parent, (dict, tuple)):  # type: ignore[arg-type]
                return self._passed(before, parent, child, keys), index - 2
            if type(parent) is contextvars.ContextVar:
                keys, index = (VALUE, *keys), index - 1
                continue
            if container_kind(parent) is not None or is_a(parent, tuple):
                key = _key_in(parent, child) if is_a(parent, dict) else None
                keys, index = (key if type(key) in (str, int) else None, *keys), index - 1
                continue
            frame = frame_of(parent)
            if frame is not None:
                return self._suspended(frame, child, keys), index - 1
            name = next((n for n, v in attributes_of(parent) if v is child), None)
            return (None if name is None else self._attribute(parent, name, keys)), index - 1
        return (self._local(keys) if self._variable else None), -1

    def _attribute(self, owner: Any, name: Any, keys: Keys) -> Slot | None:
        if type(name) is not str:
            return None
        names = [Name("attribute", name, keys, is_slot=True)]
        for kind in all_classes_of(owner):
            for module, made in self._code.definitions(kind):
                if any(isinstance(n, ast.stmt) and _binds(n, name) for n in made.body):
                    names.append(Name("variable", name, keys, module, made, is_slot=True))
        return Slot(names, owner)

    def _global(self, namespace: Any, name: Any, keys: Keys) -> Slot | None:
        file = dict.get(namespace, "__file__")
        if type(name) is not str:
            return None
        module = self._code.file(file) if type(file) is str else None
        # Of a notebook's cells, the one that makes it comes first.
        others = [other for other in self._code.sharing(namespace, name) if other is not module]
        others.sort(key=lambda other: not variable_stores(other, other.tree, name))
        modules = ([] if module is None else [module]) + others
        names = [Name("variable", name, keys, each, each.tree, True) for each in modules]
        return Slot([*names, Name("attribute", name, keys)]) if names else None

    def _closed_over(self, function: Any, cell: Any, keys: Keys) -> Slot | None:
        if type(function) is not types.FunctionType or function.__closure__ is None:
            return None
        variables = dict(zip(function.__code__.co_freevars, function.__closure__, strict=False))
        if function.__code__.co_filename == _STEPS_OF_TESTS and variables.get("fixtures") is cell and keys:
            return self._parameter(variables["function"].cell_contents, keys[0], keys[1:])
        names = [n for n, c in variables.items() if c is cell]
        module, node = self._source_of(function.__code__)
        if module is None or node is None or not names:
            return None
        inside = node.body[0] if isinstance(node, FUNCTIONS) else node.body  # type: ignore[attr-defined]
        return Slot([Name("variable", names[0], keys, module, module.resolve(inside, names[0]), True)], is_closure=True)

    def _default(self, function: Any, defaults: Any, value: Any, keys: Keys) -> Slot | None:
        module, node = self._source_of(function.__code__)
        if function.__defaults__ is not defaults or module is None or node is None:
            return None
        names = function.__code__.co_varnames[: function.__code__.co_argcount][-len(defaults) :]
        name = next(n for n, v in zip(names, defaults, strict=False) if v is value)
        return Slot([Name("variable", name, keys, module, node, True)], is_closure=True)

    def _passed(self, partial: Any, arguments: Any, value: Any, keys: Keys) -> Slot | None:
        """The parameter that gets what a `functools.partial` passes in each call."""
        called = _partial_function_of(partial)
        if is_a(arguments, dict):
            return self._parameter(called, _key_in(arguments, value), keys)
        function = _function_of(called)
        if function is None:
            return None
        place = next(at for at, argument in enumerate(tuple.__iter__(arguments)) if argument is value)
        place += type(called) is types.MethodType
        code = function.__code__
        return self._parameter(called, code.co_varnames[place] if place < code.co_argcount else None, keys)

    def _parameter(self, called: Any, name: object, keys: Keys) -> Slot | None:
        """That of a function which each call passes the same for."""
        function = _function_of(called)
        module, node = (None, None) if function is None else self._source_of(function.__code__)
        if module is None or node is None or type(name) is not str or not is_parameter(node, name):
            return None
        return Slot([Name("variable", name, keys, module, node)], is_closure=True, is_passed=True)

    def _suspended(self, frame: types.FrameType, value: Any, keys: Keys) -> Slot | None:
        """A variable of a generator or a coroutine: called again, the function makes another one."""
        name = self._code.variable_in(frame, value)
        module, node = self._source_of(frame.f_code)
        if module is None or node is None or name is None:
            return None
        return Slot([Name("variable", name, keys, module, node, True)], is_closure=True, is_suspended=True)

    def _local(self, keys: Keys) -> Slot | None:
        names = []
        for module, function in self._code.functions(self._function):
            if is_parameter(function, self._variable) or any(
                isinstance(n, ast.Name) and n.id == self._variable and module.resolve(n, n.id) is function
                for n in ast.walk(function)
            ):
                names.append(Name("variable", self._variable, keys, module, function, True))
        return Slot(names) if names else None

    def _source_of(self, code: types.CodeType) -> tuple[Module | None, ast.AST | None]:
        module = self._code.file(code.co_filename)
        if module is None:
            return None, None
        line, name = code.co_firstlineno, code.co_name
        for node in module.nodes:
            if isinstance(node, FUNCTIONS) and node.name == name:
                if first_line(node) == line:
                    return module, node
            elif isinstance(node, ast.Lambda) and name == "<lambda>" and node.lineno == line:
                return module, node
        return module, None


def _function_of(called: Any) -> types.FunctionType | None:
    """What runs when a function, a method, or what `functools.wraps` made of one, is called."""
    function = called.__func__ if type(called) is types.MethodType else called
    while type(function) is types.FunctionType and "__wrapped__" in function.__dict__:
        function = _function_of(function.__dict__["__wrapped__"])
    return function if type(function) is types.FunctionType else None


def _binds(statement: ast.AST, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return any(isinstance(t, ast.Name) and t.id == name for t in targets)


def _key_in(namespace: Any, value: Any) -> Any:
    return next((k for k, v in list(dict.items(namespace)) if v is value), None)


def _is_globals(namespace: Any) -> bool:
    modules = [m for m in list(dict.values(sys.modules)) if is_a(m, types.ModuleType)]
    return any(module_namespace(m) is namespace for m in modules) or dict.get(namespace, "__builtins__") is not None
