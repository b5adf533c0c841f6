# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What runs beside what: whether a statement runs whenever a container is filled, or something is taken out of it."""

from __future__ import annotations

import ast
import functools
from typing import Any

from stepleak._assignments import assigned_value
from stepleak._facts import Facts
from stepleak._syntax import Module
from stepleak._use import TAKING, Use

Place = tuple[Module, ast.AST]


class Alongside:
    """Asks about one container."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._code = facts.code

    def is_on_each_way(self, steps: list[tuple[Place, ast.expr]], ways: list[list[Place]], test: ast.expr) -> bool:
        return all(any(self.is_on_way(place, way, test) for place, _ in steps) for way in ways)

    def is_on_way(self, step: Place, way: list[Place], test: ast.expr) -> bool:
        """Whether something runs each time that one of the places does; also where a function of its own does it."""
        places = [step]
        function = step[0].function(step[1])
        if function is not None and not step[0].guards(step[1]):
            places += self._code.calls(function.name)
        return any(self._runs_with(*place, *other, test) for place in places for other in way)

    def comes_with_removal(self, module: Module, stored: Any) -> bool:
        """Whether a count falls, or begins again, only where something is taken out of the container as well."""
        value = assigned_value(module, stored)
        is_anew = isinstance(value, ast.Constant)
        removing = [use for use in self._removing if not is_anew or use.kind != "remove"]
        return any(self._runs_with(use.module, use.node, module, stored) for use in removing)

    def _runs_with(
        self, module: Module, node: ast.AST, home: Module, other: ast.AST, test: ast.expr | None = None
    ) -> bool:
        """Whether a statement runs whenever another one in the same function does, and, in a loop around the test,
        each time."""
        statement = module.statement(node)
        if module is not home or module.scope(statement) is not module.scope(home.statement(other)):
            return False
        if statement is home.statement(other):
            return True
        parent, field = module.parent(statement)
        block = getattr(parent, field, [])
        around = [home.statement(other), *(outer for outer, _ in home.around(other))]
        if not isinstance(block, list) or not any(outer in block for outer in around):
            # A loop beside it over what comes in counts each part.
            if isinstance(parent, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)) and field == "body":
                return self._runs_with(module, parent, home, other, test)
            return False
        tests = {guard.test for guard in home.guards(other)}
        is_free = all(guard.test in tests for guard in module.guards(statement))
        is_near = test is not None and module.parent(test)[0] is not None and module.scope(test) is module.scope(node)
        loops = module.loops(test) if is_near and test is not None else []
        return is_free and set(loops) <= set(module.loops(statement))

    @functools.cached_property
    def _removing(self) -> list[Use]:
        return [use for use in self._facts.resolved() if use.kind in TAKING]
