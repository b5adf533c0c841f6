# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers in a table that is trimmed by names that are written out, theirs or not."""

from __future__ import annotations

from structure_programs import Case

_TABLE = """
FIELDS = ("loss", "lr")
class Table:
    def __init__(self):
        self.columns = {{"loss": [], "lr": [], "norm": []}}
        self.loss, self.lr, self.norm = [], [], []
    def add(self, x):
        for name in self.columns: self.columns[name].append(x)
        self.norm.append(x)
        if len(self.columns["loss"]) > 3: self.trim(("norm", "lr"))
    def trim(self, given):
        for {over}: {trimmed}
table = Table()
def step(): table.add([1])
"""
_COLUMN = "del self.columns[name][:-3]"
_ATTRIBUTE = "getattr(self, name).clear()"


def _case(over: str, kind: str, trimmed: str = _COLUMN) -> Case:
    what = "table.norm" if trimmed is _ATTRIBUTE else "table.columns['norm']"
    source = _TABLE.format(over=over, trimmed=trimmed)
    line, bound = "" if kind == "unbounded" else trimmed, 3 if kind == "bounded" else -1
    return Case(f"trimmed for {over}: {trimmed}", source, what, kind, bound, line)


LITERALS = [
    _case('name in ("loss", "lr", "lr")', "unbounded"),
    _case('name in ("loss", "norm")', "bounded"),
    _case("name in FIELDS", "unbounded"),
    _case("name in given", "bounded"),
    _case('name, kept in (("loss", 3), ("lr", 3))', "unbounded"),
    _case('name, kept in (("loss", 3), ("norm", 3))', "bounded"),
    _case('name, kept in {"loss": 3, "lr": 3}.items()', "unbounded"),
    _case('name, kept in {"norm": 3, **{}}.items()', "bounded"),
    _case('name in ("loss", "lr")', "unbounded", _ATTRIBUTE),
    _case('name in ("loss", "norm")', "reset", _ATTRIBUTE),
]
