# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Buffers that grow and those that do not: each way to hold one, and near misses beside it."""

from __future__ import annotations

import gc
import io
import math
import sys
import types
from array import array
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from holder_search import as_text
from stepleak._buffers import Buffers
from stepleak._core import frame_locals
from stepleak._holders import HolderSearch
from stepleak._limit import TimeLimit

NO_LIMIT = TimeLimit(math.inf)
STEPS = 8
LARGE = 10_000
MORE = 100


def grown_in(change: Callable[[], None]) -> list[tuple[str, int]]:
    """Types of the buffers that grew by a change, and by how much."""
    buffers = Buffers(frame_locals)
    buffers.begin(NO_LIMIT)
    change()
    return [(type(buffer.item).__name__, buffer.growth) for buffer in buffers.grown(STEPS, NO_LIMIT)]


class Log(io.StringIO):
    """A buffer of a class of the user's, whose answers are not asked for."""

    def __len__(self) -> int:
        raise AssertionError

    def tell(self) -> int:
        raise AssertionError


GROWTHS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "text": ("x" * LARGE, lambda text: text + "x" * MORE),
    "bytes": (b"x" * LARGE, lambda data: data + b"x" * MORE),
    "array": (np.zeros(LARGE), lambda old: np.concatenate([old, np.zeros(MORE // 8 + 1)])),
    "array of a subclass": (np.zeros(LARGE).view(np.recarray).copy(), lambda old: np.append(old, np.zeros(MORE))),
}


@pytest.mark.parametrize("name", GROWTHS)
def test_buffer_that_takes_the_place_of_a_smaller_one_has_grown(name: str) -> None:
    first, larger = GROWTHS[name]
    owner = types.SimpleNamespace(buffer=first)

    def change() -> None:
        owner.buffer = larger(owner.buffer)

    assert [growth >= MORE for _, growth in grown_in(change)] == [True]


@pytest.mark.parametrize("name", GROWTHS)
def test_buffer_that_takes_the_place_of_one_as_large_has_not(name: str) -> None:
    first, larger = GROWTHS[name]
    owner = types.SimpleNamespace(buffer=first)

    def change() -> None:
        owner.buffer = larger(first)[: len(first)]

    assert grown_in(change) == []


def test_buffers_that_grow_in_place() -> None:
    data, binary, text, log = bytearray(LARGE), io.BytesIO(b"x" * LARGE), io.StringIO(), Log()
    numbers = array("f", [0.0] * LARGE)
    owner = types.SimpleNamespace(
        data=data, numbers=numbers, other=types.SimpleNamespace(binary=binary), text=[text], log={"all": log}
    )
    binary.seek(LARGE)
    text.write("x" * LARGE)
    io.StringIO.write(log, "x" * LARGE)

    def change() -> None:
        numbers.extend([0.0] * 125)
        data.extend(b"x" * 400)
        binary.write(b"x" * 300)
        text.write("x" * 200)
        io.StringIO.write(log, "x" * 100)

    grown = [("array", 500), ("bytearray", 400), ("BytesIO", 300), ("StringIO", 200), ("Log", 100)]
    assert grown_in(change) == grown
    assert owner.data is data


def test_variable_of_a_running_function_owns_its_buffer() -> None:
    text = "x" * LARGE

    def grow() -> None:
        nonlocal text
        text += "y" * MORE

    local = "z" * LARGE
    buffers = Buffers(frame_locals)
    buffers.begin(NO_LIMIT)
    grow()
    local += "z" * 2 * MORE
    assert [buffer.growth for buffer in buffers.grown(STEPS, NO_LIMIT)] == [2 * MORE, MORE]
    assert len(local) + len(text) > 2 * LARGE


def test_what_is_no_buffer_that_grew() -> None:
    closed = io.StringIO()
    closed.close()
    base = np.zeros(LARGE)
    owner = types.SimpleNamespace(
        kept=["x" * LARGE], small="x" * 100, view=base[: LARGE // 2], closed=closed, trimmed="x" * LARGE
    )

    def change() -> None:
        owner.kept.append("y" * 2 * LARGE)  # one more, and no larger one
        owner.small = "x" * 1000  # below what is looked at
        owner.view = base[:LARGE]  # owns nothing
        owner.trimmed = (owner.trimmed + "x" * MORE)[-LARGE:]
        owner.new = types.SimpleNamespace(text="x" * 2 * LARGE)  # an owner that was not there

    assert grown_in(change) == []


def test_array_that_alone_shows_another_is_a_buffer() -> None:
    owner = types.SimpleNamespace(view=np.zeros((2, LARGE)).T)

    def change() -> None:
        owner.view = np.zeros((2, LARGE + MORE)).T

    assert grown_in(change) == [("ndarray", 16 * MORE)]


class Block:
    """Made anew where it grows, as the tables of pandas are."""

    def __init__(self, values: Any) -> None:
        self.values = values


def longer(block: Block, count: int = MORE) -> Block:
    return Block(np.append(block.values, np.zeros(count)))


def found_around(root: Any, change: Callable[[], None], file: Any = None) -> list[dict[str, Any]]:
    """Holders of buffers that grew, where what a change makes is told from what was there."""
    search = HolderSearch(root, frame_locals)
    search.begin()
    gc.freeze()
    try:
        change()
        search.end()
    finally:
        gc.unfreeze()
    found = search.search([], {} if file is None else {str(file): set()}, STEPS)
    return [holder | as_text(found, holder) for holder in found["holders"] if holder["buffer_growth"]]


def test_owner_that_takes_the_place_of_one_with_a_smaller_buffer_has_grown(tmp_path: Any) -> None:
    file = tmp_path / "train.py"
    file.write_text(SOURCE.format(statement="self.log = joined([self.log, rows])"), encoding="utf-8")
    trainer = Trainer(log=Block(np.zeros(LARGE)), newest=Block(np.zeros(2 * LARGE)))

    def change() -> None:
        vars(trainer).update(newest=Block(np.zeros(2 * LARGE)), log=longer(trainer.log))

    (holder,) = found_around(trainer, change, file)
    assert holder["path"].startswith("Trainer (Trainer) .log (Block)")
    assert (holder["buffer_growth"], holder["text"]) == (8 * MORE, "self.log = joined([self.log, rows])")


def test_owners_that_took_no_others_place_have_not_grown() -> None:
    trainer = Trainer(blocks=[Block(np.zeros(LARGE))], same=Block(np.zeros(LARGE)))

    def change() -> None:
        trainer.blocks.append(Block(np.zeros(LARGE + MORE)))  # one more, and no larger one
        trainer.same = Block(trainer.same.values)

    assert found_around(trainer, change) == []


def test_owners_that_are_as_large_as_those_before_have_not_grown() -> None:
    trainer = Trainer(first=Block(np.zeros(LARGE)), second=Block(np.zeros(2 * LARGE)))

    def change() -> None:
        trainer.first, trainer.second = Block(np.zeros(2 * LARGE)), Block(np.zeros(LARGE))

    assert found_around(trainer, change) == []


def test_parts_of_one_table_grow_together() -> None:
    trainer = Trainer(log=types.SimpleNamespace(numbers=Block(np.zeros(LARGE)), names=Block(np.zeros(LARGE))))

    def change() -> None:
        old = trainer.log
        vars(trainer)["log"] = types.SimpleNamespace(numbers=longer(old.numbers), names=longer(old.names))

    (holder,) = found_around(trainer, change)
    assert (holder["buffer_bytes"], holder["buffer_growth"]) == (2 * 8 * (LARGE + MORE), 2 * 8 * MORE)


def test_table_of_a_library_is_named_and_not_its_part(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table, block = types.new_class("Frame"), types.new_class("Part")
    table.__module__ = block.__module__ = "tables.core"
    monkeypatch.setitem(sys.modules, "tables.core", torch)

    def part_of(count: int) -> Any:
        part = block()
        part.values = np.zeros(count)
        return part

    file = tmp_path / "train.py"
    file.write_text(SOURCE.format(statement="self.log.loc[len(self.log)] = row"), encoding="utf-8")
    trainer = Trainer(log=table())
    trainer.log.part = part_of(LARGE)

    def change() -> None:
        trainer.log.part = part_of(LARGE + MORE)

    (holder,) = found_around(trainer, change, file)
    assert holder["path"].startswith("Trainer (Trainer) .log (Frame)")
    assert ".part" not in holder["path"]
    assert holder["text"] == "self.log.loc[len(self.log)] = row"


def test_items_of_a_window_move_and_do_not_grow() -> None:
    window = deque([np.zeros(LARGE + MORE * i) for i in range(8)], maxlen=8)

    def change() -> None:
        window.append(window[0].copy())

    assert grown_in(change) == []


class Trainer(types.SimpleNamespace):
    """Of the name that the source below gives it."""


SOURCE = """
import io

class Trainer:
    def __init__(self):
        self.text = io.StringIO()
        self.array = None
        self.log = ""

    def step(self, index):
        self.start = self.text
        note = np.zeros(3)
        self.array = other(note)
        self.array = self.array[note > 0]
        {statement}
"""


SOURCE_OF_A_CLOSURE = """
import types

def make(text):
    report = types.SimpleNamespace(text=text)

    def step():
        report.text.write("x" * 400)

    return step
"""


@pytest.mark.parametrize(
    ("attribute", "statement"),
    [
        ("text", "self.text.write(str(index))"),
        ("text", "print(index, file=self.text)"),
        ("array", "self.array = np.concatenate([self.array, note])"),
        ("log", "self.log = self.log + str(index)"),
        ("log", "self.log += str(index)"),
    ],
)
def test_statement_that_makes_a_buffer_grow(attribute: str, statement: str, tmp_path: Any) -> None:
    file = tmp_path / "train.py"
    file.write_text(SOURCE.format(statement=statement), encoding="utf-8")
    trainer = Trainer(text=io.StringIO(), array=np.zeros(LARGE), log="x" * LARGE)
    trainer.text.write("x" * LARGE)
    search = HolderSearch(trainer, frame_locals)
    search.begin()
    if attribute == "text":
        trainer.text.write("x" * MORE)
    elif attribute == "array":
        trainer.array = np.zeros(LARGE + MORE)
    else:
        trainer.log = "x" * (LARGE + MORE)
    (holder,) = search.search([], {str(file): set()}, STEPS)["holders"]
    assert (holder["kept_by"]["text"], holder["container"]) == (statement, -1)
    assert holder["buffer_growth"] >= MORE


def test_statement_of_a_step_that_has_the_owner_of_the_buffer_in_its_closure(tmp_path: Any) -> None:
    """A closure is a tuple, and none that is made anew."""
    file = tmp_path / "train.py"
    file.write_text(SOURCE_OF_A_CLOSURE, encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(SOURCE_OF_A_CLOSURE, str(file), "exec"), names)
    text = io.StringIO()
    text.write("x" * LARGE)
    step = names["make"](text)
    step()
    search = HolderSearch(step, frame_locals)
    search.begin()
    step()
    (holder,) = search.search([], {}, STEPS)["holders"]
    assert holder["kept_by"]["text"] == "report.text.write('x' * 400)"


def test_no_statement_that_makes_a_buffer_anew(tmp_path: Any) -> None:
    file = tmp_path / "train.py"
    file.write_text(SOURCE.format(statement="print(self.log)"), encoding="utf-8")
    trainer = Trainer(array=np.zeros(LARGE), log="x" * LARGE)
    search = HolderSearch(trainer, frame_locals)
    search.begin()
    # By no statement that has the names: this file is as good as the user's.
    vars(trainer).update(array=np.zeros(LARGE + MORE), log="x" * (LARGE + MORE))
    holders = search.search([], {str(file): set()}, STEPS)["holders"]
    assert [holder["kept_by"]["line"] for holder in holders] == [0, 0]
