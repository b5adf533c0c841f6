# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""How long an object lives that only variables of running functions hold: an epoch's statistics, a trial's trainer."""

from __future__ import annotations

import ast
import itertools
import types
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

from stepleak._frames import ReadLocals, running_frames, threads_in
from stepleak._objects import attributes_of, container_kind, is_a, items_of, length_of, namespace_of
from stepleak._places import Places
from stepleak._rounds import rounds_of
from stepleak._runs import Runs, is_lazy
from stepleak._structure import UNKNOWN, Structure
from stepleak._syntax import FUNCTIONS, Module, first_line
from stepleak._use import TAKING, Name
from stepleak._user_code import OwnerClasses, UserCode
from stepleak._uses import Uses
from stepleak._values import Values

_METHODS = frozenset(name for kind in (list, dict, set, deque) for name in dir(kind))
"""Of what a loop goes over, which is any of these."""
_MOST_ITEMS = 1000
"""Of a container that may hold what a method is called on."""
_MOST_OWNERS = 3
_MOST_PARTS = 100
"""Objects that one object leads to, to be looked at for what they have."""
_NO_PARTS = (types.ModuleType, types.FunctionType, types.MethodType, types.FrameType, type)
"""Objects that others have besides."""
_MOST_ROUNDS = 1024
"""The steps of a run of the standard effort."""
_MOST_WORKERS = 8
"""Threads of a pool that run one function."""
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Life:
    """The variable that holds an object for the longest."""

    variable: str
    function: str
    end: Structure | None
    """Where it lets the object go, or UNKNOWN; None where nothing of the kind is known."""
    dropped: Structure | None = None
    """Of a loop's own variable: where what it goes over lets go of items, as in `for request in active`."""
    owners: list[Any] = field(default_factory=list)
    """What leads from the variable to the object, each object to the next: `runner` of `runner.recipe.train()`."""
    inner: Life | None = None
    """Of a variable that a function gave itself to what the owners lead to: how long that holds it."""


def life_of(
    value: Any, variable: str, function: str, code: UserCode, read_locals: ReadLocals, most_owners: int = _MOST_OWNERS
) -> Life:
    """`variable` of `function` holds it; functions further out may, too.

    What is handed to a function, or has a variable of it alone, ends with the call, unless an attribute of what has a
    variable further out leads to it, as in `buffer = self.buffer`.
    """
    found: tuple[types.FrameType, str] | None = None
    for frame in running_frames():
        # A free variable is that of a function around it.
        own = ((name, held) for name, held in read_locals(frame) if name not in frame.f_code.co_freevars)
        name = next((name for name, held in own if held is value), None)
        if name is not None and frame.f_code.co_name != "<module>":
            found = frame, name
    if found is None:
        return Life(variable, function, None)
    frame, name = found
    if _is_a_test(frame) or code.is_waiting(frame):
        return Life(variable, function, None)
    if name in _parameters(frame.f_code):
        owned = _life_of_owner(value, code, read_locals, most_owners)
        return owned or Life(variable, function, _end_of_call(frame.f_back, code))
    module = code.file(frame.f_code.co_filename)
    if module is None:
        return Life(name, frame.f_code.co_name, UNKNOWN)
    target = _target_in_loop(frame.f_code, name, module)
    if target is None:
        inner = Life(name, frame.f_code.co_name, _end_of_function(frame, code))
        owned = _life_of_owner(value, code, read_locals, most_owners)
        return inner if owned is None else replace(owned, inner=inner)
    if threads_in(frame.f_code) > _MOST_WORKERS:
        # Each waits with what it was given last: what grows there is that there are ever more of them.
        return Life("", "", UNKNOWN)
    dropped = _dropping(module.statement(target), target, module, code)
    return Life(name, frame.f_code.co_name, _end_at(module, target.lineno), dropped)


def _life_of_owner(value: Any, code: UserCode, read_locals: ReadLocals, most_owners: int) -> Life | None:
    """Of what a variable further out leads to it by an attribute, or by an item of one."""
    for frame in running_frames() if most_owners > 0 else ():
        if code.file(frame.f_code.co_filename) is None:
            continue
        for variable, owner in read_locals(frame):
            way = _way_to(value, owner) if owner is not value else []
            if not way:
                continue
            if frame.f_code.co_name == "<module>":
                return Life("", "", None, owners=way)
            life = life_of(owner, variable, frame.f_code.co_name, code, read_locals, most_owners - 1)
            return replace(life, owners=[*life.owners, *way])
    return None


