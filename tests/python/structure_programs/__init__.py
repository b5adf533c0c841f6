# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Small programs whose containers are bounded, emptied, keyed or none of it, each with near misses beside it.

A program is run for some steps like a user's; `what` names the container as the program would.
"""

from __future__ import annotations

import textwrap
from typing import NamedTuple


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


def in_threads(body: str) -> str:
    """A step of such a body, with a list that each of three threads has its own of."""
    return """
import threading
class Store(threading.local):
    def __init__(self): self.kept = []
    def add(self, x): self.kept.append(x)
store, asked = Store(), threading.Barrier(3)
def ask():
    store.kept
    asked.wait()
    asked.wait()
for _ in range(2): threading.Thread(target=ask, daemon=True).start()
asked.wait()
def step():
""" + textwrap.indent(body, "    ")


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


def jobs(
    made: str = "job = Job(next(self.numbers))",
    number: str = "number",
    init: str = "pass",
    base: str = "",
    decorated: str = "",
    later: str = "pass",
    more: str = "kind = 1",
    end: str = "pass",
) -> str:
    """A program that keeps jobs by their numbers, which their makers are handed."""
    inner = " " * (12 if made.endswith(":") else 8)
    return f"""
import itertools
class Base:
    def __init__(self, number): self.kind, self.number = 1, number
def one_of(kind):
    made = []
    def get(number):
        made[:] = made or [kind(number)]
        return made[0]
    return get
{decorated}
class Job{base}:
    {more}
    def __init__(self, number):
        {init}
        self.number = {number}
class Service:
    def __init__(self):
        self.kept, self.last = {{}}, None
        self.numbers = itertools.count(1)
    def submit(self, x):
        {made}
{inner}self.kept[job.number] = job
{inner}{end}
        self.last = job
    def change(self): {later}
    def poll(self, number): return self.kept.get(number)
service = Service()
def step():
    service.submit([1])
    service.poll(4)
"""


ORDERED = "self.kept = collections.OrderedDict()"


def registering(key: str = "self.number", before: str = "pass", after: str = "pass") -> str:
    """A program whose objects put themselves under their numbers, each as it is made."""
    return f"""
import itertools
numbers = itertools.count()
kept = {{}}
class Job:
    def __init__(self):
        self.number = next(numbers)
        {before}
        kept[{key}] = self
        {after}
def step():
    Job()
"""
