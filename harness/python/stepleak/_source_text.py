# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The text of a source file, also of one that no disk has: a notebook's cell, a module of an archive.

Of cells it is what `linecache` holds, which notebooks put there for tracebacks. Nothing is read into that: it keeps
the files, and the run may go on.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import linecache
import os
import tokenize
import types
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from stepleak._folders import is_regular_file, is_typed_in
from stepleak._objects import class_namespace_of, is_a


def text_of(file: str) -> str | None:
    """None where it cannot be had."""
    if is_regular_file(file):
        with contextlib.suppress(OSError, SyntaxError, ValueError), tokenize.open(file) as source:
            return source.read()
        return None
    return None if os.path.exists(file) else _text_of_absent(file)


def absent_lines(file: bytes) -> list[str]:
    """Of a file that no disk has, its lines without the blanks around them; none of any other."""
    name = os.fsdecode(file)
    text = None if os.path.exists(name) else _text_of_absent(name)
    return [] if text is None else [line.strip() for line in text.split("\n")]


def cells() -> Iterator[tuple[str, str]]:
    """The files of what was typed in, as a notebook's cells are, and their texts, the oldest first."""
    for file in list(linecache.cache):
        text = _held(file) if is_typed_in(file) or file.endswith(".py") else None
        # What has a time was read from a disk.
        if text is not None and linecache.cache[file][1] is None and not os.path.exists(file):  # type: ignore[misc]
            yield file, text


def without_replaced(cells_of: dict[str, str], namespace: dict[str, Any]) -> dict[str, str]:
    """The texts of cells that run in a namespace, without the functions and classes that another cell, or the same one
    under another number, has defined anew: nothing runs these any more."""
    found: dict[str, dict[str, ast.stmt]] = {}
    for file, text in cells_of.items():
        with contextlib.suppress(SyntaxError, ValueError, RecursionError):
            for node in ast.parse(text).body:
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    found.setdefault(node.name, {})[file] = node
    texts = {file: text.split("\n") for file, text in cells_of.items()}
    for name, by_file in found.items():
        now = _file_of(dict.get(namespace, name)) if len(by_file) > 1 else ""
        for file, node in by_file.items() if now in by_file else ():
            if file != now:
                first = min(part.lineno for part in (node, *node.decorator_list))  # type: ignore[attr-defined]
                texts[file][first - 1 : node.end_lineno] = [""] * ((node.end_lineno or first) - first + 1)
    return {file: "\n".join(lines) for file, lines in texts.items()}


def _file_of(value: Any) -> str:
    """Where a function, or a class by one of its methods, was defined; empty where that is not known."""
    functions = list(class_namespace_of(value).values()) if is_a(value, type) else [value]
    files = [each.__code__.co_filename for each in map(_unwrapped, functions) if type(each) is types.FunctionType]
    # A dataclass has methods that stand in no file.
    return next((file for file in files if file != "<string>"), "")


def _unwrapped(value: Any) -> Any:
    while type(value) is types.FunctionType and "__wrapped__" in value.__dict__:
        value = value.__dict__["__wrapped__"]
    return value


def _text_of_absent(file: str) -> str | None:
    if file.startswith("<") and not is_typed_in(file):
        return None
    held = _held(file)
    return _text_in_archive(file) if held is None else held


def _held(file: str) -> str | None:
    """What `linecache` has of it; nothing where it would have to ask a loader first."""
    entry: Any = linecache.cache.get(file)
    if type(entry) is not tuple or len(entry) != 4:
        return None
    return "".join(entry[2])


def _text_in_archive(file: str) -> str | None:
    """Of a file below an archive that modules are imported from: /home/me/train.pyz/model.py."""
    archive, inner = os.path.split(file)
    while archive and inner and not os.path.exists(archive):
        archive, name = os.path.split(archive)
        inner = f"{name}/{inner}" if name else ""
    if not inner or not is_regular_file(archive):
        return None
    try:
        with zipfile.ZipFile(archive) as opened:
            return importlib.util.decode_source(opened.read(inner))
    except (OSError, KeyError, RuntimeError, SyntaxError, ValueError, zipfile.BadZipFile, zlib.error):
        return None
