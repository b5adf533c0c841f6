# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What of a source file may run again and again: its functions and lambdas, and the loops outside of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stepleak._syntax import FUNCTIONS, SCOPES, Function

CONSTRUCTORS = ("__init__", "__post_init__")
"""In which an object is made: what runs once for each."""


def repeating(tree: ast.Module) -> Iterator[tuple[ast.stmt | ast.Lambda, str]]:
    """All functions, with their classes, and the lambdas and loops outside of them."""
    yield from _functions(tree)
    yield from _outer_lambdas(tree)
    yield from ((loop, "") for loop in _top_level_loops(tree))


def repeated(tree: ast.Module) -> list[ast.AST]:
    """What lies in functions, and in loops outside of them."""
    return list({id(node): node for outer, _ in repeating(tree) for node in ast.walk(outer)}.values())


def _functions(tree: ast.Module) -> Iterator[tuple[Function, str]]:
    """All functions, with the class whose method they are or lie in."""
    nodes: list[tuple[ast.AST, str]] = [(tree, "")]
    while nodes:
        node, owner = nodes.pop(0)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node, owner
        inner = node.name if isinstance(node, ast.ClassDef) else owner
        nodes.extend((child, inner) for child in ast.iter_child_nodes(node))


def _outer_lambdas(tree: ast.Module) -> Iterator[tuple[ast.Lambda, str]]:
    """Those that stand in no function, with the class that they lie in."""
    nodes: list[tuple[ast.AST, str]] = [(tree, "")]
    while nodes:
        node, owner = nodes.pop(0)
        if isinstance(node, ast.Lambda):
            yield node, owner
        elif not isinstance(node, FUNCTIONS):
            inner = node.name if isinstance(node, ast.ClassDef) else owner
            nodes.extend((child, inner) for child in ast.iter_child_nodes(node))


def functions_around(tree: ast.Module, line: int) -> list[tuple[Function, str]]:
    """Those in which a line lies, the outermost first."""
    return [(f, owner) for f, owner in _functions(tree) if f.lineno <= line <= (f.end_lineno or line)]


def is_in_constructor(tree: ast.Module, line: int) -> bool:
    """Whether a line is one of `__init__`, or of what dataclasses have in its place."""
    around = functions_around(tree, line)
    methods = [function for function, owner in around if owner]
    return bool(methods) and methods[-1].name in CONSTRUCTORS


def _top_level_loops(tree: ast.Module) -> Iterator[ast.stmt]:
    """Those that stand in no function."""
    nodes: list[ast.AST] = list(tree.body)
    while nodes:
        node = nodes.pop(0)
        if isinstance(node, (ast.For, ast.While)):
            yield node
        elif not isinstance(node, SCOPES):
            nodes.extend(ast.iter_child_nodes(node))
