# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Statements of the running program as a report would have them: `losses.append(loss.item())`."""

from __future__ import annotations

import ast
import builtins
import functools
import gc
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from stepleak._folders import real
from stepleak._source_text import text_of
from stepleak._statement import Replacing, expression_in, line_of

# Names that the corrected statements find among the builtins.
_TAKE = "_stepleak_take_corrected"
_RENEW = "_stepleak_renew"


class Correction(NamedTuple):
    """A `stepleak::Correction`: `suffix` is to be called on `expression` in the statement `text`."""

    file: str
    line: int
    text: str
    expression: str
    suffix: str


class _Part(NamedTuple):
    """A statement of a syntax tree, and the expression in it."""

    statement: ast.stmt
    value: ast.expr


class NotCorrected(Exception):
    """The sources do not have the statement, or nothing that can be called has it."""


class Corrected:
    """Gives functions new code, until `undo()`. Frames that run already, as a generator's, go on with theirs.

    A total that has grown is begun anew: it goes on from its value, without what that was computed from. Raises
    NotCorrected, and changes nothing then.
    """

    def __init__(self, corrections: list[Correction]) -> None:
        self._corrections = [Correction(*each) for each in corrections]
        self._taken: set[int] = set()
        self._renewed: set[int] = set()
        self._before: list[tuple[FunctionType, CodeType]] = []
        self.statements: list[str] = []
        files: dict[str, list[int]] = defaultdict(list)
        for number, each in enumerate(self._corrections):
            files[each.file].append(number)
        changed = [change for file, numbers in files.items() for change in self._changes(file, numbers)]
        setattr(builtins, _TAKE, self._take)
        setattr(builtins, _RENEW, self._renew)
        for function, code in changed:
            self._before.append((function, function.__code__))
            function.__code__ = code

    def are_all_taken(self) -> bool:
        """Whether each of the corrected statements has run."""
        return len(self._taken) == len(self._corrections)

    def undo(self) -> None:
        """Later calls do nothing."""
        for function, code in self._before:
            function.__code__ = code
        self._before = []
        for name in (_TAKE, _RENEW):
            builtins.__dict__.pop(name, None)

    def _take(self, number: int, value: Any) -> Any:
        self._taken.add(number)
        return value

    def _renew(self, number: int, value: Any) -> Any:
        is_first = number not in self._renewed
        self._renewed.add(number)
        return value.detach() if is_first and getattr(value, "grad_fn", None) is not None else value

    def _changes(self, file: str, numbers: list[int]) -> list[tuple[FunctionType, CodeType]]:
        text = text_of(file)
        if text is None:
            raise NotCorrected(f"{file} cannot be read")
        try:
            tree = ast.parse(text)
            parts = {number: _part_of(tree, self._corrections[number]) for number in numbers}
        except (SyntaxError, ValueError) as error:
            raise NotCorrected(f"{file} cannot be read: {error}") from error
        self.statements += self._texts(parts)
        codes = _functions_of(compile(self._corrected(tree, parts), file, "exec", dont_inherit=True))
        changed = [
            (function, code)
            for function in _functions_in(file)
            if (code := codes.get(_key_of(function.__code__))) is not None and code != function.__code__
        ]
        if not changed:
            raise NotCorrected(f"no function of {file} has the statement")
        return changed

    def _texts(self, parts: dict[int, _Part]) -> list[str]:
        """The statements as a person would write them, in their order."""
        plain = {id(part.value): _called(part.value, self._corrections[n].suffix) for n, part in parts.items()}
        statements = {id(part.statement): part.statement for part in parts.values()}
        in_order = sorted(statements.values(), key=lambda node: (node.lineno, node.col_offset))
        return [ast.unparse(Replacing(plain).visit(node)).splitlines()[0] for node in in_order]

    def _corrected(self, tree: ast.Module, parts: dict[int, _Part]) -> ast.Module:
        replaced: dict[int, ast.AST | list[ast.AST]] = {}
        for number, (statement, value) in parts.items():
            take = ast.Call(ast.Name(_TAKE, ast.Load()), [ast.Constant(number)], [])
            take.args.append(_called(value, self._corrections[number].suffix))
            replaced[id(value)] = ast.copy_location(take, value)
            total = _total_of(statement)
            if total is not None and id(statement) not in replaced:
                renewed = ast.parse(f"{total} = {_RENEW}({number}, {total})").body
                replaced[id(statement)] = [*(ast.copy_location(each, statement) for each in renewed), statement]
        return ast.fix_missing_locations(Replacing(replaced).visit(tree))


def _called(value: ast.expr, suffix: str) -> ast.expr:
    """`value` with a call such as ".item()" on it."""
    call = ast.parse(f"value{suffix}", mode="eval").body
    replaced: ast.expr = Replacing({id(node): value for node in ast.walk(call) if isinstance(node, ast.Name)}).visit(
        call
    )
    return ast.copy_location(replaced, value)


def _statement_at(tree: ast.Module, correction: Correction) -> ast.stmt:
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or line_of(node) != correction.line:
            continue
        if ast.unparse(node).splitlines()[0] == correction.text:
            return node
    raise NotCorrected(f"{correction.file}:{correction.line} is no longer {correction.text}")


def _part_of(tree: ast.Module, correction: Correction) -> _Part:
    statement = _statement_at(tree, correction)
    for node in ast.walk(statement):
        if not isinstance(node, ast.expr) or ast.unparse(node) != correction.expression:
            continue
        if expression_in(statement, node, correction.text):
            return _Part(statement, node)
    raise NotCorrected(f"{correction.text} has no {correction.expression}")


def _total_of(statement: ast.stmt) -> str | None:
    """What the statement makes of itself, as `total` in `total = total + loss`."""
    if isinstance(statement, ast.AugAssign):
        return ast.unparse(statement.target)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = ast.unparse(statement.targets[0])
    made_of = (ast.unparse(part) for part in ast.walk(statement.value) if isinstance(part, ast.expr))
    return target if target in made_of else None


def _key_of(code: CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


def _functions_of(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """The codes within a module's; of two of one name in one line none, as it is not known which is which."""
    found: dict[tuple[str, int], CodeType | None] = {}
    waiting = [code]
    while waiting:
        for inner in waiting.pop().co_consts:
            if isinstance(inner, CodeType):
                waiting.append(inner)
                found[_key_of(inner)] = None if _key_of(inner) in found else inner
    return {key: code for key, code in found.items() if code is not None}


def _functions_in(file: str) -> Iterator[FunctionType]:
    gc.unfreeze()  # else those that were set apart are not listed
    resolved = functools.cache(real)
    for found in gc.get_objects():
        if type(found) is FunctionType and resolved(found.__code__.co_filename) == resolved(file):
            yield found
