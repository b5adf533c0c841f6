# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that `functools.partial` passes in each call; and near misses."""

from __future__ import annotations

from structure_programs import Case

_CALLED = """
import functools
class Store:
    def __init__(self): self.kept, self.count = [], 0
    def add(self, kept): kept.append([1])
    def end(self):
        self.count += 1
        if self.count % 900 == 0: self.kept.clear()
store = Store()
def make(): return store.kept[:]
def add(kept, most=5):
    kept.append([1])
def trim(kept, most=5):
    kept.append([1])
    if len(kept) > most: kept.pop(0)
call = functools.partial({passed})
def step():
    call()
    store.end()
"""

PASSED_ON = [
    Case(f"partial({passed})", _CALLED.format(passed=passed), what, kind, bound, line)
    for passed, what, kind, bound, line in [
        ("add, kept=[]", "call.keywords['kept']", "unbounded", -1, ""),
        ("add, []", "call.args[0]", "unbounded", -1, ""),
        ("store.add, []", "call.args[0]", "unbounded", -1, ""),
        ("trim, kept=[]", "call.keywords['kept']", "bounded", 5, "if len(kept) > most"),
        ("add, make()", "call.args[0]", "unknown", -1, ""),
        ("add, kept=store.kept", "call.keywords['kept']", "reset", -1, "self.kept.clear()"),
    ]
]


def _asking(parameter: str, test: str, step: str) -> str:
    return f"kept = []\ndef add(x, {parameter}):\n    if {test}: kept.append([x])\n{step}\n"


# What a test of a parameter says by what all calls pass.
TESTED = [
    Case(f"{parameter}; {test}; {step}", _asking(parameter, test, step), "kept", kind, -1, line)
    for parameter, test, step, kind, line in [
        ("record=True", "record", "def step(): add(1)", "unbounded", ""),
        ("record=False", "record", "def step(): add(1); add(2, record=True)", "unbounded", ""),
        ("skip=True", "not skip", "def step(): add(1, False)", "unbounded", ""),
        ("log=None", "log is not None", "log = []\ndef step(): add(1, log)", "unbounded", ""),
        ("record=True", "record", "def step(): add(1, len(kept) < 900)", "conditional", "len(kept) < 900"),
        ("log=None", "log is not None", "def step(): add(1, [] if len(kept) < 900 else None)", "conditional", "900"),
        ("record=False", "record", "def step(): add(1)", "unknown", ""),
        ("record=True", "record", "on = True\ndef step(): add(1, on)", "unknown", ""),
        ("record=True", "record", "def step(): add(*[1])", "unknown", ""),
        ("record=True", "record", "adding = [add]\ndef step(): adding[0](1); add(2)", "unknown", ""),
        ("record=True", "record", "def step(): add(1)\ndef once(): add(2, **{})", "unknown", ""),
    ]
]
