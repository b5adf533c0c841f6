# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The tests that the cases of a `match` stand for: `case Mode.FILL` is `subject == Mode.FILL`.

They are made of the file's own nodes, so that what is known of these holds.
"""

from __future__ import annotations

import ast


def test_of(subject: ast.expr, case: ast.match_case) -> ast.expr | None:
    """What holds where a case is taken; None of one that takes all that is left."""
    pattern = _of_pattern(subject, case.pattern)
    tests = [test for test in (pattern, case.guard) if test is not None]
    return _joined(ast.And(), tests, case.pattern)


def _of_pattern(subject: ast.expr, pattern: ast.pattern) -> ast.expr | None:
    if isinstance(pattern, ast.MatchValue):
        return _at(ast.Compare(subject, [ast.Eq()], [pattern.value]), pattern)
    if isinstance(pattern, ast.MatchSingleton):
        if pattern.value is not None:
            return subject if pattern.value else _at(ast.UnaryOp(ast.Not(), subject), pattern)
        constant = _at(ast.Constant(pattern.value), pattern)
        return _at(ast.Compare(subject, [ast.Is()], [constant]), pattern)
    if isinstance(pattern, ast.MatchClass):
        function = _at(ast.Name("isinstance", ast.Load()), pattern)
        return _at(ast.Call(function, [subject, pattern.cls], []), pattern)
    if isinstance(pattern, ast.MatchOr):
        tests = [_of_pattern(subject, part) for part in pattern.patterns]
        return None if None in tests else _joined(ast.Or(), tests, pattern)  # type: ignore[arg-type]
    if isinstance(pattern, ast.MatchAs):
        return None if pattern.pattern is None else _of_pattern(subject, pattern.pattern)
    # Of a sequence or a mapping the shape is asked for; what it is of is all that an expression says of that.
    return subject


def _joined(operator: ast.boolop, tests: list[ast.expr], pattern: ast.pattern) -> ast.expr | None:
    if len(tests) < 2:
        return next(iter(tests), None)
    return _at(ast.BoolOp(operator, tests), pattern)


def _at(made: ast.expr, pattern: ast.pattern) -> ast.expr:
    return ast.copy_location(made, pattern)
