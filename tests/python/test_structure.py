# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What bounds a container: small programs, each with near misses beside it.

A program is run for some steps like a user's; `what` names the container as the program would.
"""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

import importlib.util
import itertools
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from stepleak._core import frame_locals
from stepleak._graph import Graph
from stepleak._paths import End, Paths
from stepleak._structure import Structure, judged
from stepleak._user_code import UserCode

STEPS = 6
_numbers = itertools.count()


class Case(NamedTuple):
    """One program. `kind`, `bound` and a part of `line`: what is expected of the container `what`."""

    name: str
    source: str
    what: str
    kind: str
    bound: int = -1
    line: str = ""
    other: str = ""
    """A second module, which the program imports as `other`."""


TASKS = """
import asyncio
background = set()
async def report():
    pass
async def train():
    task = asyncio.create_task(report())
    background.add(task)
    DROPPED
    await task
def step():
    asyncio.run(train())
"""


def in_context(step: str, first: str = "var.set([])") -> str:
    """A program whose container is the value of a context variable."""
    return (
        f"import contextvars\nvar = contextvars.ContextVar('var', default=None)\n{first}\ndef step():\n"
        + textwrap.indent(textwrap.dedent(step), "    ")
    )


def owned(following: str) -> str:
    """A program whose list is in an object of an epoch, and another object follows it."""
    return f"""
class Epoch:
    def __init__(self, number, before=None):
        self.number = number
        self.before = before
        self.kept = []
    def following(self): return self
class Keeper:
    def __init__(self): self.epoch, self.count = Epoch(0), 0
    def add(self, x):
        self.count += 1
        if self.count % 400 == 0: self.finish()
        self.epoch.kept.append(x)
    def finish(self): self.epoch = {following}
