# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which statement keeps what lies at a place: of all that may put something there, the likeliest."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stepleak._access import Access, Place, as_attribute, as_wrapper, leads_to
from stepleak._aliases import Aliases
from stepleak._folders import PACKAGE_FOLDERS
from stepleak._matches import Match, makes_empty, match_of
from stepleak._repeating import CONSTRUCTORS, functions_around, is_in_constructor, repeating
from stepleak._statement import has_any, line_of, no_statement, statement_of
from stepleak._syntax import called_name, first_line, is_parameter
from stepleak._unreached import Unreached

_UNPROVEN = 5
"""By how much a statement ranks behind all those that lead to the very place, where two ways are written."""
_UNDOING = {"addHandler": "removeHandler", "addFilter": "removeFilter", "new_group": "destroy_process_group"}
"""What takes back what a library's function of the other name does."""
_ELSEWHERE = 2
"""The distance of a function that is not known to have run."""


@dataclass(frozen=True)
class _Candidate:
    """A statement that may be the one."""

    file: str
    match: Match
    distance: int
    """0 where survivors were born in it, 1 where they were born in its function or below, 2 elsewhere."""

    def order(self) -> tuple[int, int, bool]:
        """The likeliest first."""
        return self.match.rank, self.distance, _is_cut_off(self.match.value)

    def is_adding_there(self) -> bool:
        """Whether it surely adds to the place, and its function led to what survives."""
        return self.match.is_proven and self.match.is_adding and self.distance < _ELSEWHERE


