# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the scenario files of a folder declare, read from their source without running it.

    python3 -I -S _declarations.py FOLDER

Prints {"scenarios": [...]}. A scenario's file imports torch, which takes seconds; its decorators are plain calls. Exit
status 1 where anything else could declare one: a decorator that is called, a module that the file imports. Then the
files have to be imported to know.

A listing waits for this, mostly for files to be parsed: what is imported here is little, and a file's tree is walked
only where its text does not tell.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys

# As `ast` has them, which imports much more.
from _ast import (
    AST,
    AsyncFunctionDef,
    Attribute,
    Call,
    ClassDef,
    Constant,
    Expr,
    FunctionDef,
    Import,
    ImportFrom,
    List,
    Module,
    Name,
    PyCF_ONLY_AST,
    Tuple,
    expr,
)

# As of `typing`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_DECORATORS = {"leak", "clean"}
_LISTED = {"kind", "report", "line", "holder", "not_yet", "needs", "needs_cuda", "min_gpus"}
# What is imported from elsewhere may declare scenarios, and so may what is run as text.
_RUNNING = {"__import__", "builtins", "eval", "exec", "importlib", "pkgutil", "runpy"}
_DECLARING_NOTHING = (set(sys.stdlib_module_names) - _RUNNING) | {"numpy", "torch"}

_DECLARES = re.compile(r"\b(?:leak|clean|import)\b")
_RUNS = re.compile(rf"(?<!\.)\b(?:{'|'.join(sorted(_RUNNING))})\b")
"""`model.eval()` calls no `eval`."""
_IMPORT = re.compile(
    r"[ \t]*(?:from stepleak\.scenario import (?:leak|clean)(?:, (?:leak|clean))?"
    r"|import (\w+)(?:\.\w+)*(?: as \w+)?|from (\w+)(?:\.\w+)* import \w+(?: as \w+)?(?:, \w+(?: as \w+)?)*)"
)


class NotPlain(Exception):
    """A declaration that must be run to be known."""


def declarations(folder: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.startswith("_") or not name.endswith(".py"):
            continue
        file = _path_of(folder, name)
        if not os.path.isfile(file):  # reading a pipe would wait for who writes into it
            raise NotPlain(f"{file} is no file")
        with open(file, encoding="utf-8") as source:
            yield from _of_file(source.read(), file)


def _path_of(folder: str | os.PathLike[str], name: str) -> str:
    """As `pathlib` writes it, and so loading does."""
    parts = [part for part in os.fspath(folder).split("/") if part not in ("", ".")]
    return "/" * os.path.isabs(folder) + "/".join([*parts, name])


def _of_file(text: str, file: str) -> Iterator[dict[str, Any]]:
    tree = compile(text, file, "exec", PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(tree, Module)
    plain = []
    harmless = set(_DECLARING_NOTHING)
    for node in tree.body:
        if isinstance(node, FunctionDef) and len(node.decorator_list) == 1:
            decorator = node.decorator_list[0]
            if isinstance(decorator, Call) and _is_decorator(decorator.func):
                plain.append(decorator.func)
                declared = _declared(node, decorator, file)
                # A library that a step is made with declares no scenario.
                harmless.update(declared["needs"])
                yield declared
    if _is_usual(text, len(plain), harmless):
        return
    for part in _parts_of(tree):
        if part not in plain and _may_declare(part, harmless):
            raise NotPlain(f"{file}:{getattr(part, 'lineno', 0)}")


def _is_usual(text: str, declarations: int, harmless: set[str]) -> bool:
    """Whether no word of a file may declare, but for so many decorators, and its imports are plain lines."""
    if not text.isascii():  # Python knows a name in other letters too
        return False
    if any(word in text for word in _RUNNING) and _RUNS.search(text):
        return False
    decorators = 0
    for line in text.split("\n"):
        # Most lines are done with here.
        if "leak" in line or "clean" in line or "import" in line:
            if line.startswith(("@leak(", "@clean(")):
                decorators += 1
                line = line.partition("(")[2]
            if _DECLARES.search(line) and not _is_harmless_import(line, harmless):
                return False
    # Where there are more, one is in a text or an expression.
    return decorators == declarations


def _is_harmless_import(line: str, harmless: set[str]) -> bool:
    found = _IMPORT.fullmatch(line)
    if found is None:
        return False
    module = found[1] or found[2]
    return module is None or module in harmless


def _parts_of(tree: AST) -> Iterator[AST]:
    """The tree's nodes, in any order."""
    left = [tree]
    while left:
        part = left.pop()
        yield part
        for value in vars(part).values():
            if isinstance(value, AST):
                left.append(value)
            elif type(value) is list:
                left += [each for each in value if isinstance(each, AST)]


def _is_decorator(node: expr) -> bool:
    return isinstance(node, Name) and node.id in _DECORATORS


def _declared(function: FunctionDef, decorator: Call, file: str) -> dict[str, Any]:
    if decorator.args or any(keyword.arg is None for keyword in decorator.keywords):
        raise NotPlain(f"{file}:{decorator.lineno}")
    given = {k.arg: _literal(k.value, file) for k in decorator.keywords if k.arg in _LISTED}
    several = {name: given.get(name, ()) for name in ("kind", "line", "holder", "needs")}
    several = {name: [value] if isinstance(value, str) else list(value) for name, value in several.items()}
    story = _story_of(function)
    return {
        "name": function.name,
        "story": f"{story}\n\nNeeds {', '.join(several['needs'])}." if several["needs"] else story,
        "report": given.get("report", ""),
        "file": file,
        "expected": getattr(decorator.func, "id", ""),
        "kinds": several["kind"],
        "lines": several["line"],
        "holders": several["holder"],
        "not_yet": given.get("not_yet", ""),
        "needs": several["needs"],
        "needs_cuda": given.get("needs_cuda", False),
        "min_gpus": given.get("min_gpus", 0),
    }


def _literal(node: expr, file: str) -> Any:
    match node:
        case Constant(value=value):
            return value
        case Tuple(elts=parts) | List(elts=parts):
            return [_literal(part, file) for part in parts]
    raise NotPlain(f"{file}:{node.lineno}")


def _story_of(function: FunctionDef) -> str:
    match function.body[0]:
        case Expr(value=Constant(value=str(text))):
            return without_indentation(text)
    return ""


def without_indentation(text: str) -> str:
    """As `inspect.cleandoc`, whose module imports half of Python's library."""
    first, *rest = text.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.lstrip(), *(line[margin:] for line in rest)]).strip("\n")


def _may_declare(part: AST, harmless: set[str]) -> bool:
    """Whether this part of a file can declare a scenario, or lead to what does."""
    match part:
        case Import(names=names):
            return any(name.name.partition(".")[0] not in harmless for name in names)
        case ImportFrom(module="stepleak.scenario", names=names, level=0):
            return any(name.name not in _DECORATORS or name.asname is not None for name in names)
        case ImportFrom(module=module, level=level):
            return level > 0 or str(module).partition(".")[0] not in harmless
        case FunctionDef(name=name) | AsyncFunctionDef(name=name) | ClassDef(name=name):
            return name in _DECORATORS
        case Name(id=name):
            return name in _DECORATORS | _RUNNING
        case Attribute(attr=name):
            return name in _DECORATORS
    return False


if __name__ == "__main__":
    gc.disable()  # a tree is freed without, and this process is over soon
    try:
        print(json.dumps({"scenarios": list(declarations(sys.argv[1]))}))
    except (NotPlain, OSError, SyntaxError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