keeper = Keeper()
def step(): keeper.add([1])
"""


def keeper(methods: str, init: str = "self.kept = []", step: str = "keeper.add([1])", after: str = "") -> str:
    """A program with a class that keeps things, one a step."""
    return "\n".join(
        [
            "import atexit, collections, functools, heapq, itertools, queue, time, uuid, weakref",
            "CAPACITY = 100",
            "class Keeper:",
            "    def __init__(self, capacity=40):",
            "        self.capacity = capacity",
            "        self.count = 0",
            textwrap.indent(textwrap.dedent(init), " " * 8),
            textwrap.indent(textwrap.dedent(methods), " " * 4),
            "keeper = Keeper()",
            textwrap.dedent(after),
            "def step():",
            textwrap.indent(textwrap.dedent(step), " " * 4),
        ]
    )


def appending(more: str = "", before: str = "") -> str:
    """`add` with lines after, and before, the line that appends."""
    lines = ["def add(self, item):", *before.splitlines(), "self.kept.append(item)", *more.splitlines()]
    return "\n".join([lines[0], *("    " + line for line in lines[1:])])


def method(name: str, body: str) -> str:
    return f"\ndef {name}(self):\n" + textwrap.indent(body, "    ")


ORDERED = "self.kept = collections.OrderedDict()"
BOUNDED_BY_TYPE = [
    Case(
        "deque with maxlen",
        keeper(appending(), "self.kept = collections.deque(maxlen=50)"),
        "keeper.kept",
        "bounded",
        50,
    ),
    Case("deque without", keeper(appending(), "self.kept = collections.deque()"), "keeper.kept", "unbounded"),
    Case(
        "queue with maxsize",
        keeper("def add(self, x): self.q.put(x)", "self.q = queue.Queue(maxsize=30)"),
        "keeper.q.queue",
        "bounded",
        30,
    ),
    Case(
        "weak values",
        keeper(
            "def add(self, x):\n    self.all.append(x)\n    self.kept[len(self.all)] = x",
            "self.kept = weakref.WeakValueDictionary(); self.all = []",
            "keeper.add(Keeper())",
        ).replace("keeper = Keeper()", "keeper = Keeper()", 1),
        "keeper.kept.data",
        "unknown",
    ),
]

PUT = "def add(self, x): self.q.put(x)"
TAKING = [
    ("that nobody takes from", PUT, "", "unbounded"),
    ("whose length is logged", PUT + method("log", "print(self.q.qsize())"), "", "unbounded"),
    ("put into without waiting", "def add(self, x): self.q.put_nowait(x)", "", "unbounded"),
    ("that is taken from", PUT + method("work", "self.q.get()"), "", "unknown"),
    ("that is taken from without waiting", PUT + method("work", "self.q.get_nowait()"), "", "unknown"),
    ("whose taking is handed on", PUT + method("work", "return iter(self.q.get, None)"), "", "unknown"),
    ("whose own container is emptied", PUT + method("drop", "self.q.queue.clear()"), "", "unknown"),
    ("that is handed on", PUT, "import threading; threading.Thread(target=print, args=(keeper.q,))", "unknown"),
    ("that has a limit in the sources", "def add(self, x):\n    if self.q.qsize() < 40: self.q.put(x)", "", "bounded"),
]
QUEUES = [
    Case(
        f"{made} {name}",
        keeper(methods, f"self.q = {made}()", after=after),
        f"keeper.{inside}",
        kind,
        40 if kind == "bounded" else -1,
        "self.q.put" if kind == "bounded" else "",
    )
    for made, inside in (("queue.Queue", "q.queue"), ("queue.PriorityQueue", "q.queue"), ("queue.LifoQueue", "q.queue"))
    for name, methods, after, kind in TAKING
]

BOUNDED_BY_SOURCE = [
    Case(
        "attribute of a threading.local, popped when long",
        "import threading\nlocal = threading.local()\nlocal.kept = []\ndef step():\n    local.kept.append([1])\n"
        "    if len(local.kept) > 300: local.kept.pop(0)\n",
        "local.kept",
        "bounded",
        300,
    ),
    Case(
        "context variable, popped when long",
        in_context("var.get().append([1])\nif len(var.get()) > 300: var.get().pop(0)"),
        "var.get()",
        "bounded",
        300,
    ),
    Case(
        "ring by pop(0)",
        keeper(appending("if len(self.kept) > 64:\n    self.kept.pop(0)")),
        "keeper.kept",
        "bounded",
        64,
        "pop(0)",
    ),
    Case(
        "test of an attribute",
        keeper(appending("while len(self.kept) >= self.capacity:\n    del self.kept[0]")),
        "keeper.kept",
        "bounded",
        40,
        "del self.kept[0]",
    ),
    Case(
        "test of a constant",
        keeper(appending("if len(self.kept) > 2 * CAPACITY:\n    self.kept.pop(0)")),
        "keeper.kept",
        "bounded",
        200,
        "pop(0)",
    ),
    Case(
        "number that is not known",
        keeper(
            appending("if len(self.kept) > limit():\n    self.kept.pop(0)"), after="def limit():\n    return CAPACITY"
        ),
        "keeper.kept",
        "bounded",
        -1,
        "pop(0)",
    ),
    Case(
        "early return",
        keeper(appending("if len(self.kept) < 30:\n    return\nself.kept.pop(0)")),
        "keeper.kept",
        "bounded",
        30,
        "pop(0)",
    ),
    Case("trim by slice", keeper(appending("self.kept = self.kept[-20:]")), "keeper.kept", "bounded", 20, "[-20:]"),
    Case(
        "trim in place",
        keeper(appending("self.kept[:] = self.kept[-CAPACITY:]")),
        "keeper.kept",
        "bounded",
        100,
        "[-CAPACITY:]",
    ),
    Case("trim by del", keeper(appending("del self.kept[:-25]")), "keeper.kept", "bounded", 25, "del self.kept"),
    Case(
        "trim by the excess",
        keeper(appending("excess = len(self.kept) - 35\nif excess > 0:\n    del self.kept[:excess]")),
        "keeper.kept",
        "bounded",
        -1,
        "excess",
    ),
    Case(
        "full buffer is flushed",
        keeper(appending("if len(self.kept) == 16:\n    self.kept.clear()")),
        "keeper.kept",
        "bounded",
        16,
        "clear()",
    ),
    Case(
        "fill while short",
        keeper(appending().replace("self.kept.append", "if len(self.kept) < 70: self.kept.append")),
        "keeper.kept",
        "bounded",
        70,
        "append",
    ),
    Case(
        "fill unless full",
        keeper(appending(before="if len(self.kept) >= self.capacity:\n    return")),
        "keeper.kept",
        "bounded",
        40,
        "append",
    ),
    Case(
        "ring by modulo",
        keeper(
            "def add(self, x):\n    self.count += 1\n    if len(self.kept) < 50:\n        self.kept.append(x)\n    else:\n        self.kept[self.count % 50] = x"
        ),
        "keeper.kept",
        "bounded",
        50,
        "% 50",
    ),
    Case(
        "dict by modulo",
        keeper("def add(self, x):\n    self.count += 1\n    self.kept[self.count % 50] = x", "self.kept = {}"),
        "keeper.kept",
        "bounded",
        50,
        "% 50",
    ),
    Case(
        "LRU by popitem",
        keeper(
            "def add(self, x):\n    self.count += 1\n    self.kept[self.count] = x\n    if len(self.kept) > self.capacity:\n        self.kept.popitem(last=False)",
            ORDERED,
        ),
        "keeper.kept",
        "bounded",
        40,
        "popitem",
    ),
    Case(
        "heap of the best",
        keeper(
            "def add(self, x):\n    self.count += 1\n    heapq.heappush(self.kept, (self.count, x))\n    if len(self.kept) > 12:\n        heapq.heappop(self.kept)"
        ),
        "keeper.kept",
        "bounded",
        12,
        "heappop",
    ),
    Case(
        "method that evicts",
        keeper(appending("if len(self.kept) > 33:\n    self.evict()") + method("evict", "self.kept.pop(0)")),
        "keeper.kept",
        "bounded",
        33,
        "pop(0)",
    ),
    Case(
        "test in a property",
        keeper(
            appending("if self.full:\n    self.kept.pop(0)")
            + "\n@property"
            + method("full", "return len(self.kept) > 10")
        ),
        "keeper.kept",
        "bounded",
        -1,
        "pop(0)",
    ),
    Case(
        "length of the owner",
        keeper(appending("if len(self) > 11:\n    self.kept.pop(0)") + method("__len__", "return len(self.kept)")),
        "keeper.kept",
        "bounded",
        11,
        "pop(0)",
    ),
    Case(
        "alias that trims",
        keeper(appending("kept = self.kept\nwhile len(kept) > 15:\n    kept.pop(0)")),
        "keeper.kept",
        "bounded",
        15,
        "kept.pop(0)",
    ),
    Case(
        "walrus",
        keeper(appending("if (n := len(self.kept)) > 18:\n    self.kept.pop(0)")),
        "keeper.kept",
        "bounded",
        18,
        "pop(0)",
    ),
    Case(
        "several buffers in a loop",
        keeper(
            appending("for buffer in (self.kept, self.others):\n    if len(buffer) > 9:\n        buffer.pop(0)"),
            "self.kept = []; self.others = []",
        ),
        "keeper.kept",
        "bounded",
        9,
        "buffer.pop",
    ),
    Case(
        "helper of another module",
        keeper(appending("other.trim(self.kept, 45)"), after="import other"),
        "keeper.kept",
        "bounded",
        45,
        "items.pop(0)",
        "def trim(items, most):\n    while len(items) > most:\n        items.pop(0)\n",
    ),
    Case(
        "helper imported by name",
        keeper(appending("trim(self.kept)"), after="from other import trim"),
        "keeper.kept",
        "bounded",
        5,
        "items.pop(0)",
        "def trim(items, most=5):\n    while len(items) > most:\n        items.pop(0)\n",
    ),
    Case(
        "owner handed to a helper",
        keeper(
            appending(),
            step="keeper.add([1])\ntidy(keeper)",
            after="def tidy(k):\n    if len(k.kept) > k.capacity:\n        k.kept.pop(0)",
        ),
        "keeper.kept",
        "bounded",
        40,
        "k.kept.pop",
    ),
    Case(
        "subclass that bounds itself",
        "class Ring(list):\n    def push(self, x):\n        self.append(x)\n        if len(self) > 21:\n            self.pop(0)\nring = Ring()\ndef step():\n    ring.push([1])\n",
        "ring",
        "bounded",
        21,
        "self.pop(0)",
    ),
    Case(
        "best of all",
        keeper(appending("self.kept = heapq.nlargest(8, self.kept)")),
        "keeper.kept",
        "bounded",
        8,
        "nlargest",
    ),
    Case(
        "match statement",
        keeper(appending("match len(self.kept) > 27:\n    case True:\n        self.kept.pop(0)")),
        "keeper.kept",
        "expiring",
        line="pop(0)",
    ),
]

EXPIRING = [
    Case(
        "filtered",
        keeper(appending("self.kept = [x for x in self.kept if x]")),
        "keeper.kept",
        "expiring",
        line="if x]",
    ),
    Case(
        "close that a program calls",
        keeper(
            appending() + method("close", "self.kept.clear()"),
            after="def train():\n    keeper.close()\nif CAPACITY < 0:\n    train()",
        ),
        "keeper.kept",
        "reset",
        line="clear()",
    ),
    Case(
        "close that only an uncalled function calls",
        keeper(appending() + method("close", "self.kept.clear()"), after="def train():\n    keeper.close()"),
        "keeper.kept",
        "uncalled",
        line="clear()",
    ),
    Case(
        "hook that a library calls",
        keeper(appending() + method("run", "self.kept.clear()"))
        .replace("Keeper:", "Keeper(threading.Thread):")
        .replace("weakref", "weakref, threading", 1)
        .replace("capacity=40):", "capacity=40):\n        super().__init__()"),
        "keeper.kept",
        "reset",
        line="clear()",
    ),
    Case(
        "method of which no library knows",
        keeper(appending() + method("flush", "self.kept.clear()"), "super().__init__(); self.kept = []").replace(
            "Keeper:", "Keeper(dict):"
        ),
        "keeper.kept",
        "uncalled",
        line="clear()",
    ),
    Case(
        "twin that is not made",
        keeper(appending() + method("flush", "self.kept.clear()"))
        + "\nclass Twin:\n    def step(self):\n        keeper.flush()\n        optimizer.step()\ndef train():\n    hooks = [Twin().step]\n",
        "keeper.kept",
        "uncalled",
        line="clear()",
    ),
    Case(
        "twin that is made",
        keeper(appending() + method("flush", "self.kept.clear()"))
        + "\nclass Twin:\n    def step(self):\n        keeper.flush()\n        optimizer.step()\nhooks = [Twin().step]\n",
        "keeper.kept",
        "reset",
        line="clear()",
    ),
    Case(
        "switched off for good",
        keeper(appending("if not self.is_leaky:\n    self.kept.clear()"), "self.is_leaky, self.kept = True, []"),
        "keeper.kept",
        "uncalled",
        line="clear()",
    ),
    Case(
        "switched off for now",
        keeper(
            appending("if not self.is_leaky:\n    self.kept.clear()\nself.is_leaky = self.count < 900"),
            "self.is_leaky, self.kept = True, []",
        ),
        "keeper.kept",
        "reset",
        line="clear()",
    ),
    Case(
        "bounded where it is switched on",
        keeper(
            appending("if self.is_bounded and len(self.kept) > 64:\n    self.kept.pop(0)"),
            "self.is_bounded, self.kept = False, []",
        ),
        "keeper.kept",
        "unknown",
    ),
    Case(
        "cleared by another test",
        keeper(
            appending(),
            after="import pytest\n@pytest.mark.filterwarnings('error')\ndef test_other():\n    keeper.kept.clear()",
        ),
        "keeper.kept",
        "uncalled",
        line="clear()",
    ),
    Case(
        "cleared by what a decorator may call",
        keeper(
            appending(),
            after="import functools\n@functools.cache\ndef clear():\n    keeper.kept.clear()",
        ),
        "keeper.kept",
        "reset",
        line="clear()",
    ),
    Case(
        "cleared by a class of which no object is made",
        keeper(
            appending(),
            after="class All:\n    @staticmethod\n    def reset():\n        keeper.kept.clear()\nif CAPACITY < 0:\n    All.reset()",
        ),
        "keeper.kept",
        "reset",
        line="clear()",
    ),
    Case(
        "method that is handed on",
        keeper(appending() + method("flush", "self.kept.clear()"), after="hooks = [keeper.flush]"),
        "keeper.kept",
        "reset",
        line="clear()",
    ),
    Case(
        "window of the newest counts",
        keeper(
            "def add(self, x):\n    self.count += 1\n    self.kept[self.count] = x\n    self.kept.pop(self.count - 400, None)",
            "self.kept = {}",
        ),
        "keeper.kept",
        "bounded",
        400,
        "- 400",
    ),
    Case(
        "window of unknown width",
        keeper(
            "def add(self, x):\n    self.count += 1\n    self.kept[self.count] = x\n    self.kept.pop(self.count - uuid.getnode(), None)",
            "self.kept = {}",
        ),
        "keeper.kept",
        "expiring",
        line="getnode",
    ),
    Case(
        "what is too old is deleted",
        keeper(
            "def add(self, x):\n    self.kept[time.time()] = x\n    for t in list(self.kept):\n        if t < time.time() - 60:\n            del self.kept[t]",
            "self.kept = {}",
        ),
        "keeper.kept",
        "expiring",
        line="del self.kept[t]",
    ),
    Case(
        "the oldest goes once its time has come",
        keeper(appending("if time.time() > CAPACITY ** 9:\n    self.kept.pop(0)")),
        "keeper.kept",
        "expiring",
        line="pop(0)",
    ),
    Case(
        "the newest is taken back where it fails",
        keeper(appending("if time.time() < 0:\n    self.kept.pop()")),
        "keeper.kept",
        "unknown",
    ),
    Case(
        "what has been done is taken out by its own key",
        keeper(
            "def add(self, x):\n    self.count += 1\n    self.kept[self.count] = x\n    if x is None:\n        self.kept.pop(self.count)",
            "self.kept = {}",
        ),
        "keeper.kept",
        "unknown",
    ),
]

RESET = [
    Case(
        "context variable that is set anew",
        in_context(
            "global count\ncount += 1\nvar.get().append([1])\nif count % 200 == 0: var.set([])",
            "var.set([])\ncount = 0",
        ),
        "var.get()",
        "reset",
        line="var.set([])",
    ),
    Case(
        "context variable that gets back what it was",
        in_context("token = var.set(var.get())\nvar.get().append([1])\nvar.reset(token)"),
        "var.get()",
        "reset",
        line="var.reset(token)",
    ),
    Case(
        "cleared at the end of an epoch",
        keeper(appending("self.count += 1\nif self.count % 1000 == 0:\n    self.kept.clear()")),
        "keeper.kept",
        "reset",
        -1,
        "clear()",
    ),
    Case(
        "replaced by an empty list",
        keeper(appending() + method("on_epoch_end", "self.kept = []")),
        "keeper.kept",
        "uncalled",
        -1,
        "self.kept = []",
    ),
    Case(
        "replaced by a call",
        keeper(appending() + method("on_epoch_end", "self.kept = list()")),
        "keeper.kept",
        "uncalled",
        -1,
        "list()",
    ),
    Case(
        "replaced with others",
        keeper(appending() + method("reset", "self.kept, self.count = [], 0")),
        "keeper.kept",
        "uncalled",
        -1,
        "[], 0",
    ),
    Case(
        "emptied by del",
        keeper(appending() + method("flush", "del self.kept[:]")),
        "keeper.kept",
        "uncalled",
        -1,
        "del self.kept[:]",
    ),
    Case(
        "emptied by slice",
        keeper(appending() + method("flush", "self.kept[:] = []")),
        "keeper.kept",
        "uncalled",
        -1,
        "self.kept[:]",
    ),
    Case(
        "drained",
        keeper(appending() + method("flush", "while self.kept:\n    self.kept.pop()")),
        "keeper.kept",
        "uncalled",
        -1,
        "pop()",
    ),
    Case(
        "close that nobody calls",
        keeper(appending() + method("close", "self.kept.clear()")),
        "keeper.kept",
        "uncalled",
        -1,
        "clear()",
    ),
    Case(
        "where memory runs out",
        keeper(appending("try:\n    pass\nexcept MemoryError:\n    self.kept.clear()")),
        "keeper.kept",
        "reset",
        -1,
        "clear()",
    ),
    Case(
        "init that calls reset, which others call too",
        keeper(
            appending() + method("reset", "self.kept = []") + method("on_epoch_end", "self.reset()"), "self.reset()"
        ),
        "keeper.kept",
        "uncalled",
        -1,
        "self.kept = []",
    ),
    Case(
        "setattr",
        keeper(appending() + method("reset", "setattr(self, 'kept', [])")),
        "keeper.kept",
        "uncalled",
        -1,
        "setattr",
    ),
    Case(
        "cleared through vars",
        keeper(appending() + method("reset", "for value in vars(self).values():\n    value.clear()")),
        "keeper.kept",
        "uncalled",
        -1,
        "value.clear()",
    ),
    Case(
        "cleared through getattr",
        keeper(appending() + method("reset", "for name in ('kept',):\n    getattr(self, name).clear()")),
        "keeper.kept",
        "uncalled",
        -1,
        "clear()",
    ),
    Case(
        "cleared through a property",
        keeper(
            appending() + "\n@property" + method("items", "return self.kept"),
            after="def flush(k):\n    k.items.clear()",
        ),
        "keeper.kept",
        "uncalled",
        -1,
        "k.items.clear()",
    ),
    Case(
        "cleared through what a method returns",
        keeper(appending() + method("items", "return self.kept"), after="def flush(k):\n    k.items().clear()"),
        "keeper.kept",
        "uncalled",
        -1,
        "clear()",
    ),
    Case(
        "owner replaced",
        keeper(
            appending(),
            step="app.keeper.add([1])",
            after="class App:\n    def __init__(self):\n        self.keeper = keeper\n    def next_epoch(self):\n        self.keeper = Keeper()\napp = App()\ndel keeper",
        ),
        "app.keeper.kept",
        "reset",
        -1,
        "self.keeper = Keeper()",
    ),
    Case(
        "global replaced",
        "kept = []\ndef step():\n    kept.append([1])\ndef flush():\n    global kept\n    kept = []\n",
        "kept",
        "uncalled",
        -1,
        "kept = []",
    ),
    Case(
        "cleared from another module",
        "import other\nkept = []\ndef step():\n    kept.append([1])\n",
        "kept",
        "uncalled",
        -1,
        "kept.clear",
        "import sys\ndef flush(m):\n    m.kept.clear()\n",
    ),
    Case(
        "the list that was handed in is cleared",
        keeper(appending(), "self.kept = shared", after="def flush():\n    shared.clear()").replace(
            "CAPACITY", "shared = []\nCAPACITY", 1
        ),
        "keeper.kept",
        "uncalled",
        -1,
        "shared.clear()",
    ),
]

ASK = "def add(self, x):\n    self.count += 1\n    key = self.count % 7, self.count\n    "
KEYED = [
    Case(
        "dict asked by in",
        keeper(
            "def add(self, x):\n    if x not in self.kept:\n        self.kept[x] = [x]",
            "self.kept = {}",
            "keeper.add(time.time())",
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
            "keeper.add((time.time(),))",
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

UNBOUNDED = [
    Case(
        "attribute of a threading.local",
        "import threading\nlocal = threading.local()\nlocal.kept = []\ndef step():\n    local.kept.append([1])\n",
        "local.kept",
        "unbounded",
    ),
    Case(
        "attribute of a class that is local to threads",
        """
