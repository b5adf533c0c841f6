# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Iterators of `itertools.tee`: the one that is behind keeps what the other has been given."""

from __future__ import annotations

import itertools
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from holder_search import STEPS, holder_of_first, search

A_BLOCK = 57
"""Values that CPython's tee has in one block (LINKCELLS of Modules/itertoolsmodule.c)."""


class Streams(types.SimpleNamespace):
    """Of the name that the source below gives it."""


SOURCE = """
import itertools

class Streams:
    def __init__(self, source):
        self.ahead, self.behind = itertools.tee(source)
        first = next(self.behind)

    def step(self):
        return next(self.ahead)
"""


def found_in(root: Any, file: Path, given: int) -> dict[str, Any]:
    """Of tensors that one of two iterators has been given, after so many others."""
    file.write_text(SOURCE, encoding="utf-8")
    for _ in range(given):
        next(root.ahead)

    def keep() -> list[int]:
        return [next(root.ahead)._cdata for _ in range(STEPS)]

    return holder_of_first(search(root, keep, (str(file),)))


def streams() -> Streams:
    ahead, behind = itertools.tee(torch.zeros(4) for _ in range(10 * A_BLOCK))
    next(behind)
    return Streams(ahead=ahead, behind=behind)


@pytest.mark.parametrize("blocks", [1, 3])
def test_iterator_that_is_behind_keeps_what_is_between(blocks: int, tmp_path: Path) -> None:
    holder = found_in(streams(), tmp_path / "train.py", blocks * A_BLOCK)
    assert holder["path"].startswith("Streams (Streams) .behind (_tee)")
    assert holder["text"] == "self.ahead, self.behind = itertools.tee(source)"


def test_of_several_the_one_that_is_farthest_behind(tmp_path: Path) -> None:
    root = streams()
    root.between, root.behind = itertools.tee(root.behind)
    for _ in range(A_BLOCK):
        next(root.between)
    assert ".behind (_tee)" in found_in(root, tmp_path / "train.py", 3 * A_BLOCK)["path"]


def test_iterators_in_the_same_block_are_not_told_apart(tmp_path: Path) -> None:
    assert ".ahead (_tee)" in found_in(streams(), tmp_path / "train.py", 0)["path"]


def test_iterator_of_others_is_not_the_laggard(tmp_path: Path) -> None:
    root, others = streams(), streams()
    for _ in range(3 * A_BLOCK):
        next(root.ahead), next(root.behind)
    for _ in range(3 * A_BLOCK):
        next(others.ahead)
    assert ".ahead (_tee)" in found_in(root, tmp_path / "train.py", 0)["path"]