def _way_to(value: Any, owner: Any) -> list[Any]:
    """From an object to one that an attribute of it is or holds, or one of an object that it has: the nearest; empty
    where none does."""
    ways: deque[list[Any]] = deque([[owner]])
    seen = {id(owner)}
    while ways:
        way = ways.popleft()
        namespace = namespace_of(way[-1])
        own = way if namespace is None else [*way, namespace]
        for _, held in attributes_of(way[-1]):
            if held is value:
                return own
            if container_kind(held) is not None:
                if length_of(held) <= _MOST_ITEMS and any(i is value for i in items_of(held)):
                    return [*own, held]
            elif id(held) not in seen and len(seen) < _MOST_PARTS and not is_a(held, _NO_PARTS):  # type: ignore[arg-type]
                seen.add(id(held))
                ways.append([*own, held])
    return []


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
    if _is_in_comprehension(caller, statement) or module.loops(statement):
        return end
    scope = module.scope(statement)
    return None if scope is module.tree else _end_by(scope, end, module, code)


def _is_in_comprehension(caller: types.FrameType, statement: ast.stmt) -> bool:
    """Whether what the caller is at is done for each item. From Python 3.12 on that has no frame of its own."""
    positions = itertools.islice(caller.f_code.co_positions(), caller.f_lasti // 2, None)
    line, _, column, _ = next(positions, (None, None, None, None))
    for node in ast.walk(statement):
        # What the first `for` goes over is made once.
        if isinstance(node, _COMPREHENSIONS) and _covers(node, line, column):
            return not _covers(node.generators[0].iter, line, column)
    return False


def _covers(node: ast.expr, line: int | None, column: int | None) -> bool:
    """Python counts columns in bytes, in a syntax tree as in a code object."""
    if line is None or column is None or node.end_lineno is None or node.end_col_offset is None:
        return False
    return (node.lineno, node.col_offset) <= (line, column) < (node.end_lineno, node.end_col_offset)


def _end_of_function(frame: types.FrameType, code: UserCode) -> Structure | None:
    module = code.file(frame.f_code.co_filename)
    if module is None:
        return UNKNOWN
    line = frame.f_code.co_firstlineno
    function = next((n for n in module.nodes if isinstance(n, FUNCTIONS) and first_line(n) == line), None)
    if function is None:
        return None
    end = _end_at(module, line)
    return end if _is_short_phase(frame, module, function, code) else _end_by(function, end, module, code)


def _is_short_phase(frame: types.FrameType, module: Module, function: ast.AST, code: UserCode) -> bool:
    """Whether a run sees the end of the loops that a function is in, and the program trains on: a search for a rate."""
    statement = _statement_at(module, frame.f_lineno)
    loops = [] if statement is None else module.loops(statement)
    is_short = bool(loops) and rounds_of(Values(code, []), module, loops) <= _MOST_ROUNDS
    return is_short and Runs(code).trains_on_after(module, function)


def _end_at(module: Module, line: int) -> Structure:
    return Structure("reset", -1, module.file, line, module.line(line))


def _end_by(function: ast.AST, end: Structure, module: Module, code: UserCode) -> Structure | None:
    """What ends with a function ends soon where that is called again."""
    entered = Runs(code).how_often(module, function)
    return {"once": None, "again": end}.get(entered, UNKNOWN)


def _statement_at(module: Module, line: int) -> ast.stmt | None:
    around = [n for n in module.nodes if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or n.lineno)]
    return min(around, key=lambda n: (n.end_lineno or n.lineno) - n.lineno, default=None)


def _target_in_loop(code_object: types.CodeType, variable: str, module: Module) -> ast.Name | None:
    """What gives the variable another object each time, in a loop."""
    for node in module.nodes:
        if isinstance(node, ast.Name) and node.id == variable and isinstance(node.ctx, ast.Store):
            home = module.resolve(node, variable)
            is_its = isinstance(home, FUNCTIONS) and first_line(home) == code_object.co_firstlineno
            if is_its and module.loops(node) and not is_lazy(module, module.statement(node)):
                return node
    return None


def _dropping(statement: ast.AST, target: ast.Name, module: Module, code: UserCode) -> Structure | None:
    """The line that takes items out of what a loop goes over, or puts another in its place."""
    if not isinstance(statement, (ast.For, ast.AsyncFor)) or target not in ast.walk(statement.target):
        return None
    functions = {node.func for node in ast.walk(statement.iter) if isinstance(node, ast.Call)}
    for node in ast.walk(statement.iter):
        if node in functions or not isinstance(node, (ast.Name, ast.Attribute)):
            continue
        uses = Uses(code, OwnerClasses(code), frozenset(), _METHODS)
        uses.follow([_name_of(node, module)])
        runs = Runs(code)
        places = Places(code, uses, runs)
        for use in uses.found:
            kind = places.assigned(use)[0] if use.kind == "assign" else use.kind
            is_made = use.kind == "assign" and runs.is_making(use.module, use.node)
            if kind in TAKING and not is_made and not runs.is_at_end(use.module, use.node):
                return _end_at(use.module, use.node.lineno)
    return None


def _name_of(node: ast.Name | ast.Attribute, module: Module) -> Name:
    if isinstance(node, ast.Attribute):
        return Name("attribute", node.attr, ())
    return Name("variable", node.id, (), module, module.resolve(node, node.id), True)