class Keeping:
    """Weighs the statements of files. `lines`: of each file those in which survivors were born. `unreached`: statements
    of functions that nothing calls."""

    def __init__(self, lines: dict[str, set[int]], trees: dict[str, ast.Module], unreached: Unreached) -> None:
        self._lines = lines
        self._trees = trees
        self._unreached = unreached
        self._bodies: dict[ast.Lambda, ast.Expr] = {}
        self._aliases: dict[ast.AST, Aliases] = {}
        self._functions: dict[tuple[str, int], ast.AST] = {}

    def statement(self, place: Place, *, is_later: bool, is_sure: bool) -> dict[str, Any]:
        """The likeliest statement that keeps something at a place; empty where none is known. `is_later`: none of a
        constructor, where what was kept first is made. `is_sure`: none that has only the name in common.
        """
        ways = [as_attribute(place) or as_wrapper(place), place]
        likeliest = [self._likeliest(way, is_later) for way in ways if way is not None]
        found = _likelier([one for one in likeliest if one is not None and (one.match.is_proven or not is_sure)])
        if not found:
            return no_statement()
        one = min(found, key=lambda one: one.match.rank + (0 if one.match.is_proven else _UNPROVEN))
        return statement_of(one.file, one.match.node, one.match.value)

    def _likeliest(self, place: Place, is_later: bool) -> _Candidate | None:
        """Of one way to write the place.

        Its target must lead to the place by the same attributes and keys; one that has only the name in common may
        mean another object, and is taken where it is the only one. Where one adds there whose function led to what
        survives, none elsewhere is meant. Adding beats assigning (`self.history = []` in the set-up keeps nothing); of
        several such statements, one that survivors were born in beats one in a function that they were born in or
        below, and that one elsewhere; then one that keeps a tensor with its graph; then the first.
        """
        found, taken_back = self._candidates(place, is_later)
        # Nothing that is made is kept by a statement that puts in a mark: `queue.put(None)`.
        found = [one for one in found if not _puts_constant(one.match.node)] or found
        proven = [one for one in found if one.match.is_proven]
        if proven:
            return min(_likelier(proven), key=_Candidate.order)
        # An error may pass over the line that takes it back.
        others = self._meant_by_name(found or taken_back)
        if len(_nodes_of(others)) == 1 or _is_registered_in_one(others, self._trees):
            return others[0]
        return None

    def _meant_by_name(self, others: list[_Candidate]) -> list[_Candidate]:
        """Of statements of which each may mean another object, none of a package's is meant, and one that runs
        again."""
        if len(_nodes_of(others)) > 1:
            others = [one for one in others if not _is_installed(one.file)] or others
        if len(_nodes_of(others)) > 1:
            others = [one for one in others if not is_in_constructor(self._trees[one.file], line_of(one.match.node))]
        return others

    def _candidates(self, place: Place, is_later: bool) -> tuple[list[_Candidate], list[_Candidate]]:
        """Inside a function, or inside a loop of a script's top level: what runs once keeps one thing. And those of
        which the function takes back what they keep."""
        found: list[_Candidate] = []
        taken_back: list[_Candidate] = []
        for file, tree in self._trees.items():
            for function, owner in repeating(tree):
                if is_later and owner and getattr(function, "name", "") in CONSTRUCTORS:
                    continue
                for node in ast.walk(function):
                    match = self._match(node, place, owner, function)
                    match = None if match is None else _of_this_place(match, file, tree, place)
                    if match is None:
                        continue
                    distance = self._distance(file, function, match.node)
                    # In `total = total + loss` what was born is added as by `total += loss` elsewhere.
                    is_sum = isinstance(match.node, ast.Assign) and _is_sum_with(match.node.value, place.way, owner)
                    if distance == 0 and is_sum:
                        match = replace(match, rank=min(match.rank, 1))
                    one = _Candidate(file, match, distance)
                    (taken_back if _is_taken_back(node, function) else found).append(one)
        reached = self._reached([*found, *taken_back])
        return [one for one in found if one in reached], [one for one in taken_back if one in reached]

    def _reached(self, found: list[_Candidate]) -> list[_Candidate]:
        """Those of functions that something calls, for all that is known."""
        reached = [
            one for one in found if one.distance < _ELSEWHERE or not self._unreached.has(one.file, one.match.node)
        ]
        is_known = self._unreached.is_sure or any(one.match.is_adding for one in reached)
        return reached if is_known else found

    def _distance(self, file: str, outer: ast.stmt | ast.Lambda, node: ast.stmt) -> int:
        lines = self._lines[file]
        if has_any(node, lines):
            return 0
        if not has_any(outer, lines):
            return _ELSEWHERE
        # Of functions within one function, each has its own lines.
        within = self._function_at(file, node.lineno)
        is_own = any(self._function_at(file, line) is within for line in lines if has_any(outer, [line]))
        return 1 if is_own else _ELSEWHERE

    def _function_at(self, file: str, line: int) -> ast.AST:
        """The innermost one with a name, or the file."""
        if (file, line) not in self._functions:
            around = functions_around(self._trees[file], line)
            self._functions[file, line] = around[-1][0] if around else self._trees[file]
        return self._functions[file, line]

    def _match(self, node: ast.AST, place: Place, owner: str, function: ast.AST) -> Match | None:
        """Of a node in a function; the function itself keeps nothing."""
        if isinstance(node, ast.Lambda):
            node = self._body(node)
        elif node is function:
            return None
        if function not in self._aliases:
            self._aliases[function] = Aliases(function)
        return match_of(node, place, owner, self._aliases[function])

    def _body(self, function: ast.Lambda) -> ast.Expr:
        """What a lambda does, as the statement that a function of a name would have there."""
        return self._bodies.setdefault(function, ast.copy_location(ast.Expr(function.body), function.body))


def _likelier(found: list[_Candidate]) -> list[_Candidate]:
    """Where some add to the place whose functions led to what survives, none elsewhere."""
    is_known = any(one.is_adding_there() for one in found)
    return [one for one in found if one.distance < _ELSEWHERE or not is_known]


def _of_this_place(match: Match, file: str, tree: ast.Module, place: Place) -> Match | None:
    """What a match of a variable's name says of a place; None where that is another variable."""
    if _is_of_own(match.node, tree, place):
        return None
    if match.is_proven and _is_of_another(match.node, file, tree, place):
        # Behind 1 it makes a variable, and fills nothing that may be passed under another name.
        return None if match.rank > 1 else replace(match, is_proven=False)
    return match


def _is_installed(file: str) -> bool:
    return any(folder in Path(file).parts for folder in PACKAGE_FOLDERS)


def _nodes_of(found: list[_Candidate]) -> set[int]:
    return {id(one.match.node) for one in found}


def _is_registered_in_one(found: list[_Candidate], trees: dict[str, ast.Module]) -> bool:
    """Whether all are calls of one function that hand something to a library: they do the same."""
    functions: set[tuple[str, int]] = set()
    for one in found:
        around = functions_around(trees[one.file], one.match.node.lineno)
        functions.add((one.file, max((function.lineno for function, _ in around), default=0)))
    return len(functions) == 1 and all(one.match.is_registering for one in found)


