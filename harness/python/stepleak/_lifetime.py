# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""How long an object lives that only variables of running functions hold: an epoch's statistics, a trial's trainer."""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass
from typing import Any

from stepleak._frames import ReadLocals, running_frames
from stepleak._places import Places, is_lazy
from stepleak._structure import UNKNOWN, Structure
from stepleak._syntax import FUNCTIONS, Module, first_line
from stepleak._user_code import UserCode
from stepleak._uses import Uses

_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


@dataclass(frozen=True)
class Life:
    """The variable that holds an object for the longest."""

    variable: str
    function: str
    end: Structure | None
    """Where it lets the object go, or UNKNOWN; None where nothing of the kind is known."""


def life_of(value: Any, variable: str, function: str, code: UserCode, read_locals: ReadLocals) -> Life:
    """`variable` of `function` holds it; functions further out may, too.

    What is handed to a function and has no variable of its caller's ends with the call.
    """
    found: tuple[types.FrameType, str] | None = None
    for frame in running_frames():
        name = next((name for name, held in read_locals(frame) if held is value), None)
        if name is not None and frame.f_code.co_name != "<module>":
            found = frame, name
    if found is None:
        return Life(variable, function, None)
    frame, name = found
    if _is_a_test(frame):
        return Life(variable, function, None)
    if name in _parameters(frame.f_code):
        return Life(variable, function, _end_of_call(frame.f_back, code))
    end = _end_in_loop(frame.f_code, name, code) or _end_of_function(frame.f_code, code)
    return Life(name, frame.f_code.co_name, end)


def _is_a_test(frame: types.FrameType) -> bool:
    """Whether pytest has called it: that calls one test at a time, which runs now, and holds what it hands over."""
    caller = None if frame.f_back is None else dict.get(frame.f_back.f_globals, "__name__")
    return type(caller) is str and caller.startswith("_pytest.")


def _parameters(code: types.CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _end_of_call(caller: types.FrameType | None, code: UserCode) -> Structure | None:
    module = None if caller is None else code.file(caller.f_code.co_filename)
    if caller is None or module is None:
        return UNKNOWN
    line = caller.f_lineno
    statement = _statement_at(module, line)
    if statement is None:
        return UNKNOWN
    end = _end_at(module, line)
    if caller.f_code.co_name in _COMPREHENSIONS or module.loops(statement):
        return end
    scope = module.scope(statement)
    return None if scope is module.tree else _end_by(scope, end, module, code)


def _end_of_function(code_object: types.CodeType, code: UserCode) -> Structure | None:
    module = code.file(code_object.co_filename)
    if module is None:
        return UNKNOWN
    line = code_object.co_firstlineno
    function = next((n for n in module.nodes if isinstance(n, FUNCTIONS) and first_line(n) == line), None)
    return None if function is None else _end_by(function, _end_at(module, line), module, code)


def _end_at(module: Module, line: int) -> Structure:
    return Structure("reset", -1, module.file, line, module.line(line))


def _end_by(function: ast.AST, end: Structure, module: Module, code: UserCode) -> Structure | None:
    """What ends with a function ends soon where that is called again."""
    entered = Places(code, Uses(code, frozenset(), frozenset(), frozenset()), False).how_often(module, function)
    return {"once": None, "again": end}.get(entered, UNKNOWN)


def _statement_at(module: Module, line: int) -> ast.stmt | None:
    around = [n for n in module.nodes if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or n.lineno)]
    return min(around, key=lambda n: (n.end_lineno or n.lineno) - n.lineno, default=None)


def _end_in_loop(code_object: types.CodeType, variable: str, code: UserCode) -> Structure | None:
    """The line in a loop that gives the variable another object each time."""
    module = code.file(code_object.co_filename)
    if module is None:
        return UNKNOWN
    for node in module.nodes:
        if isinstance(node, ast.Name) and node.id == variable and isinstance(node.ctx, ast.Store):
            home = module.resolve(node, variable)
            is_its = isinstance(home, FUNCTIONS) and first_line(home) == code_object.co_firstlineno
            if is_its and module.loops(node) and not is_lazy(module, module.statement(node)):
                return _end_at(module, node.lineno)
    return None
