# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that got out of sight, which a line may empty that does not name them; and near misses."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

from structure_programs import Case

_SCOPED = """
class Scope:
    def __init__(self, *parts): self.parts, self.others = parts, []
    def close(self):
        {close}
class Keeper:
    def __init__(self):
        self.kept, self.count = [], 0
        self.scope = Scope(self.kept)
keeper = Keeper()
def step():
    keeper.count += 1
    keeper.kept.append([1])
    if keeper.count % 400 == 0: keeper.scope.close()
"""

_HANDED = """
class Part:
    def __init__(self, part):
        self.part = part
        self.other = []
class Scope(Part):
    def close(self):
        {close}
class Base:
    def __init__(self): self.kept, self.count = [], 0
class Keeper(Base):
    def close(self): self.scope.close()
keeper = Keeper()
keeper.scope = Scope(keeper.kept)
def step():
    keeper.count += 1
    keeper.kept.append([1])
    if keeper.count % 400 == 0: keeper.close()
"""

_REGISTERED = """
from functools import singledispatch
import atexit
class Ended: pass
kept, count = [], 0
@singledispatch
def handle(event): pass
@{register}
def ended({parameter}): kept.clear()
def step():
    global count
    count += 1
    kept.append([1])
    if count % 400 == 0: handle(Ended())
"""

_MAPPED = """
import collections, itertools
from operator import methodcaller
class Keeper:
    def __init__(self):
        self.kinds, self.beats = {{"kept": []}}, itertools.cycle([False] * 400 + [True])
    def empty(self):
        {empty}
keeper = Keeper()
{more}
def rows(part): part.clear()
def step():
    keeper.kinds["kept"].append([1])
    if next(keeper.beats): keeper.empty()
"""

_EACH = """
def each(action):
    collections.deque(map(action, keeper.kinds.values()), maxlen=0)
"""

_WRAPPED = """
from collections import UserDict, UserList
import itertools
class Limited({base}):
    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        {trim}
    def oldest(self): return next(iter(self))
class Keeper:
    def __init__(self): self.kept, self.keys = Limited(), itertools.count()
keeper = Keeper()
def step():
    {fill}
"""

_GENERATED = """
class Keeper:
    def __init__(self):
        self.kept = []
        self.steps = self.loop()
        {more}
    def loop(self):
        while True:
            for _ in range(400): yield
            self.empty()
    def empty(self): self.kept.clear()
keeper = Keeper()
def step():
    keeper.kept.append([1])
    {call}
"""

_TRIED = """
class Reservoir:
    def __init__(self): self.kept, self.seen = [], 0
    def add(self, x):
        self.seen += 1
        try:
            {put}
        except IndexError:
            self.kept.append(x)
    def place(self): return min(self.seen, 700) - 1
reservoir = Reservoir()
def step(): reservoir.add([1])
"""

