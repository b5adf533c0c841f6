# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Chains and tuples that each step makes longer, and what may end them; and near misses that do not."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

from structure_programs import Case

_BACKWARDS = """
class Node:
    def __init__(self, item, before=None):
        self.item, self.before = item, before
        self.length = before.length + 1 if before else 0
best = Node([0])
def step():
    global best
    best = Node([1], best)
    {more}
"""
_FORWARDS = """
class Node:
    def __init__(self, item): self.item, self.next = item, None
class Chain:
    def __init__(self):
        self.head = self.tail = Node([0])
        self.length = 0
    def push(self, item):
        self.tail.next = Node(item)
        self.tail = self.tail.next
        self.length += 1
        {more}
chain = Chain()
def step(): chain.push([1])
"""
_FROZEN = """
from dataclasses import dataclass, replace
@dataclass(frozen=True)
class State:
    history: tuple = ()
    rate: float = 0.1
    def after(self, item): return replace(self, history=self.history + (item,))
    def next_epoch(self): return replace(self, {kept})
state = State()
def step():
    global state
    state = state.after([1])
    if len(state.history) > 400: state = state.next_epoch()
"""
_TUPLE = """
rows = ()
def step():
    global rows
    rows = {made}
    {more}
"""

_NEWEST, _OLDEST = "best.before.before.item", "chain.tail.item"
RENEWED = [
    Case(
        "chain that begins anew",
        _BACKWARDS.format(more="if best.length > 400: best = Node([0])"),
        _NEWEST,
        "conditional",
        line="best = Node([0])",
    ),
    Case("chain that goes on", _BACKWARDS.format(more="print(best.length > 400)"), _NEWEST, "unknown"),
    Case(
        "chain that goes on by a second line",
        _BACKWARDS.format(more="if best.length > 400: best = Node([0], best)"),
        _NEWEST,
        "unknown",
    ),
    Case(
        "chain whose old links are cut off",
        _BACKWARDS.format(more="node = best.before.before\n    if node: node.before = None").replace(
            "best = Node([0])", "best = Node([0], Node([0]))", 1
        ),
        _NEWEST,
        "conditional",
        line="if node: node.before = None",
    ),
    Case(
        "chain whose links are asked for",
        _BACKWARDS.format(more="node = best.before\n    while node.before is not None: node = node.before"),
        _NEWEST,
        "unknown",
    ),
    Case(
        "chain whose first links are passed over",
        _FORWARDS.format(more="if self.length > 400: self.head = self.head.next"),
        _OLDEST,
        "conditional",
        line="self.head = self.head.next",
    ),
    Case("chain that has its tail moved on", _FORWARDS.format(more="self.head = self.head"), _OLDEST, "unknown"),
    Case(
        "tuple of what is replaced without it",
        _FROZEN.format(kept="history=()"),
        "state.history[-1]",
        "conditional",
        line="state = state.next_epoch()",
    ),
    Case(
        "tuple of what a function replaces without it",
        _FROZEN.format(kept="history=()").replace(
            "    state = state.after([1])\n    if len(state.history) > 400: state = state.next_epoch()",
            "    state = advance(state)\ndef advance(old):\n    new = old.after([1])\n    return new.next_epoch() if new.rate > 1 else new",
        ),
        "state.history[-1]",
        "conditional",
        line="history=()",
    ),
    Case("tuple of what is replaced with it", _FROZEN.format(kept="rate=0.01"), "state.history[-1]", "unknown"),
    Case(
        "tuple that is cut",
        _TUPLE.format(made="(*rows, [1])[-400:]", more=""),
        "rows[-1]",
        "conditional",
        line="[-400:]",
    ),
    Case(
        "tuple that is made empty",
        _TUPLE.format(made="(*rows, [1])", more="if len(rows) > 400: rows = ()"),
        "rows[-1]",
        "conditional",
        line="rows = ()",
    ),
    Case(
        "tuple that is cut once it is long",
        _TUPLE.format(made="(*(rows[1:] if len(rows) >= 400 else rows), [1])", more=""),
        "rows[-1]",
        "conditional",
        line="if len(rows) >= 400",
    ),
    Case(
        "tuple that is unpacked once it is long",
        _TUPLE.format(
            made="rows", more="_, *rest = (None, *rows) if len(rows) < 400 else rows\n    rows = (*rest, [1])"
        ),
        "rows[-1]",
        "conditional",
        line="if len(rows) < 400",
    ),
    Case(
        "tuple whose length is shown where it is long",
        _TUPLE.format(made="(*rows, [1])", more="print('long' if len(rows) > 400 else 'short')"),
        "rows[-1]",
        "unknown",
    ),
    Case("tuple that goes on", _TUPLE.format(made="(*rows, [1])", more="print(len(rows))"), "rows[-1]", "unknown"),
]
