# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that cannot hold more than they may, by their type or by the sources."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

from structure_programs import ORDERED, Case, appending, in_context, in_threads, keeper, method

BOUNDED_BY_TYPE = [
    Case(
        "deque with maxlen",
        keeper(appending(), "self.kept = collections.deque(maxlen=50)"),
        "keeper.kept",
        "bounded",
        50,
    ),
    Case(
        "deque made anew of a length that its settings have",
        keeper(
            appending()
            + method("configure", "self.kept = collections.deque(self.kept, maxlen=self.settings.get('window'))"),
            "self.kept = collections.deque()\nself.settings = {'window': 50}",
            after="keeper.configure()",
        ),
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
    *(
        Case(
            f"mixed, and put back, {name}",
            keeper(
                appending(f"mixed = list(self.kept)\n{cut}\nself.kept = collections.deque({back})"),
                "self.kept = collections.deque()",
            ),
            "keeper.kept",
            "bounded",
            40,
            line=line,
        )
        for name, cut, back, line in [
            ("without the first", "if len(mixed) > 40: mixed.pop(0)", "mixed", "mixed.pop(0)"),
            ("but for the first", "del mixed[:-40]", "mixed", "del mixed"),
            ("up to a length", "pass", "mixed, maxlen=40", ""),
        ]
    ),
    Case(
        "what it took is counted beside it",
        keeper(
            "def add(self, x):\n    if self.taken < self.capacity:\n        self.taken = self.taken + 1\n        self.kept.append(x)\n    else:\n        self.kept[3] = x",
            "self.taken, self.kept = 0, []",
        ),
        "keeper.kept",
        "bounded",
        40,
        "self.kept.append",
    ),
    Case(
        "only before some step",
        keeper("def add(self, x):\n    self.count += 1\n    if self.count < 1000:\n        self.kept.append(x)"),
        "keeper.kept",
        "bounded",
        -1,
        "self.kept.append",
    ),
    Case(
        "what counts begins again",
        keeper(
            "def add(self, x):\n    self.count += 1\n    if self.count < 30:\n        self.kept.append(x)"
            + method("begin_epoch", "self.count = 0"),
        ),
        "keeper.kept",
        "unknown",
    ),
    Case(
        "attribute of a threading.local, popped when long",
        "import threading\nlocal = threading.local()\nlocal.kept = []\ndef step():\n    local.kept.append([1])\n"
        "    if len(local.kept) > 300: local.kept.pop(0)\n",
        "local.kept",
        "bounded",
        300,
    ),
    Case(
        "attribute of a class that is local to threads, of which there are several, popped when long",
        in_threads("store.add([1])\nif len(store.kept) > 300: store.kept.pop(0)"),
        "store.kept",
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
    Case(
        "trim to less than it may have",
        keeper(appending("if len(self.kept) > 90:\n    del self.kept[:90 - 30]")),
        "keeper.kept",
        "bounded",
        90,
        "del self.kept",
    ),
    Case(
        "trim by a number that is not known, of what is too long",
        keeper(appending("if len(self.kept) > 90:\n    del self.kept[:uuid.getnode() % 7 + 1]")),
        "keeper.kept",
        "bounded",
        90,
        "del self.kept",
    ),
    *(
        Case(f"part that is replaced, {name}", keeper(appending(body)), "keeper.kept", kind, bound, line)
        for name, body, kind, bound, line in [
            ("by as many", "new = [item]\nself.kept[-len(new) :] = list(new)", "unbounded", -1, ""),
            (
                "by as many, made of them",
                "new = [item]\nself.kept[: len(new)] = [[n] for n in new]",
                "unbounded",
                -1,
                "",
            ),
            ("by one for one", "self.kept[-1:] = [[item]]", "unbounded", -1, ""),
            ("at every second place", "self.kept[::2] = [[y] for y in self.kept[::2]]", "unbounded", -1, ""),
            (
                "by some of as many",
                "new = [item]\nself.kept[-len(new) :] = list(filter(None, new))",
                "conditional",
                -1,
                "filter",
            ),
            ("by one for two", "self.kept[-2:] = [[item]]", "conditional", -1, "[[item]]"),
            ("by fewer than that", "new = [item]\nself.kept[-len(new) - 1 :] = list(new)", "conditional", -1, "list"),
            ("by none", "self.kept[:-25] = []", "bounded", 25, "= []"),
            ("by none, all but the last", "self.kept[25:] = []", "bounded", 25, "= []"),
            ("at the front, where there is none", "self.kept[:0] = [[item]]", "unbounded", -1, ""),
            ("at the end, where there is none", "self.kept[len(self.kept) :] = [[item]]", "unbounded", -1, ""),
        ]
    ),
    Case("trim by del", keeper(appending("del self.kept[:-25]")), "keeper.kept", "bounded", 25, "del self.kept"),
    Case(
        "trim by the excess",
        keeper(appending("excess = len(self.kept) - 35\nif excess > 0:\n    del self.kept[:excess]")),
        "keeper.kept",
        "bounded",
        35,
        "excess",
    ),
    Case(
        "trim by a number that is not the excess",
        keeper(appending("excess = self.capacity - 35\nif excess > 0:\n    del self.kept[:excess]")),
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
        "nothing is added where it is full",
        keeper(appending().replace("self.kept.append(item)", "self.kept += [item] if len(self.kept) < 70 else []")),
        "keeper.kept",
        "bounded",
        70,
        "self.kept +=",
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
        "filled while counted, then changed at some places",
        keeper(
            "def add(self, x):\n    if self.count < 50:\n        self.count += 1\n        self.kept.append(x)\n    else:\n        self.kept[self.count % 2] = x"
        ),
        "keeper.kept",
        "bounded",
        50,
        "append",
    ),
    Case(
        "changed at some places and filled for ever",
        keeper("def add(self, x):\n    self.kept.append(x)\n    self.kept[self.count % 2] = x\n    self.count += 1"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "ring by its length",
        keeper(
            "def add(self, x):\n    self.count += 1\n    self.kept[self.count % len(self.kept)] = x",
            "self.kept = [None] * 50",
        ),
        "keeper.kept",
        "bounded",
        50,
        "% len(self.kept)",
    ),
    Case(
        "ring by another's length",
        keeper(
            "def add(self, x):\n    self.count += 1\n    self.kept[self.count % len(self.names)] = x",
            "self.kept = [None] * 50; self.names = ['a', 'b']",
        ),
        "keeper.kept",
        "bounded",
        -1,
        "% len(self.names)",
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
        "keys by the number of entries, which are taken out",
        keeper(
            "def add(self, x):\n    self.kept[len(self.kept)] = [x]\n    if len(self.kept) > 30: self.kept.popitem()",
            "self.kept = {}",
        ),
        "keeper.kept",
        "bounded",
        30,
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
        "bounded",
        bound=27,
        line="pop(0)",
    ),
]
