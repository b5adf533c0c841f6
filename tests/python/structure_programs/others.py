# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers of which nothing is known, caches of functions, and variables of running functions."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

import textwrap

from structure_programs import ORDERED, TASKS, Case, appending, in_context, keeper, method
from structure_programs.unbounded import CEASING, LOGGING, MOVING, PARTS, POOL

_RING = "if {}: self.kept.append(x)\n    else: self.kept[0] = x"
_NONE = {
    "or": _RING.format("self.most is None or len(self.kept) < self.most"),
    "not and": _RING.format("not (self.most and len(self.kept) >= self.most)"),
}

UNKNOWN = [
    *(
        Case(
            f"no limit, by {name}",
            keeper("def add(self, x):\n    " + body, "self.kept, self.most = [], None"),
            "keeper.kept",
            "unknown",
        )
        for name, body in _NONE.items()
    ),
    *(
        Case(
            f"a limit, by {name}",
            keeper("def add(self, x):\n    " + body, "self.kept, self.most = [], 40"),
            "keeper.kept",
            "bounded",
            40,
            "self.most",
        )
        for name, body in _NONE.items()
    ),
    Case(
        "tuples of a context variable, of which some are not given back",
        in_context(
            "global count\ncount += 1\ntoken = var.set((*var.get(), [1]))\nif count % 3 == 0: var.reset(token)",
            "var.set(())\ncount = 0",
        ),
        "var.get()",
        "unknown",
    ),
    *(
        Case(
            f"filled where a semaphore is {name}",
            keeper(
                appending(before=f"if not self.free.{call}: return"),
                init="import threading\nself.kept, self.free = [], threading.Semaphore(50)",
            ),
            "keeper.kept",
            kind,
            line="append" if kind == "conditional" else "",
        )
        for name, call, kind in (
            ("taken", "acquire(blocking=False)", "conditional"),
            ("shown", "__repr__()", "unknown"),
        )
    ),
    *(
        Case(f"below a test that may cease, {name}", keeper(methods, init), "keeper.kept", "unknown")
        for name, (methods, init) in CEASING.items()
    ),
    *(
        Case(
            f"emptied by a function that is handed on, {name}",
            keeper(appending() + method("other", "self.kept[:] = [1]"), after=after),
            "keeper.kept",
            "reset",
            line="self.kept[:] = [1]",
        )
        for name, after in {
            "by a variable": "other_step = keeper.other\natexit.unregister(other_step)",
            "by a function": "def make():\n    return keeper.other\natexit.unregister(make())",
        }.items()
    ),
    *(
        Case(f"of some parts for the time being, {test}", PARTS.replace("TEST", test), "keeper.kept", "unknown")
        for test in ("part.is_new", "part in self.todo", "part.grad is None", "part.ndim > self.mean")
    ),
    *(
        Case(
            f"of two a step, whose oldest goes {name}",
            keeper(
                "def add(self, x):\n    self.count += 2\n    self.kept[self.count], self.kept[self.count + 1] = x, [x]\n"
                + textwrap.indent(removal, "    "),
                ORDERED,
            ),
            "keeper.kept",
            kind,
            line="popitem" * (kind != "unknown"),
        )
        for name, removal, kind in (
            ("at an odd length", "if len(self.kept) == 3: self.kept.popitem(last=False)", "unbounded"),
            ("one by one", "if len(self.kept) > 3: self.kept.popitem(last=False)", "expiring"),
            (
                "at an odd length and elsewhere",
                "if len(self.kept) == 3: self.kept.popitem(last=False)\n"
                "if self.count == 8: self.kept.popitem(last=False)",
                "expiring",
            ),
        )
    ),
    Case(
        "filled as long as there is room by a function's word",
        keeper(
            "def add(self, x):\n    if self.room() > 1: self.kept.append(x)"
            + method("room", "return self.capacity / max(1, len(self.kept))")
        ),
        "keeper.kept",
        "unknown",
    ),
    Case(
        "filled as long as a share of it is small",
        keeper(
            "def add(self, x):\n    if self.share() < 1: self.kept.append(x)"
            + method("share", "return len(self.kept) / max(1, self.capacity)")
        ),
        "keeper.kept",
        "unknown",
    ),
    Case(
        "what returns a share of it is handed on",
        keeper(
            appending()
            + method("share", "return len(self.kept) / max(1, self.capacity)")
            + method("show", "print(self.share(), watcher(self.share))"),
            after="def watcher(f): return f",
        ),
        "keeper.kept",
        "conditional",
        -1,
        "return len",
    ),
    Case(
        "part of its room is returned",
        keeper(appending() + method("load", "return len(self.kept) / self.capacity")),
        "keeper.kept",
        "unknown",
    ),
    Case("moved from a pool that nothing fills again", keeper(MOVING, POOL), "keeper.kept", "unknown"),
    Case(
        "moved from a pool by what calls it",
        keeper(
            "def add(self, x): self.kept.append(x)" + method("work", "del self.waiting[0]; self.add([1])"),
            POOL,
            "keeper.work()",
        ),
        "keeper.kept",
        "unknown",
    ),
    Case(
        "two calls below a test that may cease to hold",
        keeper(LOGGING.replace("TEST", "self.left"), "self.kept, self.left = [], [1]", "keeper.work()"),
        "keeper.kept",
        "unknown",
    ),
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
        "a deque made anew of a length that its settings lack",
        keeper(
            appending()
            + method("configure", "self.kept = collections.deque(self.kept, maxlen=self.settings.get('window'))"),
            "self.kept = collections.deque()\nself.settings = {}",
            after="keeper.configure()",
        ),
        "keeper.kept",
        "conditional",
        -1,
        "maxlen=self.settings.get('window')",
    ),
    Case(
        "how it is filled depends on its length",
        keeper(appending().replace("self.kept.append", "(self.kept.append if len(self.kept) < 1000 else print)")),
        "keeper.kept",
        "conditional",
        -1,
        "len(self.kept) < 1000",
    ),
    *(
        Case(
            name, keeper(appending(more, before) + method("__len__", returned)), "keeper.kept", "conditional", line=line
        )
        for name, more, before, returned, line in [
            (
                "what len says, under a name, ends it",
                "size = len(self)\nif size > 900:\n    raise ValueError",
                "",
                "return len(self.kept)",
                "return len",
            ),
            (
                "what len says, under two names, ends it",
                "size = len(self)\nhalf = size - 1\nif half > 900:\n    raise ValueError",
                "",
                "return len(self.kept)",
                "return len",
            ),
            (
                "what len says is kept, which may end it",
                "self.size = len(self)",
                "",
                "return len(self.kept)",
                "return len",
            ),
            (
                "what len says is returned, which may end it",
                "return len(self)",
                "",
                "return len(self.kept)",
                "return len",
            ),
            ("len says more than that there is something", "", "", "return len(self.kept) // 900", "return len"),
        ]
    ),
    *(
        Case(
            name,
            keeper("def add(self, x):\n" + textwrap.indent(filled, "    ")),
            "keeper.kept",
            "conditional",
            line=line,
        )
        for name, filled, line in [
            ("as many as are missing", "self.kept.extend([x][: self.capacity - len(self.kept)])", "- len"),
            (
                "as many as are missing, under a name",
                "room = self.capacity - len(self.kept)\nself.kept += [x][:room]",
                "room =",
            ),
            (
                "in a loop over those that are missing",
                "for _ in range(min(1, 900 - len(self.kept))):\n    self.kept.append(x)",
                "- len",
            ),
            (
                "up to what is needed",
                "self.count += 1\nfor i in range(len(self.kept), self.count):\n    self.kept.append(x)",
                "range(len",
            ),
        ]
    ),
    Case(
        "its length says when it ends",
        keeper(appending("if len(self.kept) > 1000:\n    return True")),
        "keeper.kept",
        "conditional",
        -1,
        "len(self.kept) > 1000",
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
        "conditional",
        -1,
        "self.kept[1:]",
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
        "import functools\n@functools.cache\ndef make(n):\n    return [n]\nn = 0\ndef step():\n    global n\n    n += 1\n    make(n % 700)\n",
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
        "make = functools.lru_cache(64 + 1)(make)",
    ),
    *(
        Case(
            f"cache of a method under another name, asked for {asked}",
            "import functools\nclass Model:\n    def __init__(self):\n        self.encode = functools.cache(self._encode)\n    def _encode(self, n):\n        return [n]\nmodel = Model()\nn = 0\ndef step():\n    global n\n    n += 1\n    model.encode("
            + asked
            + ")\n",
            "@model.encode",
            kind,
            -1,
            line,
        )
        for asked, kind, line in (
            ("n", "unbounded", ""),
            ("n % 700", "keyed", "self.encode = functools.cache(self._encode)"),
        )
    ),
]


