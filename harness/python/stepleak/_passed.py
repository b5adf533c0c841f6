# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Where something comes from that each call of a function is passed: by `functools.partial(train, history=[])`, or by
pytest, as a fixture. It may go by other names, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stepleak._syntax import FUNCTIONS, Function, Module, argument_of, called_name, is_parameter, last_name
from stepleak._use import Name
from stepleak._user_code import UserCode
from stepleak._uses import Uses


def follow_origins(uses: Uses, code: UserCode, name: Name) -> None:
    """`name`: of the parameter. Where it comes from nothing that is known, the uses are not all."""
    if name.module is None or not isinstance(name.scope, FUNCTIONS):
        uses.is_whole = False
        return
    origins = [*_given_to_partial(code, name.module, name.scope, name.name), *_given_by_fixture(code, name.name)]
    for home, value in origins:
        uses.origin(home, value, name.keys)
    for home, fixture in _fixtures_that_take(code, name.name):
        uses.add(Name("variable", name.name, name.keys, home, fixture))
    uses.is_whole = uses.is_whole and bool(origins)


def _given_to_partial(
    code: UserCode, module: Module, function: Function, parameter: str
) -> Iterator[tuple[Module, ast.expr]]:
    is_method = module.class_of_method(function) is not None
    for home, call in code.calls("partial"):
        if call.args and last_name(call.args[0]) == function.name:
            passed = ast.Call(call.args[0], call.args[1:], call.keywords)
            value = argument_of(passed, function, parameter, is_method)
            if value is not None:
                yield home, value


def _given_by_fixture(code: UserCode, name: str) -> Iterator[tuple[Module, ast.expr]]:
    for home, function in code.functions(name):
        for node in home.nodes if _is_fixture(function) else ():
            if isinstance(node, (ast.Return, ast.Yield)) and node.value is not None and home.scope(node) is function:
                yield home, node.value


def _fixtures_that_take(code: UserCode, name: str) -> Iterator[tuple[Module, Function]]:
    for home in code.mentioning(name)[0]:
        for node in home.nodes:
            if isinstance(node, FUNCTIONS) and is_parameter(node, name) and _is_fixture(node):
                yield home, node


def _is_fixture(function: Function) -> bool:
    return any("fixture" in (called_name(d), last_name(d)) for d in function.decorator_list)
