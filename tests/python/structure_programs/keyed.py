# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that are asked before they are filled."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

from structure_programs import Case, keeper, method

ASK = "def add(self, x):\n    self.count += 1\n    key = self.count % 7, self.count // 2\n    "

KEYED = [
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
    Case(
        "counter divided",
        keeper("def add(self, x):\n    self.count += 1\n    self.kept[self.count // 2] = [x]", "self.kept = {}"),
        "keeper.kept",
        "keyed",
        -1,
        "// 2",
    ),
]