WINDOW = """
import types
def main(probe):
    arguments = types.SimpleNamespace(window=30)
    NEXT
    losses = []
    for _ in range(6):
        losses.append([1])
        losses = losses[-arguments.window :]
    probe()
if __name__ == '__main__':
    main(None)
"""

RUNNING = [
    *(
        Case(
            f"cut to what a variable of it has, {name}",
            WINDOW.replace("NEXT", line),
            "losses",
            "bounded",
            bound,
            "[-arg",
        )
        for name, line, bound in (
            ("which is made once", "pass", 30),
            ("which is made twice", "arguments = types.SimpleNamespace(window=40)", -1),
            ("which a loop makes", "for arguments in [types.SimpleNamespace(window=40)]: pass", -1),
        )
    ),
    Case(
        "bytes that a variable of it counts",
        "def main(probe):\n    losses, used = [], 0\n    for _ in range(6):\n        if used < 200:\n"
        "            losses.append(b'12345')\n            used += len(losses[-1])\n    probe()\n",
        "losses",
        "bounded",
        40,
        "losses.append",
    ),
    Case(
        "bytes that a variable of it counts anew in each round",
        "def main(probe):\n    losses = []\n    for _ in range(6):\n        used = 0\n        if used < 200:\n"
        "            losses.append(b'12345')\n            used += len(losses[-1])\n    probe()\n",
        "losses",
        "unknown",
    ),
    Case(
        "local of main",
        "def main(probe):\n    losses = []\n    for _ in range(6):\n        losses.append([1])\n    probe()\ndef run(probe): pass\nif __name__ == '__main__':\n    main(None)\n",
        "losses",
        "unbounded",
    ),
    Case(
        "of a with statement around the loop",
        "from contextlib import nullcontext\ndef main(probe):\n    with nullcontext([]) as losses:\n        for _ in range(6):\n            losses.append([1])\n        probe()\nif __name__ == '__main__':\n    main(None)\n",
        "losses",
        "unbounded",
    ),
    Case(
        "of a with statement in each epoch",
        "from contextlib import nullcontext\ndef main(probe):\n    for _ in range(2):\n        with nullcontext([]) as losses:\n            for _ in range(6):\n                losses.append([1])\n        probe()\nif __name__ == '__main__':\n    main(None)\n",
        "losses",
        "reset",
        -1,
        "with nullcontext([]) as losses:",
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