def _puts_constant(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and bool(call.args) and isinstance(call.args[-1], ast.Constant)


def _is_cut_off(value: ast.expr | None) -> bool:
    """Whether an expression is of a tensor without its graph, or of numbers."""
    return isinstance(value, ast.Call) and called_name(value) in ("detach", "item", "tolist", "float", "int")


def _is_sum_with(value: ast.expr, way: list[Access], owner: str) -> bool:
    """Whether it is what is at a place and something more: `self.total + loss`."""
    if not isinstance(value, ast.BinOp):
        return False
    return any(leads_to(part, way, owner) or _is_sum_with(part, way, owner) for part in (value.left, value.right))


def _is_taken_back(node: ast.AST, function: ast.AST) -> bool:
    """Whether a statement keeps a handle that its function removes, as of a hook for one evaluation, or puts it into a
    list of which it removes each; or does what the function undoes with the same variable."""
    handle: ast.expr | None = node.targets[0] if isinstance(node, ast.Assign) else None
    call = node.value if isinstance(node, (ast.Assign, ast.Expr)) else None
    called = called_name(call) if isinstance(call, ast.Call) else ""
    if isinstance(node, ast.Expr) and isinstance(call, ast.Call) and called == "append":
        handle = call.func.value  # type: ignore[attr-defined]  # of what has a method
    if isinstance(node, ast.Expr) and isinstance(call, ast.Call) and called in _UNDOING and call.args:
        handle = call.args[0]
    if not isinstance(handle, ast.Name):
        return False
    return handle.id in _removed_in(function) or handle.id in _handed_to(_UNDOING.get(called, ""), function)


def _handed_to(called: str, function: ast.AST) -> set[str]:
    """Variables that a function hands to whatever has this name."""
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call) and called_name(node) == called)
    return {argument.id for call in calls for argument in call.args if isinstance(argument, ast.Name)}


def _removed_in(function: ast.AST) -> set[str]:
    """Variables of which a function calls `remove()`, and those that have all that it calls it of in a loop."""
    nodes = list(ast.walk(function))
    removed = {
        call.func.value.id
        for call in nodes
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "remove"
        and not call.args
        and isinstance(call.func.value, ast.Name)
    }
    loops = [loop for loop in nodes if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Name)]
    return removed | {
        loop.iter.id  # type: ignore[attr-defined]
        for loop in loops
        if isinstance(loop.target, ast.Name) and loop.target.id in removed
    }


def _is_of_another(statement: ast.stmt, file: str, tree: ast.Module, place: Place) -> bool:
    """Whether a statement names a variable of another function, that was not passed to it."""
    variable = _variable_of(place)
    if variable is None or variable.scope is None or not _is_named_in(statement, variable.label):
        return False
    around = [function for function, _ in functions_around(tree, statement.lineno)]
    home, line = variable.scope
    # The same file may be named from another folder.
    if Path(file).name == Path(home).name and around:
        outermost = around[0]
        if first_line(outermost) <= line <= (outermost.end_lineno or line):
            return False
    return not any(is_parameter(function, variable.label) for function in around)


def _is_of_own(statement: ast.stmt, tree: ast.Module, place: Place) -> bool:
    """Whether a statement names a variable that its function gives a new container, and the place a module's."""
    variable = _variable_of(place)
    if variable is None or variable.scope is not None or not _is_named_in(statement, variable.label):
        return False
    return any(_makes_own(function, variable.label) for function, _ in functions_around(tree, statement.lineno))


def _variable_of(place: Place) -> Access | None:
    return next((access for access in reversed(place.way) if access.kind == "variable"), None)


def _is_named_in(statement: ast.stmt, name: str) -> bool:
    return any(_is_variable(node, name) for node in ast.walk(statement))


def _is_variable(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _makes_own(function: ast.AST, name: str) -> bool:
    """Whether a function has a variable of this name, to which it assigns a new container."""
    is_made = False
    for node in ast.walk(function):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return False
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and makes_empty(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            is_made = is_made or any(_is_variable(target, name) for target in targets)
    return is_made
