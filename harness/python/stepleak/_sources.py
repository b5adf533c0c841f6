# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Finds statements in the user's sources: what keeps something at a place, what calls a name, what sets an item."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Collection, Iterator
from typing import Any

from stepleak._access import Place, leads_to
from stepleak._keeping import Keeping
from stepleak._repeating import functions_around, is_in_constructor, repeated, repeating
from stepleak._source_text import text_of
from stepleak._statement import has_any, line_of, no_statement, own_calls, statement_of
from stepleak._syntax import Module, called_name
from stepleak._unreached import Unreached
from stepleak._use import Use
from stepleak._user_code import UserCode


class Sources:
    """Statements of the user's sources that keep something. `code`: all of these, which tells what nothing calls."""

    def __init__(self, lines: dict[str, set[int]], code: UserCode | None = None) -> None:
        self._lines = lines
        self._trees: dict[str, ast.Module] = {}
        self._unreached = Unreached(code, is_sure=any(lines.values()))
        self._keeping = Keeping(self._lines, self._trees, self._unreached)
        for file in lines:
            text = text_of(file)
            with contextlib.suppress(SyntaxError, ValueError):
                self._trees.update({} if text is None else {file: ast.parse(text)})

    @classmethod
    def of(cls, modules: list[Module]) -> Sources:
        """Those of files that have been read."""
        sources = cls({})
        sources._lines.update({module.file: set() for module in modules})
        sources._trees.update({module.file: module.tree for module in modules})
        return sources

    def beside(self, modules: list[Module]) -> Sources:
        """Those of other files, in which no survivor was made."""
        sources = Sources.of(modules)
        sources._keeping = Keeping(sources._lines, sources._trees, self._unreached)
        return sources

    @property
    def lines(self) -> dict[str, set[int]]:
        """Of each file the lines in which what outlives a step was made, or that called for it."""
        return self._lines

    def has(self, file: str) -> bool:
        """Whether it is one of the sources."""
        return file in self._trees

    def statement_keeping(self, place: Place, *, is_later: bool = False, is_sure: bool = False) -> dict[str, Any]:
        """The likeliest statement that keeps something at a place; empty where none is known. `is_later`: none of a
        constructor, where what was kept first is made. `is_sure`: none that has only the name in common.
        """
        return self._keeping.statement(place, is_later=is_later, is_sure=is_sure)

    def is_in_constructor(self, statement: dict[str, Any]) -> bool:
        """Whether a statement that was found is one of `__init__`, or of what dataclasses have in its place."""
        return is_in_constructor(self._trees[statement["file"]], statement["line"])

    def is_elsewhere(self, statement: dict[str, Any]) -> bool:
        """Whether no survivor was made in its function, or below."""
        around = [function for function, _ in functions_around(self._trees[statement["file"]], statement["line"])]
        return bool(around) and not has_any(around[-1], self._lines[statement["file"]])

    def statement_at(self, file: str, line: int) -> dict[str, Any]:
        """The innermost statement at a line; of a function, its decorators belong to it."""
        tree = self._trees.get(file)
        statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)] if tree is not None else []
        around = [node for node in statements if line_of(node) <= line <= (node.end_lineno or node.lineno)]
        return statement_of(file, max(around, key=lambda node: node.lineno)) if around else no_statement()

    def statement_making_graphs(self) -> dict[str, Any]:
        """The only one that calls `backward(create_graph=True)`, which gives gradients a graph."""
        found = [
            (file, node)
            for file, tree in self._trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and _makes_graphs(node.value)
        ]
        return statement_of(*found[0]) if len(found) == 1 else no_statement()

    def statements_calling(self, name: str, *, in_constructors: bool = False) -> list[dict[str, Any]]:
        """Those that may run again and again, and call something of this name; or those of them in a constructor."""
        return [
            statement
            for file, tree in self._trees.items()
            for node in repeated(tree)
            if isinstance(node, (ast.Expr, ast.Assign, ast.Return)) and node.value and called_name(node.value) == name
            if self.is_in_constructor(statement := statement_of(file, node)) == in_constructors
        ]

    def statement_calling_owner(self, place: Place, born: Collection[tuple[str, int]]) -> dict[str, Any]:
        """The only one that calls a method of an object on the way to a place, where what is kept was made: `loader =
        accelerator.prepare(DataLoader(data))`. Of the innermost object of which there is one. `born`: the lines."""
        for length in range(len(place.way) - 1, 0, -1):
            found = {
                (file, node): None
                for file, node, owner in self._repeated_statements()
                if not hasattr(node, "body")
                if any(file == at and node.lineno <= line <= (node.end_lineno or line) for at, line in born)
                if any(
                    isinstance(call.func, ast.Attribute) and leads_to(call.func.value, place.way[:length], owner)
                    for call in own_calls(node)
                )
            }
            if found:
                return _only(found)
        return no_statement()

    def statement_calling_method(self, place: Place, names: Collection[str]) -> dict[str, Any]:
        """The only one that may run again and again, and calls one of these methods of the object whose attribute a
        place is: `self.auroc.update(scores, labels)`. By `__call__` also the object."""
        found = {
            (file, node): None
            for file, node, owner in self._repeated_statements()
            if any(leads_to(called, place.way[:-1], owner) for called in _objects_called(node, names))
        }
        return _only(found)

    def _repeated_statements(self) -> Iterator[tuple[str, ast.stmt, str]]:
        """Those that may run again and again, with their files and classes; of a function in another one twice."""
        for file, tree in self._trees.items():
            for function, owner in repeating(tree):
                yield from ((file, node, owner) for node in ast.walk(function) if isinstance(node, ast.stmt))

    def statement_setting_item(self, key: str) -> dict[str, Any]:
        """The only one that may run again and again, and sets an item of this key; of several the only one in a
        function that survivors were made in, or below."""
        found = [
            statement_of(file, node)
            for file, tree in self._trees.items()
            for node in repeated(tree)
            if isinstance(node, ast.Assign)
            and any(
                isinstance(target, ast.Subscript)
                and isinstance(target.slice, ast.Constant)
                and target.slice.value == key
                for target in node.targets
            )
        ]
        if len(found) > 1:
            found = [statement for statement in found if not self.is_elsewhere(statement)]
        return found[0] if len(found) == 1 else no_statement()

    def statement_making(self, name: str) -> dict[str, Any]:
        """The only one that calls something of this name."""
        found = [
            statement_of(file, node)
            for file, tree in self._trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.stmt) and any(called_name(call) == name for call in own_calls(node))
        ]
        return found[0] if len(found) == 1 else no_statement()

    def statement_filling(self, fills: tuple[Use, ...]) -> dict[str, Any]:
        """The one of the uses that fill a container: where there are several, of those in functions of survivors. None
        in a function that nothing calls, where what survives tells that others run."""
        if self._unreached.is_sure:
            fills = tuple(use for use in fills if self._is_of_survivors(use) or not self._is_unreached(use))
        for found in (fills, [use for use in fills if self._is_of_survivors(use)]):
            statements: dict[ast.stmt, str] = {}
            for use in found:
                node = use.module.statement(use.node)
                if isinstance(node, ast.stmt):
                    statements[node] = use.module.file
            if len(statements) == 1:
                [(statement, file)] = statements.items()
                return statement_of(file, statement)
        return no_statement()

    def _is_unreached(self, use: Use) -> bool:
        return self._unreached.has_node(use.module, use.node)

    def _is_of_survivors(self, use: Use) -> bool:
        function = use.module.function(use.node)
        return function is not None and has_any(function, self._lines.get(use.module.file, ()))


def _objects_called(statement: ast.stmt, names: Collection[str]) -> Iterator[ast.expr]:
    """Those of which a statement calls one of these methods; to set an item calls one, too."""
    if "__setitem__" in names and isinstance(statement, ast.Assign):
        yield from (target.value for target in statement.targets if isinstance(target, ast.Subscript))
    for call in own_calls(statement):
        if isinstance(call.func, ast.Attribute) and call.func.attr in names:
            yield call.func.value
        elif "__call__" in names:
            yield call.func


def _only(found: Collection[tuple[str, ast.stmt]]) -> dict[str, Any]:
    """Of several none is surely the one."""
    return statement_of(*next(iter(found))) if len(found) == 1 else no_statement()


def _makes_graphs(call: ast.expr) -> bool:
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
        return False
    is_on = [
        isinstance(k.value, ast.Constant) and k.value.value is True for k in call.keywords if k.arg == "create_graph"
    ]
    return any(is_on)
