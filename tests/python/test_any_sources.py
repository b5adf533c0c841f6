# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Sources as people write them: files of Python's own library, asked about every name in them.

What reads sources catches all that it raises, so that nothing of it costs a verdict; a mistake there would only show as
a line that is never named. Here it is raised.
"""

from __future__ import annotations

import ast
import io
from pathlib import Path
from typing import Any

import pytest
import torch
from stepleak import _accumulated, _cut_buffers
from stepleak._access import Access, Place
from stepleak._facts import Facts
from stepleak._judge import Judge
from stepleak._slots import Slots
from stepleak._sources import Sources
from stepleak._user_code import UserCode

LIBRARY = Path(ast.__file__).parent
FILES = sorted(LIBRARY / name for name in ("queue.py", "sched.py", "heapq.py", "functools.py"))
KEPT: list[Any] = [[1, 2], {"a": 1}, {1, 2}, torch.zeros(3, 4, requires_grad=True).sum(0)]
MOST_NAMES = 3
MOST_CHAINS = 60
"""Each asks all sources."""


def names_in(tree: ast.AST) -> list[str]:
    """Of variables and attributes."""
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return sorted(attributes | {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})


def places_of(name: str, file: Path) -> list[Place]:
    attribute = Access("attribute", name, frozenset({"Logger"}))
    return [
        Place([Access("variable", name, scope=(str(file), 20))], [Access("index", "0")], is_container=True),
        Place([Access("variable", "self"), attribute], [], is_container=True),
        Place([Access("variable", name)], [], is_container=False),
        Place([Access("variable", "owner"), attribute, Access("key", "'k'")], [Access("key", "3")], is_container=True),
        Place([Access("variable", name)], [], is_container=False, buffer=io.BytesIO),
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_statements_of_any_sources_are_asked_without_an_error(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    sources = Sources({str(file): {1, 100, 200}})
    found = 0
    for name in names_in(tree)[::8]:
        for place in places_of(name, file):
            found += bool(sources.statement_keeping(place)["file"])
            sources.statement_keeping(place, is_later=True)
            sources.statement_calling_owner(place, [(str(file), 100)])
        sources.statements_calling(name)
        sources.statement_making(name)
    assert found > 0


def chains_in(tree: ast.AST) -> list[tuple[list[Any], str, str]]:
    """What some variables and attributes that the sources set would hold, with the variable that each way begins at."""
    chains: list[tuple[list[Any], str, str]] = []
    for outer in ast.walk(tree):
        stored = [n for n in ast.walk(outer) if isinstance(getattr(n, "ctx", None), ast.Store)][:MOST_NAMES]
        kept = KEPT[len(chains) % len(KEPT)]
        if isinstance(outer, ast.ClassDef):
            for name in {n.attr for n in stored if isinstance(n, ast.Attribute)}:
                owner = type(outer.name, (), {})()
                vars(owner)[name] = kept
                chains.append(([owner, vars(owner), kept], "owner", "main"))
        if isinstance(outer, ast.FunctionDef):
            chains += [([kept], n.id, outer.name) for n in stored if isinstance(n, ast.Name)]
    return chains[:MOST_CHAINS]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_structure_of_any_sources_is_asked_without_an_error(file: Path) -> None:
    code = UserCode([], [str(file)])
    asked = 0
    for objects, variable, function in chains_in(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(objects[-1], torch.Tensor):
            _accumulated._judged(objects, code, variable, function)
            _cut_buffers._judged(objects, code, variable, function)
            asked += 1
            continue
        slots = Slots(code, objects, variable, function).all()
        if slots and slots[0] is not None:
            known = [slot for slot in slots if slot is not None]
            Judge(Facts(objects, code, known, False, objects[-1]), lambda _: False).judged()
            asked += 1
    assert asked > 0
