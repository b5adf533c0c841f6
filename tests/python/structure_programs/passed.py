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
