# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Loggers by their names: logging makes one for each name that it is asked for, and keeps it for good."""

from __future__ import annotations

import ast
from typing import Any

from stepleak._counters import Counters
from stepleak._endings import Endings
from stepleak._named_loggers import TABLE, is_table
from stepleak._runs import Runs
from stepleak._statement import no_statement, statement_of
from stepleak._structure import UNKNOWN, Structure, at
from stepleak._syntax import Module, arguments_of
from stepleak._use import Use
from stepleak._user_code import UserCode

_ASKING = ("getLogger", "getChild")


def of_loggers(objects: list[Any], code: UserCode) -> Structure | None:
    """Of the last one of a chain of objects, where that is logging's table of all loggers; else None.

    Nothing but a program that knows the table takes a logger out of it.
    """
    if not is_table(objects):
        return None
    knowing, is_whole = code.mentioning(TABLE)
    asking = _asking_anew(code)
    if knowing or not is_whole or not asking:
        return UNKNOWN
    runs = Runs(code)
    endings = Endings(code, objects)

    def goes_on(module: Module, call: ast.Call) -> bool:
        return not endings.may_end_any(runs.guards(Use("ask", module, call)), runs.is_once)

    if any(goes_on(*call) for call in _never_repeating(asking, code)):
        return Structure("unbounded")
    return at("keyed", Use("ask", *asking[0]))


def statement_asking(objects: list[Any], code: UserCode) -> dict[str, Any]:
    """The only one that asks for loggers of new names, where a chain of objects leads to all loggers; of several the
    only one of names that never come again."""
    asking = _asking_anew(code) if is_table(objects) else []
    if len(asking) > 1:
        asking = _never_repeating(asking, code)
    statements = {(module, module.statement(call)): None for module, call in asking}
    module, statement = next(iter(statements)) if len(statements) == 1 else (None, None)
    return statement_of(module.file, statement) if module and isinstance(statement, ast.stmt) else no_statement()


def _asking_anew(code: UserCode) -> list[tuple[Module, ast.Call]]:
    """Calls in steps that do not surely ask for the same logger each time."""
    runs = Runs(code)
    return [
        (module, call)
        for name in _ASKING
        for module, call in code.calls(name)
        if not all(map(_is_fixed, arguments_of(call))) and not runs.is_set_up(Use("ask", module, call))
    ]


def _never_repeating(asking: list[tuple[Module, ast.Call]], code: UserCode) -> list[tuple[Module, ast.Call]]:
    runs, counters = Runs(code), Counters(code, [])
    return [
        (module, call)
        for module, call in asking
        if any(counters.never_repeats(module, name, runs.is_once) for name in arguments_of(call))
    ]


def _is_fixed(name: ast.expr) -> bool:
    return isinstance(name, ast.Constant) or (isinstance(name, ast.Name) and name.id == "__name__")
