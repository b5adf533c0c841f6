# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that are asked before they are filled."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

from structure_programs import Case, jobs, keeper, method, registering

ASK = "def add(self, x):\n    self.count += 1\n    key = self.count % 7, self.count % 900\n    "


def counting(key: str, init: str = "", later: str = "") -> str:
    """A program that counts its steps, and keeps something by `key`."""
    body = ["self.count += 1", *later.splitlines(), f"self.kept[{key}] = x"]
    return keeper("def add(self, x):\n" + "\n".join(f"    {line}" for line in body), f"self.kept = {{}}\n{init}")


KEYED = [
    Case(
        "keys by the number of another's entries",
        counting("len(self.others)", "self.others = [1, 2]"),
        "keeper.kept",
        "keyed",
        -1,
        "len(self.others)",
    ),
    Case(
        "dict asked by in",
        keeper(
            "def add(self, x):\n    if x not in self.kept:\n        self.kept[x] = [x]",
            "self.kept = {}",
            "keeper.add(round(time.time(), 9))",
        ),
        "keeper.kept",
        "keyed",
        -1,
        "not in self.kept",
    ),
    Case(
        "dict asked by get",
        keeper(ASK + "if self.kept.get(key) is None:\n        self.kept[key] = [x]", "self.kept = {}"),
        "keeper.kept",
        "keyed",
        -1,
        "get(key)",
    ),
    Case(
        "setdefault",
        keeper(ASK + "self.kept.setdefault(key, []).append(x)", "self.kept = {}"),
        "keeper.kept",
        "keyed",
        -1,
        "setdefault",
    ),
    Case(
        "defaultdict",
        keeper(ASK + "self.kept[key].append(x)", "self.kept = collections.defaultdict(list)"),
        "keeper.kept",
        "keyed",
        -1,
        "self.kept[key]",
    ),
    Case(
        "missing",
        "class Cache(dict):\n    def __missing__(self, key):\n        self[key] = value = [key]\n        return value\ncache = Cache()\nn = 0\ndef step():\n    global n\n    n += 1\n    cache[n]\n",
        "cache",
        "keyed",
        -1,
        "cache[n]",
    ),
    Case(
        "seen set",
        keeper(
            "def add(self, x):\n    if x in self.kept:\n        return\n    self.kept.add(x)",
            "self.kept = set()",
            "keeper.add((round(time.time(), 9),))",
        ),
        "keeper.kept",
        "keyed",
        -1,
        "in self.kept",
    ),
    Case(
        "list that is asked",
        keeper(
            "def add(self, x):\n    if x not in self.kept:\n        self.kept.append(x)", step="keeper.add(time.time())"
        ),
        "keeper.kept",
        "keyed",
        -1,
        "not in self.kept",
    ),
    Case(
        "keyed by an index",
        keeper(
            "def __getitem__(self, index):\n    self.kept[index] = [index]\n    return self.kept[index]",
            "self.kept = {}",
            "keeper.count += 1\nkeeper[keeper.count]",
        ),
        "keeper.kept",
        "keyed",
        -1,
        "self.kept[index]",
    ),
    Case(
        "set of what need not be new",
        keeper("def add(self, x): self.kept.add(x)", "self.kept = set()", "keeper.add((time.time(),))").replace(
            "time.time(),", "round(time.time(), 9),"
        ),
        "keeper.kept",
        "keyed",
        -1,
        "self.kept.add",
    ),
    Case(
        "try and KeyError",
        keeper(
            ASK + "try:\n        return self.kept[key]\n    except KeyError:\n        self.kept[key] = [x]",
            "self.kept = {}",
        ),
        "keeper.kept",
        "keyed",
        -1,
        "self.kept[key]",
    ),
    Case(
        "counter that begins again",
        keeper(
            "def add(self, x):\n    self.count += 1\n    self.kept[self.count] = [x]"
            + method("reset", "self.count = 0"),
            "self.kept = {}",
        ),
        "keeper.kept",
        "keyed",
        -1,
        "self.kept[self.count]",
    ),
    *(
        Case(name, counting(key, init, later), "keeper.kept", "keyed", line="self.kept[")
        for name, key, init, later in [
            ("counter divided by what grows", "self.count // self.most", "self.most = 1", "self.most += 1"),
            ("counter divided by what each call passes", "self.count // x[0]", "", ""),
            ("counter multiplied by what may be nothing", "self.count * self.scale", "self.scale = 1", ""),
            ("counter that another one is taken from", "self.count - self.other", "self.other = 0", "self.other += 1"),
            ("length divided", "len(self.kept) // 2", "", ""),
            ("length divided, under other names", "half", "", "length = len(self.kept)\nhalf = length // 2"),
            ("length up to a number", "min(len(self.kept), 150)", "", ""),
            ("length up to a number, under a name", "index", "", "index = min(len(self.kept), self.capacity - 1)"),
            ("length that goes round, under a name", "index", "", "index = len(self.kept) % self.capacity"),
        ]
    ),
    Case(
        "length up to a number, which a function returns",
        keeper(
            "def add(self, x): self.kept[self.end()] = x" + method("end", "return min(len(self.kept), self.capacity)"),
            "self.kept = {}",
        ),
        "keeper.kept",
        "keyed",
        line="self.kept[self.end()]",
    ),
    *(
        Case(name, jobs(**parts), "service.kept", "keyed", line="self.kept[job.number] = job")
        for name, parts in [
            ("number of a job that is asked for again", {"made": "job = self.last or Job(next(self.numbers))"}),
            ("number of a job that is made now and then", {"made": "if x: job = Job(next(self.numbers))"}),
            ("number of one job", {"made": "job = Job(next(self.numbers))\n        while True:", "end": "break"}),
            ("number of a job that gets another one", {"later": "self.last.number = 1"}),
            ("number of a job that computes it", {"number": "number % 900"}),
            ("number of a job whose maker changes it", {"number": "number", "init": "number %= 900"}),
            ("number of a job that repeats", {"made": "job = Job(next(self.numbers) % 900)"}),
            ("number of a job of which there is one", {"decorated": "@one_of"}),
            (
                "number of a job, a property",
                {"number": "number", "more": "number = property(lambda self: 1, lambda self, value: None)"},
            ),
            ("number of a job that a base gives it", {"base": "(Base)"}),
        ]
    ),
    *(
        Case(name, registering(**parts), "kept", "keyed", line="kept[self.number")
        for name, parts in [
            ("number that its object was given twice", {"before": "self.number = self.number % 900"}),
            ("number that its object counts on", {"after": "self.number += 1"}),
        ]
    ),
]
