# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the scenario files of a folder declare, read from their source without running it.

    python3 -I -S _declarations.py FOLDER

Prints {"scenarios": [...]}. A scenario's file imports torch, which takes seconds; its decorators are plain calls. Exit status 1
where one is not, so that the file has to be imported to know.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LISTED = {"kind", "report", "needs_cuda", "min_gpus"}


class NotPlain(Exception):
    """A declaration that must be run to be known."""


def declarations(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.py")):
        if path.name.startswith("_"):
            continue
        if not path.is_file():  # reading a pipe would wait for who writes into it
            raise NotPlain(f"{path} is no file")
        for node in ast.parse(path.read_text(encoding="utf-8"), str(path)).body:
            if isinstance(node, ast.FunctionDef):
                yield from of_function(node, path)
            elif _mentions_decorator(node):
                raise NotPlain(f"{path}:{node.lineno}")


def of_function(function: ast.FunctionDef, path: Path) -> Iterator[dict[str, Any]]:
    for decorator in function.decorator_list:
        if not isinstance(decorator, ast.Call) or _name(decorator.func) not in {"leak", "clean"}:
            continue
        given = {k.arg: _literal(k.value, path) for k in decorator.keywords if k.arg in _LISTED}
        kinds = given.get("kind", ())
        yield {
            "name": function.name,
            "story": inspect.cleandoc(ast.get_docstring(function) or ""),
            "report": given.get("report", ""),
            "file": str(path),
            "expected": _name(decorator.func),
            "kinds": [kinds] if isinstance(kinds, str) else list(kinds),
            "needs_cuda": given.get("needs_cuda", False),
            "min_gpus": given.get("min_gpus", 0),
        }


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _literal(node: ast.expr, path: Path) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise NotPlain(f"{path}:{node.lineno}") from None


def _mentions_decorator(node: ast.stmt) -> bool:
    """Declared in a loop, or by a call of the decorator."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return False
    return any(isinstance(part, ast.Call) and _name(part.func) in {"leak", "clean"} for part in ast.walk(node))


if __name__ == "__main__":
    try:
        print(json.dumps({"scenarios": list(declarations(Path(sys.argv[1])))}))
    except (NotPlain, OSError, SyntaxError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
