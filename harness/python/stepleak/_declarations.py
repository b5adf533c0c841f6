# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the scenario files of a folder declare, read from their source without running it.

    python3 -I -S _declarations.py FOLDER

Prints {"scenarios": [...]}. A scenario's file imports torch, which takes seconds; its decorators are plain calls. Exit
status 1 where anything else could declare one: a decorator that is called, a module that the file imports. Then the
files have to be imported to know.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_DECORATORS = {"leak", "clean"}
_LISTED = {"kind", "report", "line", "holder", "not_yet", "needs_cuda", "min_gpus"}
# What is imported from elsewhere may declare scenarios, and so may what is run as text.
_RUNNING = {"__import__", "builtins", "eval", "exec", "importlib", "pkgutil", "runpy"}
_DECLARING_NOTHING = (set(sys.stdlib_module_names) - _RUNNING) | {"numpy", "torch"}


class NotPlain(Exception):
    """A declaration that must be run to be known."""


def declarations(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.py")):
        if path.name.startswith("_"):
            continue
        if not path.is_file():  # reading a pipe would wait for who writes into it
            raise NotPlain(f"{path} is no file")
        yield from _of_file(ast.parse(path.read_text(encoding="utf-8"), str(path)), path)


def _of_file(tree: ast.Module, path: Path) -> Iterator[dict[str, Any]]:
    plain = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and len(node.decorator_list) == 1:
            decorator = node.decorator_list[0]
            if isinstance(decorator, ast.Call) and _is_decorator(decorator.func):
                plain.append(decorator.func)
                yield _declared(node, decorator, path)
    for part in ast.walk(tree):
        if part not in plain and _may_declare(part):
            raise NotPlain(f"{path}:{getattr(part, 'lineno', 0)}")


def _is_decorator(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in _DECORATORS


def _declared(function: ast.FunctionDef, decorator: ast.Call, path: Path) -> dict[str, Any]:
    if decorator.args or any(keyword.arg is None for keyword in decorator.keywords):
        raise NotPlain(f"{path}:{decorator.lineno}")
    given = {k.arg: _literal(k.value, path) for k in decorator.keywords if k.arg in _LISTED}
    several = {name: given.get(name, ()) for name in ("kind", "line", "holder")}
    several = {name: [value] if isinstance(value, str) else list(value) for name, value in several.items()}
    return {
        "name": function.name,
        "story": inspect.cleandoc(ast.get_docstring(function) or ""),
        "report": given.get("report", ""),
        "file": str(path),
        "expected": getattr(decorator.func, "id", ""),
        "kinds": several["kind"],
        "lines": several["line"],
        "holders": several["holder"],
        "not_yet": given.get("not_yet", ""),
        "needs_cuda": given.get("needs_cuda", False),
        "min_gpus": given.get("min_gpus", 0),
    }


def _literal(node: ast.expr, path: Path) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise NotPlain(f"{path}:{node.lineno}") from None


def _may_declare(part: ast.AST) -> bool:
    """Whether this part of a file can declare a scenario, or lead to what does."""
    match part:
        case ast.Import(names=names):
            return any(name.name.partition(".")[0] not in _DECLARING_NOTHING for name in names)
        case ast.ImportFrom(module="stepleak.scenario", names=names, level=0):
            return any(name.name not in _DECORATORS or name.asname is not None for name in names)
        case ast.ImportFrom(module=module, level=level):
            return level > 0 or str(module).partition(".")[0] not in _DECLARING_NOTHING
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name in _DECORATORS
        case ast.Name(id=name):
            return name in _DECORATORS | _RUNNING
        case ast.Attribute(attr=name):
            return name in _DECORATORS
    return False


if __name__ == "__main__":
    try:
        print(json.dumps({"scenarios": list(declarations(Path(sys.argv[1])))}))
    except (NotPlain, OSError, SyntaxError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