ANY_REMOVALS = [
    *(
        Case(name, _HANDED.format(close=close), "keeper.kept", kind, line=line)
        for name, close, kind, line in (
            ("list that another object has under another name", "self.part.clear()", "reset", "self.part.clear()"),
            ("list that another object cuts", "del self.part[:]", "reset", "del self.part[:]"),
            ("list that another object pops", "while self.part: self.part.pop()", "reset", "self.part.pop()"),
            ("list that another object reads", "self.other = list(self.part)", "unbounded", ""),
            ("list of another object beside it", "self.other.clear()", "unbounded", ""),
        )
    ),
    *(
        Case(name, _REGISTERED.format(register=register, parameter=parameter), "kept", kind, line=line)
        for name, register, parameter, kind, line in (
            ("handler of a type that is registered", "handle.register", "event: Ended", "reset", "kept.clear()"),
            ("handler of a type that is named", "handle.register(Ended)", "event", "reset", "kept.clear()"),
            ("function that is registered for the end", "atexit.register", "", "unbounded", ""),
        )
    ),
    *(
        Case(name, _SCOPED.format(close=close), "keeper.kept", kind, line=line)
        for name, close, kind, line in (
            ("parts of a scope that it empties", "for part in self.parts: part.clear()", "conditional", "part.clear()"),
            ("parts that it cuts", "for part in self.parts: del part[:]", "conditional", "del part[:]"),
            ("parts that it multiplies", "for part in self.parts: part *= 0", "conditional", "part *= 0"),
            ("parts that it empties by number", "self.parts[0].clear()", "conditional", "self.parts[0].clear()"),
            ("parts of a scope that empties another list", "self.others.clear()", "unknown", ""),
            ("parts that it goes through", "for part in self.parts: part.count(1)", "unknown", ""),
            ("parts with one that it makes", "rows = list(self.parts); rows.clear()", "unknown", ""),
        )
    ),
    *(
        Case(
            name,
            _MAPPED.format(empty=empty, more=_EACH if "each" in empty else ""),
            'keeper.kinds["kept"]',
            kind,
            line=line,
        )
        for name, empty, kind, line in (
            ("method that is called on each", 'each(methodcaller("clear"))', "conditional", 'methodcaller("clear")'),
            ("method of the class that is mapped", "list(map(list.clear, self.kinds.values()))", "reset", "list.clear"),
            ("function that is mapped", "list(map(rows, self.kinds.values()))", "reset", "part.clear()"),
            (
                "lambda that is mapped",
                "list(map(lambda part: part.clear(), self.kinds.values()))",
                "reset",
                "part.clear()",
            ),
            ("reading that is mapped", "list(map(len, self.kinds.values()))", "unbounded", ""),
        )
    ),
    Case(
        "method of the class that is called with it",
        "kept, count = [], 0\ndef step():\n    global count\n    count += 1\n    kept.append([1])\n    if count % 400 == 0: list.clear(kept)\n",
        "kept",
        "reset",
        line="list.clear(kept)",
    ),
    *(
        Case(name, _WRAPPED.format(base=base, trim=trim, fill=fill), "keeper.kept.data", kind, bound, line)
        for name, base, trim, fill, kind, bound, line in (
            (
                "wrapped dict that is trimmed",
                "UserDict",
                "while len(self) > 500: self.pop(self.oldest())",
                "keeper.kept[next(keeper.keys)] = [1]",
                "bounded",
                500,
                "while len(self) > 500",
            ),
            ("wrapped dict", "UserDict", "pass", "keeper.kept[next(keeper.keys)] = [1]", "keyed", -1, ""),
            (
                "wrapped dict whose data is used",
                "UserDict",
                "if next(iter(self.data)) < 0: self.data = {}",
                "keeper.kept[next(keeper.keys)] = [1]",
                "reset",
                -1,
                "self.data = {}",
            ),
            ("wrapped list", "UserList", "pass", "keeper.kept.append([1])", "unbounded", -1, ""),
        )
    ),
    *(
        Case(name, _GENERATED.format(more=more, call=call), "keeper.kept", kind, line=line)
        for name, more, call, kind, line in (
            (
                "generator made in the set-up that empties it",
                "pass",
                "next(keeper.steps)",
                "reset",
                "self.kept.clear()",
            ),
            (
                "generator that is gone through in the set-up",
                "self.steps = list(zip(range(9), self.loop()))",
                "pass",
                "reset",
                "self.kept.clear()",
            ),
        )
    ),
    *(
        Case(name, _TRIED.format(put=put), "reservoir.kept", kind, line=line)
        for name, put, kind, line in (
            ("place that is taken first", "self.kept[self.place()] = x", "conditional", "self.kept.append(x)"),
            ("error on the way", "raise IndexError(self.place())", "unbounded", ""),
        )
    ),
]

_LATER = """
import atexit, functools
kept, other, count = [], [], 0
@SETUP
def step():
    global count
    count += 1
    kept.append([1])
    @STEP
"""


def _later(set_up: str, step: str) -> str:
    return _LATER.replace("@SETUP", set_up).replace("@STEP", step)


HANDED_ON = [
    Case(f"{set_up}: {step}", _later(set_up, step), "kept", kind, line=line)
    for set_up, step, kind, line in [
        ("flush = kept.clear", "if count % 400 == 0: flush()", "conditional", "flush = kept.clear"),
        ("flush = functools.partial(kept.clear)", "if count % 400 == 0: flush()", "conditional", "partial(kept.clear)"),
        ("flush = other.clear", "if count % 400 == 0: flush()", "unbounded", ""),
        ("atexit.register(kept.clear)", "pass", "unknown", ""),
    ]
]
