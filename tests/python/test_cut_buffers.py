# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Buffers that are made anew, longer each time, with a line that cuts or empties them, and with one that does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from watched_program import found_in

WINDOW = """
import torch

class ProgramWindow:
    def __init__(self, length):
        self.length, self.count = length, 0
        self.program_rows = torch.empty(FIRST)
    def push_program_row(self, row):
        self.count += 1
        UPDATE

def program_main():
    window = ProgramWindow(1200)
    for i in range(10_000):
        window.push_program_row(torch.ones(FIRST) if i else torch.ones(ROW))
        program_tensor(window.program_rows)
        program_step()

program_main()
"""
JOINED = "self.program_rows = torch.cat([self.program_rows, row])"


def window(update: str, first: str = "1, 4") -> str:
    return WINDOW.replace("UPDATE", update).replace("FIRST", first).replace("ROW", first)


CUT = {
    "where it is joined": window(f"{JOINED}[-self.length :]"),
    "in the next statement": window(f"{JOINED}\n        self.program_rows = self.program_rows[-1200:].contiguous()"),
    "of a variable": window(
        "joined = torch.cat((self.program_rows, row), 0)\n        self.program_rows = joined[-self.length :]"
    ),
    "on the axis that grows": window(
        "self.program_rows = torch.cat([self.program_rows, row], dim=1)[:, -self.length :]"
    ),
    "on the last axis": window("self.program_rows = torch.cat([self.program_rows, row], dim=-1)[..., -self.length :]"),
    "where it is too long": window(
        f"{JOINED}\n        if len(self.program_rows) > 1300:\n            self.program_rows = self.program_rows[-9:]"
    ),
}
FILLED = {
    "padded while it is narrow": (
        "if self.program_rows.shape[1] < 1200:\n"
        "            self.program_rows = torch.nn.functional.pad(self.program_rows, (0, 1))"
    ),
    "joined while it is short": (
        "if len(self.program_rows) < self.length:\n            " + JOINED + "\n"
        "        else:\n            self.program_rows = torch.cat([self.program_rows[1:], row])"
    ),
    "joined while its shape is small": (
        f"if self.program_rows.shape[0] >= 1200:\n            return\n        {JOINED}"
    ),
    "joined in an expression while it is short": (
        "self.program_rows = torch.cat([self.program_rows, row]) if self.program_rows.size(0) < 1200 "
        "else torch.cat([self.program_rows[1:], row])"
    ),
}
GROWING = {
    "joined while it is long": window(f"if len(self.program_rows) >= 0:\n            {JOINED}"),
    "joined once it is there": window(f"if self.program_rows is not None:\n            {JOINED}"),
    "joined where a count passes its length": window(f"if self.count >= len(self.program_rows):\n            {JOINED}"),
    "cut to a count": window(f"{JOINED}[-self.count :]"),
    "joined on two ways": window(
        f"if len(self.program_rows) < 1200:\n            {JOINED}\n        else:\n            {JOINED}"
    ),
    "not cut": window(JOINED),
    "cut on another axis": window("self.program_rows = torch.cat([self.program_rows, row], dim=1)[-self.length :]"),
    "longer than it is cut to": window(
        "self.program_rows = torch.cat([self.program_rows[-2:], row])\n"
        "        self.program_rows = torch.cat([self.program_rows, row, row])"
    ),
    "cut where a setting says no": window(
        f"{JOINED}\n        if CUTS:\n            self.program_rows = self.program_rows[-9:]"
    ).replace("class", "CUTS = False\nclass", 1),
    "cut before the steps": window(f"if self.count == 1:\n            self.program_rows = row[-1:]\n        {JOINED}"),
}


def structure_in(program: str, folder: Path) -> dict[str, Any]:
    found = found_in(program, folder)
    (index,) = set(found["holder_of"].values())
    structure: dict[str, Any] = found["holders"][index]["structure"]
    return structure


@pytest.mark.parametrize("name", CUT)
def test_what_is_cut_is_bounded(name: str, tmp_path: Path) -> None:
    structure = structure_in(CUT[name], tmp_path)
    assert structure["kind"] == "bounded"
    assert structure["bound"] == (1300 if "if len" in CUT[name] else 1200)
    assert "self.program_rows[-" in structure["text"] or "-self.length :]" in structure["text"]


