# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Lists that are filled out of something that is used up some day, and near misses."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

import textwrap

from structure_programs import Case

_SOURCE = """
import collections, contextlib, itertools, queue
kept, count = [], 0
class Pool:
    def __init__(self): self.left = [[1]] * 900
    def __len__(self): return len(self.left)
    def take(self): return self.left.pop()
    def give(self, row): self.left.append(row)
def rows():
    while True: yield [1]
source = {source}
def step():
    global count, source
    count += 1
{body}
"""
_ROWS, _LIST = "iter([[i] for i in range(900)])", "[[i] for i in range(900)]"


def _filled(body: str, source: str = _ROWS) -> str:
    return _SOURCE.format(source=source, body=textwrap.indent(textwrap.dedent(body), "    "))


_NEXT = "try: row = next(source)\nexcept StopIteration: return\nkept.append(row)"
_WITHIN = "try: kept.append(next(source))\nexcept StopIteration: pass"

_POOL = """
import collections
class Slot:
    def __init__(self): self.is_free = False
class Pool:
    def __init__(self): self.slots, self.others = [], [Slot()]
    def find(self):
        for slot in self.slots:
            if slot.is_free: return slot
    def get(self):
        {get}
pool, held = Pool(), collections.deque()
def step():
    slot = pool.get()
    slot.is_free = False
    held.append(slot)
    if len(held) > 900: held.popleft().is_free = True
"""


def _pool(get: str) -> str:
    return _POOL.format(get=textwrap.indent(get, " " * 8).strip())


_NEW = "slot = Slot()\nself.slots.append(slot)\nreturn slot"

POOLS = [
    *(
        Case(f"a pool, {name}", _pool(get), "pool.slots", "conditional", line="is_free" if "find" not in get else "slot is None")
        for name, get in [
            ("after a loop that returns one", f"for slot in self.slots:\n    if slot.is_free: return slot\n{_NEW}"),
            ("in the else of a loop that breaks", "for slot in self.slots:\n    if slot.is_free: break\nelse:\n    slot = Slot()\n    self.slots.append(slot)\nreturn slot"),
            ("where another method finds none", "slot = self.find()\nif slot is None:\n    slot = Slot()\n    self.slots.append(slot)\nreturn slot"),
        ]
    ),
    Case("a pool, after a loop that only looks", _pool(f"for slot in self.slots:\n    if slot.is_free: print(slot)\n{_NEW}"), "pool.slots", "unbounded"),
    Case("a pool, after a loop over others that returns", _pool(f"for slot in self.others:\n    if slot.is_free: return slot\n{_NEW}"), "pool.slots", "unknown"),
]  # fmt: skip

USED_UP = [
    *(
        Case(f"filled out of {name}", source, "kept", "conditional", line=line)
        for name, source, line in [
            ("an iterator", _filled(_NEXT), "next(source)"),
            ("an iterator that is asked on the spot", _filled(_WITHIN), "next(source)"),
            ("an iterator, suppressing its end", _filled("with contextlib.suppress(StopIteration):\n    kept.append(next(source))"), "next"),
            ("an iterator with a default", _filled("row = next(source, None)\nif row is not None: kept.append(row)"), "is not None"),
            ("rows by a count", _filled("try: kept.append(source[count])\nexcept IndexError: pass", _LIST), "source[count]"),
            ("rows up to the last", _filled("if count < len(source): kept.append(source[count])", _LIST), "len(source)"),
            ("a list", _filled("if source: kept.append(source.pop())", _LIST), "if source"),
            ("a deque that has some", _filled("if len(source) > 0: kept.append(source.popleft())", "collections.deque([[1]] * 900)"), "len("),
            ("keys that are missing", _filled("if count in source:\n    source.discard(count)\n    kept.append([1])", "set(range(900))"), "in source"),
            ("a queue that a loop has filled", _filled("try: kept.append(source.get_nowait())\nexcept queue.Empty: return", "queue.Queue()\nfor i in range(900): source.put([i])"), "get_nowait"),
            ("a queue that a function has filled", _filled("try: kept.append(source.get_nowait())\nexcept queue.Empty: return", "queue.Queue()\ndef begin():\n    for i in range(900): source.put([i])\nbegin()"), "get_nowait"),
            ("the shorter of two iterators", _filled("for row in source:\n    kept.append(row)\n    break", "zip([[1]] * 900, itertools.count())"), "for row in source"),
            ("a generator expression", _filled("for row in source:\n    kept.append(row)\n    break", "([i] for i in range(900))"), "for row in source"),
            ("the first of an endless one", _filled("for row in source:\n    kept.append(row)\n    break", "itertools.islice(rows(), 900)"), "for row in source"),
            ("a list that is cut", _filled("head, source = source[:1], source[1:]\nkept.extend(head)", _LIST), "source[1:]"),
            ("each of a list that is cut", _filled("head, source = source[:1], source[1:]\nkept.extend([row] for row in head)", _LIST), "source[1:]"),
            ("a part of a list that is cut", _filled("kept.extend(source[:1])\nsource = source[1:]", _LIST), "source[:1]"),
            ("an object that has some", _filled("if source: kept.append(source.take())", "Pool()"), "if source"),
            ("an object of some length", _filled("if len(source) > 0: kept.append(source.take())", "Pool()"), "len(source)"),
        ]
    ),
    *(
        Case(f"filled out of {name}", source, "kept", kind)
        for name, source, kind in [
            ("an iterator that is made anew", _filled("global source\ntry: row = next(source)\nexcept StopIteration:\n    source = iter([[1]])\n    row = next(source)\nkept.append(row)".replace("global source\n", "")), "unbounded"),
            ("an endless iterator", _filled(_NEXT, "itertools.cycle([[1]])"), "unbounded"),
            ("an endless generator", _filled(_NEXT, "rows()"), "unbounded"),
            ("an iterator whose end ends the steps", _filled("kept.append(next(source))"), "unbounded"),
            ("a queue that is filled again", _filled("source.put([1])\ntry: kept.append(source.get_nowait())\nexcept queue.Empty: return", "queue.Queue()\nfor i in range(900): source.put([i])"), "unbounded"),
            ("two endless iterators", _filled("for row in source:\n    kept.append(row)\n    break", "zip(itertools.count(), itertools.count())"), "unbounded"),
            ("an expression over an endless one", _filled("for row in source:\n    kept.append(row)\n    break", "(row for row in rows())"), "unbounded"),
            ("a list that is cut and filled", _filled("head, source = source[:1], source[1:]\nsource.append([1])\nkept.extend(head)", _LIST), "unbounded"),
            ("a list that is filled again", _filled("source.append([1])\ntry: kept.append(source.pop())\nexcept IndexError: pass", _LIST), "unbounded"),
            ("a list that others fill", _filled("source.append([1])\nif source: kept.append(source.pop())", _LIST), "unknown"),
            ("an object that gets more", _filled("source.give([1])\nif source: kept.append(source.take())", "Pool()"), "unknown"),
            ("rows of which one stays", _filled("try: kept.append(source[0][:])\nexcept IndexError: pass", _LIST), "unbounded"),
        ]
    ),
]  # fmt: skip
