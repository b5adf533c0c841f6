# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that something empties, or drops the old from."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

import textwrap

from structure_programs import Case, appending, in_context, keeper, method

# Four come where one is taken, so that the length of two bounds nothing.
HEAP = """
def add(self, x):
    now = next(self.clock)
    EXPIRED
    if len(self.kept) > 2:
        heapq.heappop(self.kept)
    for place in range(4):
        heapq.heappush(self.kept, (now + 250, place + next(self.clock), x))
"""
EXPIRED = """if any(entry[0] <= now for entry in self.kept):
        self.kept = [entry for entry in self.kept if entry[0] > now]
        heapq.heapify(self.kept)"""

_SPANS = """
count = 0
class Span:
    def __init__(self): self.kept = []
first = var.set(Span())
"""
_CALLED = """
def call(end):
    token = var.set(var.get())
    var.get().kept.append([1])
    if end: var.reset(token)
"""
_SURELY = """
token = var.set(var.get())
try: var.get().kept.append([1])
finally: var.reset(token)
"""
_ANEW = """
global first, count
count += 1
var.get().kept.append([1])
if count % 900 == 0:
    var.reset(first)
    first = var.set(Span())
"""

EXPIRING = [
    *(
        Case(
            name,
            keeper(HEAP.replace("EXPIRED", expired), "self.kept, self.clock = [], itertools.count()"),
            "keeper.kept",
            kind,
            line=line,
        )
        for name, expired, kind, line in (
            (
                "heap of which more comes than is taken, and what is old goes",
                EXPIRED,
                "conditional",
                "if entry[0] > now]",
            ),
            ("heap of which more comes than is taken", "pass", "unknown", ""),
        )
    ),
    Case(
        "filtered",
        keeper(appending("self.kept = [x for x in self.kept if x]")),
        "keeper.kept",
        "expiring",
        line="if x]",
    ),
    Case(
        "constructor of what some steps make",
        "kept, count = [], 0\nclass Epoch:\n    def __init__(self): kept.clear()\n"
        "def step():\n    global count\n    count += 1\n    kept.append([1])\n    if count % 400 == 0: Epoch()\n",
        "kept",
        "reset",
        line="kept.clear()",
    ),
    Case(
        "constructor of what is made once",
        "kept = []\nclass Keeper:\n    def __init__(self): kept.clear()\n"
        "keeper = Keeper()\ndef step(): kept.append([1])\n",
        "kept",
        "uncalled",
        line="kept.clear()",
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
    *(
        Case(
            f"cleared when a fixture is over, {name}",
            keeper(
                appending(),
                after="import pytest\n@pytest.fixture\ndef held():\n    yield keeper\n    keeper.kept.clear()\n"
                f"def test_other(held): {body}",
            ),
            "keeper.kept",
            kind,
            line="clear()",
        )
        for name, body, kind in [
            ("which others ask for", "held.add(1)", "uncalled"),
            ("which somebody hands on by its name", "pass\ndef later(run): run(held)", "reset"),
        ]
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
        "what is too old is chosen and deleted",
        keeper(
            "def add(self, x):\n    self.kept[time.time()] = x\n    for t in [t for t in self.kept if t < time.time() - 60]:\n        del self.kept[t]",
            "self.kept = {}",
        ),
        "keeper.kept",
        "expiring",
        line="del self.kept[t]",
    ),
    Case(
        "what has a name is chosen and deleted",
        keeper(
            "def add(self, x):\n    self.kept[time.time(), 1] = x\n    for t in [t for t in self.kept if t[0] == self.count]:\n        del self.kept[t]",
            "self.kept = {}",
        ),
        "keeper.kept",
        "conditional",
        -1,
        "del self.kept[t]",
    ),
    Case(
        "what has a name is deleted where it is met",
        keeper(
            "def add(self, x):\n    self.kept[time.time(), 1] = x\n    for t in list(self.kept):\n        if t[0] in (1, 2) or t[0] == self.count:\n            del self.kept[t]",
            "self.kept = {}",
        ),
        "keeper.kept",
        "conditional",
        -1,
        "del self.kept[t]",
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
        "conditional",
        -1,
        "self.kept.pop()",
    ),
    Case(
        "what has been done is taken out by its own key",
        keeper(
            "def add(self, x):\n    self.count += 1\n    self.kept[self.count] = x\n    if x is None:\n        self.kept.pop(self.count)",
            "self.kept = {}",
        ),
        "keeper.kept",
        "conditional",
        -1,
        "self.kept.pop(self.count)",
    ),
]


def warmed_up(ends: str, further: str = "") -> str:
    """A program that drops what it gathered where its warm-up ends, and gathers on."""
    body = textwrap.indent(textwrap.dedent(ends), " " * 8)
    return f"""
class Keeper:
    def __init__(self): self.kept, self.rate, self.is_warm, self.count = [], None, False, 0
    def finish(self):
        self.kept = []
        return 0.1
    def add(self, x):
        self.count += 1
        self.kept.append(x)
{body}
{textwrap.indent(textwrap.dedent(further), " " * 4)}
keeper = Keeper()
def step(): keeper.add([1])
"""


AT_4 = "if self.count == 4: self.kept.clear()"
PAST = [
    ("the one count is past", AT_4, "", "uncalled", ""),
    ("the one count is past, a setting's", AT_4.replace("4", "self.due"), "due = 4", "uncalled", ""),
    ("past counts on the way", "if self.count != 4: return\nself.finish()", "", "uncalled", "self.kept = []"),
    ("the one count is now", AT_4.replace("4", "6"), "", "conditional", "self.kept.clear()"),
    ("a past count that is set back", AT_4 + "; self.count = 0", "", "reset", "self.kept.clear()"),
    (
        "a past count that is waited for again",
        AT_4.replace("4", "self.due") + "; self.due += 4",
        "due = 4",
        "reset",
        "",
    ),
    ("from a past count on", "if self.count >= 400: self.kept.clear()", "", "reset", "self.kept.clear()"),
    ("all but a past count", "if self.count != 4 and self.count % 9 == 0: self.kept.clear()", "", "reset", ""),
    (
        "replaced at a past count and at others",
        "if self.count == 4 or self.count % 9 == 0: self.finish()",
        "",
        "reset",
        "self.kept = []",
    ),
    (
        "replaced at a past count, and by whom it is handed",
        "if self.count == 4: self.finish()",
        "def hook(self): return [self.finish]",
        "conditional",
        "self.kept = []",
    ),
    (
        "a loop that began at a past count",
        "if self.count == 4:\n    while self.rate:\n        self.kept.clear()",
        "",
        "conditional",
        "self.kept.clear()",
    ),
    (
        "what waits since a past count",
        "if self.count == 4: self.waiting = self.wait()",
        "async def wait(self): self.kept.clear()",
        "conditional",
        "self.kept.clear()",
    ),
    (
        "what was made at a past count may run later",
        "if self.count == 4: self.hook = lambda: self.kept.clear()",
        "",
        "reset",
        "self.kept.clear()",
    ),
]
TWO_TRAINERS = """
kept = []
class Trainer:
    def __init__(self, count): self.count = count
    def step(self):
        self.count += 1
        kept.append([1])
        if self.count == 4: kept.clear()
trainers = [Trainer(0), Trainer(-50)]
def step():
    for trainer in trainers: trainer.step()
"""
BUS = """
class Bus:
    def __init__(self): self.kept = []
    def on(self, listener): self.kept.append(listener)
    def once(self, listener):
        def run(*args):
            self.off(run)
        self.on(run)
    def off(self, listener): self.kept.clear()
bus = Bus()
def step(): bus.on([1])
"""
HANDED_ON = [
    ("emptied by what nobody makes", BUS, "uncalled"),
    ("emptied by what nobody makes who is called", BUS + "def wait(): bus.once(print)\n", "uncalled"),
    ("emptied by what somebody makes", BUS + "bus.once(print)\nbus.kept.clear()\n", "reset"),
    ("emptied by what somebody may make", BUS + "hooks = [bus.once]\n", "reset"),
    ("emptied by what is made as objects are", BUS.replace("once", "__call__"), "reset"),
    ("emptied by what a decorator makes", BUS.replace("    def once", "    @staticmethod\n    def once"), "reset"),
    ("emptied by what set-up makes", BUS.replace("= []\n", "= []; self.once(1)\n"), "reset"),
    ("emptied by what nobody makes, and by others", BUS + "hooks = [bus.off]\n", "reset"),
]

RESET = [
    *(
        Case(name, source, "keeper.kept", kind, line=line)
        for name, source, kind, line in [
            (
                "cleared once, since a result is then known",
                warmed_up("if self.rate is None and self.count > 500:\n    self.kept.clear()\n    self.rate = len(x)"),
                "conditional",
                "self.kept.clear()",
            ),
            (
                "replaced once, by a function whose result ends it",
                warmed_up("if self.rate is None and self.count > 500:\n    self.rate = self.finish()"),
                "conditional",
                "self.kept = []",
            ),
            (
                "replaced once, under a flag",
                warmed_up("if self.count > 500 and not self.is_warm:\n    self.finish()\n    self.is_warm = True"),
                "conditional",
                "self.kept = []",
            ),
            (
                "cleared at one count",
                warmed_up("if self.count == 500: self.kept.clear()"),
                "conditional",
                "self.kept.clear()",
            ),
            *(
                (name, warmed_up(ends, further).replace("Keeper", f"Warmed{number}"), kind, line)
                for number, (name, ends, further, kind, line) in enumerate(PAST)
            ),
            (
                "the count begins anew",
                warmed_up("if self.count == 500:\n    self.kept.clear()\n    self.count = 0"),
                "reset",
                "self.kept.clear()",
            ),
            (
                "the count that is waited for moves on",
                warmed_up("if self.count == self.due:\n    self.kept.clear()\n    self.due += 500", "due = 500"),
                "reset",
                "self.kept.clear()",
            ),
            (
                "the flag is taken back",
                warmed_up(
                    "if self.count > 500 and not self.is_warm:\n    self.finish()\n    self.is_warm = True\n"
                    "if self.count % 700 == 0: self.is_warm = False"
                ),
                "reset",
                "self.kept = []",
            ),
            (
                "what is asked for is set elsewhere, too",
                warmed_up(
                    "if self.rate is None and self.count > 500:\n    self.rate = self.finish()",
                    "def restart(self, rate): self.rate = rate",
                ),
                "reset",
                "self.kept = []",
            ),
            (
                "replaced on another way, too",
                warmed_up(
                    "if self.rate is None and self.count > 500:\n    self.rate = self.finish()\n"
                    "if self.count % 700 == 0:\n    self.finish()"
                ),
                "reset",
                "self.kept = []",
            ),
            (
                "the test stays true in its own branch",
                warmed_up("if self.rate is None and self.count % 500 == 0:\n    self.finish()\n    self.rate = None"),
                "reset",
                "self.kept = []",
            ),
        ]
    ),
    *(Case(name, source, "bus.kept", kind, line="self.kept.clear()") for name, source, kind in HANDED_ON),
    Case(
        "the count of another object is past, of which there are two",
        TWO_TRAINERS,
        "kept",
        "conditional",
        line="kept.clear()",
    ),
    Case(
        "the count of the one object of its class is past",
        TWO_TRAINERS.replace(", Trainer(-50)", "").replace("Trainer", "OneTrainer"),
        "kept",
        "uncalled",
        line="kept.clear()",
    ),
    Case(
        "emptied under its name",
        keeper(
            "def add(self, x):\n    self.kept['loss'].append(x)\n    self.count += 1\n"
            "    if self.count % 500 == 0: self.flush()"
            + method("flush", "for i, (name, values) in enumerate(self.kept.items()): values.clear()"),
            "self.kept = {'loss': [], 'rate': []}",
        ),
        "keeper.kept['loss']",
        "reset",
    ),
    Case(
        "a class of another file that has its name, and is its base, empties it",
        "import other\nclass Keeper(other.Keeper):\n    def add(self, x):\n        self.count += 1\n        if self.count % 400 == 0: self.finish()\n        self.kept.append(x)\nkeeper = Keeper()\ndef step(): keeper.add([1])\n",
        "keeper.kept",
        "reset",
        line="self.kept.clear()",
        other="class Keeper:\n    def __init__(self): self.kept, self.count = [], 0\n    def finish(self): self.kept.clear()\n",
    ),
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
    *(
        Case(
            f"context variable that {name}",
            in_context(step, _SPANS + (_CALLED if "call" in step else "")),
            "var.get().kept",
            kind,
            line=line,
        )
        for name, step, kind, line in (
            ("perhaps gets back what it was", "call(False)", "unbounded", ""),
            ("surely gets back what it was", _SURELY, "reset", "var.reset(token)"),
            ("gets back what it had before", _ANEW, "reset", "var.reset(first)"),
        )
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
    *(
        Case(
            f"drained in each step: {loop}",
            keeper(appending() + method("take", f"taken = []\n{loop}"), step="keeper.add([1]); keeper.take()"),
            "keeper.kept",
            kind,
            -1,
            "pop()",
        )
        for loop, kind in (
            ("while self.kept and self.capacity:\n    taken.append(self.kept.pop())", "reset"),
            ("while self.kept and len(taken) < 8:\n    taken.append(self.kept.pop())", "conditional"),
            ("for _ in range(len(self.kept)):\n    taken.append(self.kept.pop())", "reset"),
            ("while len(self.kept):\n    taken.append(self.kept.pop())", "reset"),
            ("for _ in range(min(8, len(self.kept))):\n    taken.append(self.kept.pop())", "conditional"),
            ("while self.kept:\n    taken.append(self.kept.pop())\n    if len(taken) == 8: break", "conditional"),
        )
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
        "uncalled",
        -1,
        "self.keeper = Keeper()",
    ),
    *(
        Case(
            f"owner {name}",
            f"class Part:\n    def __init__(self): self.kept = []\nclass Whole:\n    def __init__(self, part): self.part, self.count = part, 0\n    def end(self): {end}\n    def run(self):\n        self.count += 1\n        self.part.kept.append([1])\n        if self.count % 900 == 0: self.end()\npart = Part()\nwhole = Whole(part)\ndef step(): whole.run()\n",
            "part.kept",
            kind,
            line=line,
        )
        for name, end, kind, line in (
            ("replaced where another has it", "self.part = Part()", "conditional", "self.part = Part()"),
            ("put back where another has it", "self.part = part", "unbounded", ""),
            ("beside what is replaced", "self.other = Part()", "unbounded", ""),
        )
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