@pytest.mark.parametrize("name", FILLED)
def test_what_is_joined_up_to_a_length_is_bounded(name: str, tmp_path: Path) -> None:
    structure = structure_in(window(FILLED[name]), tmp_path)
    assert (structure["kind"], structure["bound"]) == ("bounded", 1200)


@pytest.mark.parametrize("name", GROWING)
def test_what_no_cut_reaches_is_not(name: str, tmp_path: Path) -> None:
    assert structure_in(GROWING[name], tmp_path)["kind"] == "unknown"


def test_what_is_made_empty_each_epoch_is_reset(tmp_path: Path) -> None:
    program = window(f"if self.count % 500 == 0:\n            self.program_rows = torch.zeros(1, 4)\n        {JOINED}")
    assert structure_in(program, tmp_path)["kind"] == "reset"


def test_a_cut_under_a_test_that_is_not_understood_may_bound_it(tmp_path: Path) -> None:
    program = window(f"{JOINED}\n        if row.mean() > 9:\n            self.program_rows = self.program_rows[-9:]")
    assert structure_in(program, tmp_path)["kind"] == "conditional"


@pytest.mark.parametrize(
    "update",
    [
        f"{JOINED}\n        best = self.program_rows.sum(1).topk(min(9, self.count)).indices\n"
        "        self.program_rows = self.program_rows[best]",
        f"joined = {JOINED.partition(' = ')[2]}\n        self.program_rows = joined[joined.sum(1) > 0]",
        f"{JOINED}\n        self.program_rows = self.program_rows.narrow(0, 0, len(self.program_rows)).clone()",
    ],
    ids=["by numbers", "by a mask", "by narrow"],
)
def test_a_selection_of_rows_may_bound_it(update: str, tmp_path: Path) -> None:
    assert structure_in(window(update), tmp_path)["kind"] == "conditional"


@pytest.mark.parametrize("read", ["self.program_rows[0]", "self.program_rows[-1:]", "row[row.sum(1) > 0]"])
def test_a_selection_beside_it_does_not(read: str, tmp_path: Path) -> None:
    assert structure_in(window(f"{JOINED}\n        newest = {read}"), tmp_path)["kind"] == "unknown"


HANDED_BACK = """
import torch

def program_decode(cache, window, other):
    keys, values = torch.ones(1, 4), torch.ones(1, 4)
    if cache is not None:
        keys, values = torch.cat([cache[0], keys]), torch.cat([cache[1], values])
    CUT
    return keys, values

def program_main():
    caches = [None]
    for i in range(10_000):
        caches[0] = program_decode(caches[0], 1200, torch.ones(9, 9))
        program_tensor(caches[0][0])
        program_step()

program_main()
"""


def program_line(program: str, text: str) -> int:
    return next(number for number, line in enumerate(program.splitlines(), 1) if text in line)


@pytest.mark.parametrize(
    ("cut", "kind"),
    [
        ("keys, values = keys[-1200:], values[-1200:]", "bounded"),
        ("keys, values = keys[-window:], values[-window:]", "bounded"),
        ("keys, values = keys[-int(other.sum()) :], values[-9:]", "conditional"),
        # It has outgrown that, or something else is cut, or all but the first row are left.
        ("last = keys[-3:]", "bounded_places"),
        ("other = other[-3:]", "bounded_places"),
        ("keys = keys[1:]", "bounded_places"),
    ],
)
def test_buffer_that_a_call_hands_back_is_cut_where_it_is_made(cut: str, kind: str, tmp_path: Path) -> None:
    program = HANDED_BACK.replace("CUT", cut)
    line = program_line(program, "torch.cat")
    holders = found_in(program, tmp_path, frozenset({line}))["holders"]
    structure = next(holder for holder in holders if holder["held"] >= 0)["structure"]
    is_of_places = structure["kind"] == "bounded" and structure["bound"] == 1
    assert ("bounded_places" if is_of_places else structure["kind"]) == kind