import threading
class Store(threading.local):
    def __init__(self, name): self.kept = []
    def add(self, x): self.kept.append(x)
store = Store(name="spans")
def step(): store.add([1])
""",
        "store.kept",
        "unbounded",
    ),
    Case("value of a context variable", in_context("var.get().append([1])"), "var.get()", "unbounded"),
    Case(
        "value of a context variable, made when first wanted",
        in_context("if var.get() is None: var.set([])\nvar.get().append([1])", ""),
        "var.get()",
        "unbounded",
    ),
    Case(
        "dict in a context variable, under another name",
        in_context("kept = var.get()\nkept[len(kept)] = [1]", "var.set({})"),
        "var.get()",
        "unbounded",
    ),
    Case(
        "once enough others are there",
        keeper(
            appending(before="self.pool.append(1)\nif len(self.pool) < 3:\n    return"),
            "self.kept = []\nself.pool = collections.deque(maxlen=8)",
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "while few others are there",
        keeper(
            appending(before="self.pool.append(1)\nif len(self.pool) > 5:\n    return"),
            "self.kept = []\nself.pool = collections.deque(maxlen=8)",
        ),
        "keeper.kept",
        "unknown",
    ),
    Case(
        "whenever a batch is full",
        "kept, batch = [], []\ndef step():\n    global batch\n    batch.append(1)\n    if len(batch) == 2:\n"
        "        kept.append(batch)\n        batch = []\n",
        "kept",
        "unbounded",
    ),
    Case(
        "when a batch is full for the first time",
        "kept, batch = [], []\ndef step():\n    batch.append(1)\n    if len(batch) == 2:\n        kept.append(batch)\n",
        "kept",
        "unknown",
    ),
    Case(
        "after a number of steps",
        keeper(appending(before="self.count += 1\nif self.count <= 2:\n    return")),
        "keeper.kept",
        "unbounded",
    ),
    Case("list in an attribute", keeper(appending()), "keeper.kept", "unbounded"),
    Case(
        "method of that name of another object",
        keeper(appending(), after="def pairs_of(other):\n    return [pair for pair in other.kept()]"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "list that can be called",
        keeper(
            appending() + "\ndef flush(self): self.kept()",
            "class Called(list):\n    def __call__(self): del self[:]\nself.kept = Called()",
        ),
        "keeper.kept",
        "reset",
    ),
    Case(
        "read in many ways",
        keeper(
            appending(
                "mean = len(self.kept), list(self.kept), self.kept[-1], self.kept[-3:]\nprint(f'{len(self.kept)} {max(self.kept)}')\nlast = [x for x in self.kept]\nif self.kept:\n    mean = None"
            )
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case("extended", keeper("def add(self, x): self.kept.extend([x])"), "keeper.kept", "unbounded"),
    Case("added in place", keeper("def add(self, x): self.kept += [x]"), "keeper.kept", "unbounded"),
    Case("added anew", keeper("def add(self, x): self.kept = self.kept + [x]"), "keeper.kept", "unbounded"),
    Case(
        "dict by a global step",
        "kept = {}\nglobal_step = 0\ndef step():\n    global global_step\n    global_step += 1\n    kept[global_step] = [1]\n",
        "kept",
        "unbounded",
    ),
    Case(
        "dict by a counter",
        keeper("def add(self, x):\n    self.count += 1\n    self.kept[f'step {self.count}'] = [x]", "self.kept = {}"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "dict by the time",
        keeper("def add(self, x): self.kept[time.time()] = [x]", "self.kept = {}"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "dict by its length",
        keeper("def add(self, x): self.kept[len(self.kept)] = [x]", "self.kept = {}"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "set of new ids",
        keeper("def add(self, x): self.kept.add(uuid.uuid4())", "self.kept = set()"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "dict by parts of new ids",
        keeper("def add(self, x): self.kept[uuid.uuid4().hex, str(uuid.uuid4())[:8]] = [x]", "self.kept = {}"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "dict by an id that a long-lived object has",
        keeper(
            "def add(self, x): self.kept[self.hex] = [x]\ndef part(self, x): self.kept[self.hex[:8]] = [x]",
            "self.kept = {}\nself.hex = uuid.uuid4().hex",
            "keeper.add(1)\nkeeper.part(1)",
        ),
        "keeper.kept",
        "keyed",
    ),
    Case(
        "in an object that takes a number from the one before it",
        owned("Epoch(self.epoch.number + 1)"),
        "keeper.epoch.kept",
        "reset",
        -1,
        "Epoch(self.epoch.number + 1)",
    ),
    Case(
        "in an object that is given the one before it", owned("Epoch(1, self.epoch)"), "keeper.epoch.kept", "unbounded"
    ),
    Case(
        "in an object that is given what the one before it kept",
        owned("Epoch(1, self.epoch.kept)"),
        "keeper.epoch.kept",
        "unbounded",
    ),
    Case(
        "in an object that the one before it makes", owned("self.epoch.following()"), "keeper.epoch.kept", "unbounded"
    ),
    Case(
        "set of tasks",
        TASKS.replace("DROPPED", ""),
        "background",
        "unbounded",
    ),
    Case(
        "list in a closure",
        "def make():\n    losses = []\n    def step():\n        losses.append([1])\n    return step\nstep = make()\n",
        "step.__closure__[0].cell_contents",
        "unbounded",
    ),
    Case(
        "list of a function that a decorator makes",
        "def traced(function):\n    def wrapper(*a):\n        wrapper.calls.append(a)\n        return function(*a)\n"
        "    wrapper.calls = []\n    return wrapper\n@traced\ndef add(x): return x\ndef step(): add([1])\n",
        "add.calls",
        "unbounded",
    ),
    Case("global list", "losses = []\ndef step():\n    losses.append([1])\n", "losses", "unbounded"),
    Case(
        "class attribute",
        "class Keeper:\n    kept = []\n    def add(self):\n        self.kept.append([1])\nkeeper = Keeper()\ndef step():\n    keeper.add()\n",
        "Keeper.kept",
        "unbounded",
    ),
    Case(
        "dataclass",
        "import dataclasses\n@dataclasses.dataclass\nclass Keeper:\n    kept: list = dataclasses.field(default_factory=list)\nkeeper = Keeper()\ndef step():\n    keeper.kept.append([1])\n",
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "namespace",
        "import types\nkeeper = types.SimpleNamespace(kept=[])\ndef step():\n    keeper.kept.append([1])\n",
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "slots",
        "class Keeper:\n    __slots__ = ('kept',)\n    def __init__(self):\n        self.kept = []\nkeeper = Keeper()\ndef step():\n    keeper.kept.append([1])\n",
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "subclass of list",
        "class Log(list):\n    def note(self, x):\n        self.append(x)\nlog = Log()\ndef step():\n    log.note([1])\n",
        "log",
        "unbounded",
    ),
    Case(
        "attribute of an attribute",
        "class Logger:\n    def __init__(self):\n        self.history = []\nclass Trainer:\n    def __init__(self):\n        self.logger = Logger()\n    def train_step(self):\n        self.logger.history.append([1])\ntrainer = Trainer()\ndef step():\n    trainer.train_step()\n",
        "trainer.logger.history",
        "unbounded",
    ),
    Case(
        "dict of lists",
        "metrics = {'loss': [], 'accuracy': []}\ndef step():\n    metrics['loss'].append([1])\n    metrics['accuracy'].clear()\n",
        "metrics['loss']",
        "unbounded",
    ),
    Case(
        "dict of lists in an attribute",
        keeper("def add(self, x): self.kept['loss'].append(x)", "self.kept = {'loss': []}"),
        "keeper.kept['loss']",
        "unbounded",
    ),
    Case("default of a parameter", "def step(kept=[]):\n    kept.append([1])\n", "step.__defaults__[0]", "unbounded"),
    Case(
        "attribute of a function", "def step():\n    step.kept.append([1])\nstep.kept = []\n", "step.kept", "unbounded"
    ),
    Case(
        "cleared in __del__ only",
        keeper(appending() + method("__del__", "self.kept.clear()")),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "cleared at exit only",
        keeper(appending() + method("finish", "self.kept.clear()"), "self.kept = []\natexit.register(self.finish)"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "lazily made",
        keeper(
            "def add(self, x):\n    if self.kept is None:\n        self.kept = []\n    self.kept.append(x)",
            "self.kept = None",
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "another class clears its own",
        keeper(
            appending(),
            after="class Other:\n    def __init__(self):\n        self.kept = []\n    def flush(self):\n        self.kept.clear()",
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "made by a method of init",
        keeper(appending() + method("build", "self.kept = []"), "self.build()"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "through a helper",
        keeper("def add(self, x): note(self.kept, x)", after="def note(items, x):\n    items.append(x)"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "syntax of 3.11", keeper(appending("try:\n    pass\nexcept* ValueError:\n    pass")), "keeper.kept", "unbounded"
    ),
    Case("every tenth step", keeper(appending(before="if self.count % 1 == 0:\n    pass")), "keeper.kept", "unbounded"),
    Case("local of no name", "kept = []\nstep = lambda: kept.append([1])\n", "kept", "unbounded"),
    Case(
        "another local is emptied",
        "kept = []\ndef step():\n    kept.append([1])\ndef other():\n    kept = [1]\n    kept.clear()\n",
        "kept",
        "unbounded",
    ),
]

UNKNOWN = [
    Case(
        "set of tasks that drop out of it",
        TASKS.replace("DROPPED", "task.add_done_callback(background.discard)"),
        "background",
        "unknown",
    ),
    Case(
        "trimmed by a method that nobody calls",
        keeper(appending() + method("trim", "del self.kept[2:]")),
        "keeper.kept",
        "unknown",
    ),
    Case(
        "consumed elsewhere", keeper(appending() + method("take", "return self.kept.pop()")), "keeper.kept", "unknown"
    ),
    Case(
        "handed to code that is not read",
        keeper(appending("foreign(self.kept)"), after="import operator\nforeign = operator.length_hint"),
        "keeper.kept",
        "unknown",
    ),
    Case(
        "stored elsewhere",
        keeper(appending(), after="registry = {}\nregistry[1] = keeper.kept"),
        "keeper.kept",
        "unknown",
    ),
    Case(
        "length tested for something",
        keeper(appending("if len(self.kept) > 1000:\n    print('long')")),
        "keeper.kept",
        "unknown",
    ),
    Case(
        "only the first steps",
        keeper(appending().replace("self.kept.append", "if self.count < 1000: self.kept.append")),
        "keeper.kept",
        "unknown",
    ),
    Case(
        "its remover is kept",
        keeper(appending(), "self.kept = []\nself.remove = self.kept.pop"),
        "keeper.kept",
        "unknown",
    ),
    Case("yielded", keeper(appending() + method("items", "yield self.kept")), "keeper.kept", "unknown"),
    Case(
        "drops the first, whatever",
        keeper(appending("if False:\n    self.kept = self.kept[1:]")),
        "keeper.kept",
        "unknown",
    ),
    Case(
        "filled by nobody that is read",
        keeper("def add(self, x): getattr(list, 'append')(self.kept, x)"),
        "keeper.kept",
        "unknown",
    ),
]

CACHES = [
    Case(
        "lru_cache",
        "import functools\n@functools.lru_cache(maxsize=512)\ndef make(n):\n    return [n]\nn = 0\ndef step():\n    global n\n    n += 1\n    make(n)\n",
        "@make",
        "bounded",
        512,
        "@functools.lru_cache",
    ),
    Case(
        "cache",
        "import functools\n@functools.cache\ndef make(n):\n    return [n]\nn = 0\ndef step():\n    global n\n    n += 1\n    make(n)\n",
        "@make",
        "keyed",
        -1,
        "@functools.cache",
    ),
    Case(
        "lru_cache of a number that is not written",
        "import functools\ndef make(n):\n    return [n]\nmake = functools.lru_cache(64 + 1)(make)\nn = 0\ndef step():\n    global n\n    n += 1\n    make(n)\n",
        "@make",
        "bounded",
        65,
        "def make",
    ),
]

RUNNING = [
    Case(
        "local of main",
        "def main(probe):\n    losses = []\n    for _ in range(6):\n        losses.append([1])\n    probe()\ndef run(probe): pass\nif __name__ == '__main__':\n    main(None)\n",
        "losses",
        "unbounded",
    ),
    Case(
        "made anew each epoch",
        "def main(probe):\n    for _ in range(2):\n        losses = []\n        for _ in range(6):\n            losses.append([1])\n        probe()\nif __name__ == '__main__':\n    main(None)\n",
        "losses",
        "reset",
        -1,
        "losses = []",
    ),
    Case(
        "function called each epoch",
        "def main(probe):\n    for _ in range(2):\n        epoch(probe)\ndef epoch(probe):\n    losses = []\n    for _ in range(6):\n        losses.append([1])\n    probe()\n",
        "losses",
        "reset",
        -1,
        "losses = []",
    ),
    Case(
        "function that somebody calls",
        "def train(probe):\n    losses = []\n    for _ in range(6):\n        losses.append([1])\n    probe()\nmain = train\n",
        "losses",
        "unknown",
    ),
    Case(
        "argument of a function",
        "def main(probe):\n    losses = []\n    train(losses, probe)\ndef train(kept, probe):\n    for _ in range(6):\n        kept.append([1])\n    probe()\n",
        "losses",
        "unbounded",
    ),
    Case(
        "argument, in the function that fills it",
        "def main(probe):\n    losses = []\n    train(losses, probe)\ndef train(kept, probe):\n    for _ in range(6):\n        kept.append([1])\n    probe()\n",
        "kept",
        "unbounded",
    ),
    Case(
        "argument that the caller empties",
        "def main(probe):\n    losses = []\n    train(losses, probe)\n    losses.clear()\ndef train(kept, probe):\n    for _ in range(6):\n        kept.append([1])\n    probe()\n",
        "kept",
        "reset",
        -1,
        "losses.clear()",
    ),
    Case(
        "dict by the step of a loop",
        "def main(probe):\n    losses = {}\n    for i, _ in enumerate(range(6)):\n        losses[i] = [1]\n    probe()\n",
        "losses",
        "unbounded",
    ),
    Case(
        "dict by the step of an epoch",
        "def main(probe):\n    losses = {}\n    for _ in range(2):\n        for i, _ in enumerate(range(6)):\n            losses[i] = [1]\n    probe()\n",
        "losses",
        "keyed",
        -1,
        "losses[i]",
    ),
]

CASES = [*BOUNDED_BY_TYPE, *QUEUES, *BOUNDED_BY_SOURCE, *EXPIRING, *RESET, *KEYED, *UNBOUNDED, *UNKNOWN]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Callable[[str, str], ModuleType]]:
    """Writes sources to files and imports them."""
    loaded: list[str] = []

    def write_and_load(source: str, name: str) -> ModuleType:
        file = tmp_path / f"{name}.py"
        file.write_text(source)
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        loaded.append(name)
        spec.loader.exec_module(module)
        return module

    yield write_and_load
    for name in loaded:
        del sys.modules[name]


def structure_at(module: ModuleType, container: Any) -> Structure:
    """As the search for holders asks for it."""
    search = Paths(getattr(module, "step", None), [], frame_locals).to(container)
    assert search.end is End.FOUND, search.end
    path = Graph(frame_locals).add(search)
    return judged(path["chain"], sources(module)).structure


def sources(module: ModuleType) -> UserCode:
    """Of the program alone: other tests' sources are as good as the user's."""
    modules = {name: sys.modules[name] for name in (module.__name__, "other") if name in sys.modules}
    step = getattr(module, "step", None)
    return UserCode([], modules=modules, entry=step.__code__ if step is not None else None)


def check(case: Case, found: Structure) -> None:
    assert (found.kind, found.bound) == (case.kind, case.bound), found
    assert case.line in found.text
    assert bool(found.line) == bool(found.file) == bool(found.text)


def program(load: Callable[[str, str], ModuleType], case: Case) -> ModuleType:
    if case.other:
        load(case.other, "other")
    return load(case.source, f"program_{next(_numbers)}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_of_a_step(case: Case, load: Callable[[str, str], ModuleType]) -> None:
    module = program(load, case)
    for _ in range(STEPS):
        module.step()
    check(case, structure_at(module, eval(case.what, vars(module))))


NUMBERED = [
    Case("by its number", "kept = {}\ndef step(index):\n    kept[index] = [1]\n", "kept", "unbounded"),
    Case(
        "by a name made of it, handed on",
        "kept = {}\ndef keep(user):\n    kept[user] = [1]\ndef step(index):\n    keep(f'user {index}')\n",
        "kept",
        "unbounded",
    ),
    Case(
        "by what comes round again",
        "kept = {}\ndef step(index):\n    kept[index % 900] = [1]\n",
        "kept",
        "bounded",
        bound=900,
        line="kept[index % 900]",
    ),
    Case(
        "by what another function is handed",
        "kept = {}\ndef keep(index):\n    kept[index] = [1]\ndef step(index, rows=(1, 2)):\n    [keep(r + index % 900) for r in rows]\n",
        "kept",
        "keyed",
        line="kept[index]",
    ),
]


@pytest.mark.parametrize("case", NUMBERED, ids=lambda case: case.name)
def test_of_a_step_that_takes_its_number(case: Case, load: Callable[[str, str], ModuleType]) -> None:
    module = program(load, case)
    for index in range(STEPS):
        module.step(index)
    check(case, structure_at(module, module.kept))


@pytest.mark.parametrize("case", RUNNING, ids=lambda case: case.name)
def test_of_a_running_function(case: Case, load: Callable[[str, str], ModuleType]) -> None:
    module = program(load, case)
    found: list[Structure] = []

    def probe() -> None:
        frame = sys._getframe(1)
        while case.what not in dict(frame_locals(frame)):
            assert frame.f_back is not None
            frame = frame.f_back
        # The search would find it here, in variables of the test.
        chain, function = [dict(frame_locals(frame))[case.what]], frame.f_code.co_name
        found.append(judged(chain, sources(module), case.what, function).structure)

    vars(module)["main"](probe)
    check(case, found[0])


@pytest.mark.parametrize("case", CACHES, ids=lambda case: case.name)
def test_of_a_cache(case: Case, load: Callable[[str, str], ModuleType]) -> None:
    import gc

    module = program(load, case)
    for _ in range(STEPS):
        module.step()
    wrapper = eval(case.what[1:], vars(module))
    cache = next(o for o in gc.get_referents(wrapper) if type(o) is dict and len(o) == STEPS)
    check(case, judged([vars(module), wrapper, cache], sources(module)).structure)


def test_file_that_cannot_be_parsed_makes_it_unknown(load: Callable[[str, str], ModuleType], tmp_path: Path) -> None:
    module = load("losses = []\ndef step():\n    losses.append([1])\n", "program_beside")
    broken = tmp_path / "broken.py"
    broken.write_text("losses = [\n")
    module.step()
    search = Paths(module.step, [], frame_locals).to(module.losses)
    chain = Graph(frame_locals).add(search)["chain"]
    modules = {module.__name__: module}
    assert judged(chain, UserCode([], modules=modules)).structure.kind == "unbounded"
    assert judged(chain, UserCode([], [str(broken)], modules)).structure.kind == "unknown"


@pytest.mark.parametrize(
    ("main", "kind"),
    [
        ("", "unbounded"),
        ("from stepleak._syntax import Module, first_line", "unbounded"),
        ("def forget(module): module.losses.clear()", "unknown"),
        ("class Forget:\n    def __call__(self, module): module.losses.clear()", "unknown"),
    ],
)
def test_what_is_typed_in_makes_it_unknown(load: Callable[[str, str], ModuleType], main: str, kind: str) -> None:
    module = load("losses = []\ndef step():\n    losses.append([1])\n", "program_beside_what_is_typed_in")
    module.step()
    search = Paths(module.step, [], frame_locals).to(module.losses)
    chain = Graph(frame_locals).add(search)["chain"]
    typed_in = ModuleType("__main__")
    exec(main, vars(typed_in))
    modules = {module.__name__: module, "__main__": typed_in}
    assert judged(chain, UserCode([], modules=modules)).structure.kind == kind


def test_container_of_a_library_is_never_unbounded(load: Callable[[str, str], ModuleType]) -> None:
    source = "import torch\nweight = torch.nn.Parameter(torch.zeros(2))\noptimizer = torch.optim.SGD([weight], momentum=0.9)\n"
    module = load(
        source + "def step():\n    optimizer.add_param_group({'params': [torch.zeros(1)]})\n", "program_of_library"
    )
    module.step()
    assert structure_at(module, module.optimizer.param_groups).kind == "unknown"


# Names of their own: the search knows the sources of all that is imported, other tests' too.
KEPT = [
    (
        "def add(self, x): self.filled_here.setdefault('a', []).append(x)",
        "self.filled_here = {}",
        "self.filled_here.setdefault('a', []).append(x)",
    ),
    (
        "def add(self, x): self.filled_here.update(**{f'k{len(self.filled_here)}': x})",
        "self.filled_here = {}",
        "self.filled_here.update(**{f'k{len(self.filled_here)}': x})",
    ),
    (
        "def add(self, x): self.filled_here = [*self.filled_here, x]",
        "self.filled_here = []",
        "self.filled_here = [*self.filled_here, x]",
    ),
    (
        "def add(self, x): self.count, self.filled_here = 1, self.filled_here + [x]",
        "self.filled_here = []",
        "self.count, self.filled_here = (1, self.filled_here + [x])",
    ),
    ("def add(self, x): self.waiting_here.put(x)", "self.waiting_here = queue.Queue()", "self.waiting_here.put(x)"),
    (
        "def add(self, x):\n    self.alias_here = self.filled_here\n    self.alias_here.append(x)",
        "self.filled_here = []",
        "self.alias_here.append(x)",
    ),
    (
        "def add(self, x):\n    (self.filled_here.append if self.count else self.filled_here.append)(x)",
        "self.filled_here = []",
        "",
    ),
    (
        "def add(self, x):\n    (a := self.filled_here).append(x); (b := self.filled_here).append(x)",
        "self.filled_here = []",
        "",
    ),
]


@pytest.mark.parametrize(("methods", "init", "statement"), KEPT, ids=[made for made, _, _ in KEPT])
def test_statement_that_fills_it_is_found(
    methods: str, init: str, statement: str, load: Callable[[str, str], ModuleType]
) -> None:
    from stepleak._holders import HolderSearch

    step = "x = torch.ones(1)\naddresses.append(x._cdata)\nkeeper.add(x)"
    module = load("import torch\naddresses = []\n" + keeper(methods, init, step), f"program_{next(_numbers)}")
    search = HolderSearch(module.step, frame_locals)
    search.begin()
    for _ in range(STEPS):
        module.step()
    assert module.__file__ is not None
    found = search.search(module.addresses, {module.__file__: set()}, STEPS)
    holder = found["holders"][found["holder_of"][module.addresses[0]]]
    assert holder["kept_by"]["text"] == statement


def test_search_for_holders_says_it(load: Callable[[str, str], ModuleType]) -> None:
    from stepleak._holders import HolderSearch

    module = load("unlikely_losses = []\ndef step():\n    unlikely_losses.append([1])\n", "program_searched")
    search = HolderSearch(module.step, frame_locals)
    search.begin()
    for _ in range(STEPS):
        module.step()
    holders = search.search([], {}, STEPS)["holders"]
    expected = {"kind": "unbounded", "bound": -1, "file": "", "line": 0, "text": ""}
    assert expected in [holder["structure"] for holder in holders]
