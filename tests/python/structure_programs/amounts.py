# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that end by bytes, elements or other amounts, which a test around what fills them asks for."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

import textwrap

from structure_programs import ORDERED, Case, keeper, method

STEP = "keeper.add(b'12345')"
INIT = "self.kept, self.used, self.limit = [], 0, 200"


def adding(body: str, more: str = "") -> str:
    return "def add(self, x):\n" + textwrap.indent(textwrap.dedent(body), "    ") + more


def filled(
    name: str,
    body: str,
    kind: str = "bounded",
    bound: int = -1,
    line: str = "self.kept.append",
    more: str = "",
    init: str = INIT,
    step: str = STEP,
    after: str = "",
) -> Case:
    return Case(name, keeper(adding(body, more), init, step, after), "keeper.kept", kind, bound, line)


def unsure(name: str, body: str, more: str = "", init: str = INIT, step: str = STEP, after: str = "") -> Case:
    """What bounds nothing for all that is known, so that growth is a leak."""
    return filled(name, body, "unknown", -1, "", more, init, step, after)


COUNTED = "if self.used < self.limit:\n    self.kept.append(x)\n    self.used += len(x)"
ITEM = COUNTED.replace("self.used", "self.stats['bytes']")
STATS = "self.kept, self.stats, self.limit = [], {'bytes': 0, 'rows': 5}, 200"
EVICTING = "self.kept.append(x)\nself.used += len(x)\nwhile self.used > self.limit:\n    LINE"
SUMMED = "if SUM < self.limit: self.kept.append(x)"
TENSOR = {"init": "import torch\nself.kept, self.used, self.limit = [], 0, 200", "step": "keeper.make()"}
MAKING = method("make", "import torch\nself.add(torch.zeros(5))") + "\ndef weight(self, x): return x.numel()"

AMOUNTS = [
    filled("bytes counted beside it", COUNTED, bound=40),
    filled("up to as many", COUNTED.replace("<", "<="), bound=41),
    filled("counted by a statement of its own", COUNTED.replace("+= len(x)", "= self.used + len(x)"), bound=40),
    filled(
        "counted by a name", COUNTED.replace("    self.used += len(x)", "    n = len(x)\n    self.used += n"), bound=40
    ),
    filled(
        "counted before", "self.used += len(x)\nif self.used > self.limit:\n    return\nself.kept.append(x)", bound=41
    ),
    filled(
        "with what comes in",
        "if self.used + len(x) > self.limit:\n    return False\nself.used += len(x)\nself.kept.append(x)",
        bound=40,
    ),
    filled(
        "with what comes in, under names",
        "used = self.used + len(x)\nif used <= self.limit:\n    self.kept.append(x)\n    self.used = used",
        bound=40,
    ),
    filled(
        "as long as there is room",
        "room = self.limit - self.used\nif len(x) <= room:\n    self.kept.append(x)\n    self.used += len(x)",
        bound=40,
    ),
    filled("in other units", COUNTED.replace("self.used <", "self.used / 10 <"), bound=400),
    filled("of a limit in other units", COUNTED.replace("self.limit", "self.limit * 4 // 2"), bound=80),
    filled("one of two tests", COUNTED.replace("if self", "if x and self"), bound=40),
    filled("by a literal", COUNTED.replace("len(x)", "7"), bound=29),
    filled("by a literal up to as many", COUNTED.replace("len(x)", "10").replace("<", "<="), bound=21),
    filled(
        "by a literal, of a limit that is not known",
        COUNTED.replace("len(x)", "7").replace("self.limit", "limit()"),
        after="def limit(): return 200",
    ),
    filled(
        "by what a function says", COUNTED.replace("len(x)", "cost(x)"), bound=40, after="def cost(x): return len(x)"
    ),
    filled(
        "by what is not known, which rises",
        COUNTED.replace("len(x)", "self.count"),
        bound=40,
        init=INIT + "\nself.count = 5",
    ),
    filled("of elements", COUNTED.replace("len(x)", "x.numel()"), bound=40, more=MAKING, **TENSOR),
    filled(
        "of bytes of the newest", COUNTED.replace("len(x)", "self.kept[-1].nbytes"), bound=10, more=MAKING, **TENSOR
    ),
    filled(
        "of each part",
        COUNTED.replace("    self.used += len(x)", "    for part in (x, x):\n        self.used += len(part)"),
        bound=20,
    ),
    filled("beside a test", COUNTED + "\n    if x:\n        print(x)", bound=40),
    filled(
        "a test in a property",
        COUNTED.replace("self.used < self.limit", "not self.full"),
        bound=40,
        more="\n@property" + method("full", "return self.used >= self.limit"),
    ),
    filled(
        "counted by a method",
        COUNTED.replace("self.used += len(x)", "self.took(x)"),
        bound=40,
        more="\ndef took(self, x):\n    self.used += len(x)",
    ),
    filled(
        "filled and counted by a method",
        "if self.used < self.limit: self.put(x)",
        bound=40,
        more="\ndef put(self, x):\n    self.kept.append(x)\n    self.used += len(x)",
    ),
    Case(
        "up to what is passed",
        keeper(
            "def add(self, x, most):\n" + textwrap.indent(COUNTED.replace("self.limit", "most"), "    "),
            INIT,
            "keeper.add(b'12345', 200)",
        ),
        "keeper.kept",
        "bounded",
        40,
        "self.kept.append",
    ),
    *(
        filled(
            f"of a limit that {name} has",
            COUNTED.replace("self.limit", "self.trainer.maxsize"),
            bound=40,
            init=INIT + f"\nself.trainer = {made}",
        )
        for name, made in (
            ("a library's object", "queue.Queue(maxsize=200)"),
            ("a space of names", "__import__('types').SimpleNamespace(maxsize=200)"),
        )
    ),
    filled("counted in an item", ITEM, bound=40, init=STATS),
    Case(
        "counted in an object of another class",
        "class Meter:\n    def __init__(self): self.used = 0\n"
        + keeper(adding(COUNTED.replace("self.used", "self.meter.used")), INIT + "\nself.meter = Meter()", STEP),
        "keeper.kept",
        "bounded",
        40,
        "self.kept.append",
    ),
    filled(
        "counted in another object",
        COUNTED.replace("self.used", "self.meter.used"),
        bound=40,
        init=INIT + "\nself.meter = type('Meter', (), {})()\nself.meter.used = 0",
    ),
    filled(
        "or else a loop is left",
        "for item in [x]:\n    if self.used >= self.limit: break\n    self.kept.append(item)\n    self.used += len(item)",
        bound=40,
    ),
    filled(
        "filled up in a loop",
        "while self.used < self.limit:\n    self.kept.append(x)\n    self.used += len(x)\n    break",
        bound=40,
    ),
    filled(
        "or else nothing is added",
        "self.kept += [x] if self.used < self.limit else []\nself.used += len(x)",
        bound=40,
        line="self.kept +=",
    ),
    filled(
        "the last of three conditions",
        "x and self.kept is not None and self.used < self.limit and self.put(x)",
        bound=40,
        more="\ndef put(self, x):\n    self.kept.append(x)\n    self.used += len(x)",
    ),
    filled(
        "taken back where it is emptied",
        COUNTED,
        bound=40,
        more=method("flush", "self.kept.clear()\nself.used = 0"),
    ),
    filled(
        "another class has a count of that name, which begins again",
        COUNTED,
        bound=40,
        after="class Meter:\n    def begin(self): self.used = 0",
    ),
    filled(
        "a budget",
        "if self.left > 0:\n    self.kept.append(x)\n    self.left -= len(x)",
        bound=40,
        init="self.kept, self.left = [], 200",
    ),
    filled(
        "a budget of which something is left",
        "if len(x) <= self.left:\n    self.kept.append(x)\n    self.left -= len(x)",
        bound=40,
        init="self.kept, self.left = [], 200",
    ),
    filled(
        "a budget by a literal",
        "if self.left >= 2:\n    self.kept.append(x)\n    self.left -= 2",
        bound=100,
        init="self.kept, self.left = [], 200",
    ),
    filled(
        "a budget in every tenth step",
        "if self.count % 1 == 0 and self.left >= 2:\n    self.left -= 2\n    self.kept.append(x)",
        bound=100,
        init="self.kept, self.left = [], 200",
    ),
    filled("while a count is left", "self.count += 1\nif 900 - self.count > 5: self.kept.append(x)", bound=895),
    filled(
        "while a count is left, under a name",
        "self.count += 1\nleft = 900 - self.count\nif left > 5: self.kept.append(x)",
        bound=895,
    ),
    *(
        filled(f"summed up, {name}", SUMMED.replace("SUM", text), bound=bound, more=MAKING, **TENSOR)
        for name, text, bound in (
            ("elements", "sum(t.numel() for t in self.kept)", 40),
            ("bytes", "sum(t.element_size() * t.nelement() for t in self.kept)", 10),
            ("of a list", "sum([t.nbytes for t in self.kept])", 10),
            ("lengths", "sum(map(len, self.kept))", -1),
            ("what is not known", "sum(self.weight(t) for t in self.kept)", -1),
        )
    ),
    filled("summed up, texts", SUMMED.replace("SUM", "sum(map(len, self.kept))"), bound=40),
    filled(
        "summed up under a name",
        "total = sum(len(item) for item in self.kept)\nif total + len(x) > self.limit:\n    return\nself.kept.append(x)",
        bound=40,
    ),
    filled(
        "summed up by a method",
        SUMMED.replace("SUM", "self.total()"),
        bound=40,
        more=method("total", "return sum(len(item) for item in self.kept)"),
    ),
    filled(
        "counted anew each time",
        "if self.used < self.limit: self.kept.append(x)\nself.used = sum(len(item) for item in self.kept)",
        bound=40,
    ),
    *(
        filled(
            f"by {name}",
            f"if {test} < self.limit:\n    self.kept.append(x)\n    {fill}",
            bound=bound,
            init=f"self.kept, self.limit, self.others = [], 200, {made}",
        )
        for name, test, fill, made, bound in (
            ("the length of a buffer", "len(self.others)", "self.others += x", "bytearray()", 40),
            ("the length of a text", "len(self.others)", "self.others = self.others + x.decode()", "''", 40),
            ("the length of a buffer that is extended", "len(self.others)", "self.others.extend(x)", "bytearray()", 40),
            ("the length of another list", "len(self.others)", "self.others.append(x)", "[]", 200),
            ("the sum of another list", "sum(self.others)", "self.others.append(len(x))", "[]", 40),
        )
    ),
    filled(
        "by the bytes of a buffer",
        "if sys.getsizeof(self.others) < self.limit:\n    self.kept.append(x)\n    self.others += x",
        bound=34,
        init="import sys\nself.kept, self.limit, self.others = [], 200, b''",
        after="import sys",
    ),
    filled("the oldest go", EVICTING.replace("LINE", "self.used -= len(self.kept.pop(0))"), bound=40, line="pop(0)"),
    filled(
        "the oldest go, under a name",
        EVICTING.replace("LINE", "old = self.kept.pop(0)\n    self.used -= len(old)"),
        bound=40,
        line="pop(0)",
    ),
    filled(
        "all go",
        EVICTING.replace("while", "if").replace("LINE", "self.kept.clear()\n    self.used = 0"),
        bound=40,
        line="clear()",
    ),
    filled(
        "all go, made anew",
        EVICTING.replace("while", "if").replace("LINE", "self.kept, self.used = [], 0"),
        bound=40,
        line="self.kept, self.used",
    ),
    filled(
        "the oldest go by a sum",
        "self.kept.append(x)\nwhile sum(map(len, self.kept)) > self.limit:\n    self.kept.pop(0)",
        bound=40,
        line="pop(0)",
    ),
    Case(
        "a cache of so many bytes",
        keeper(
            adding(
                "self.count += 1\nself.kept[self.count] = x\nself.used += len(x)\n"
                "while self.used > self.limit:\n    _, old = self.kept.popitem(last=False)\n    self.used -= len(old)"
            ),
            ORDERED + "\nself.used, self.limit = 0, 200",
            STEP,
        ),
        "keeper.kept",
        "bounded",
        40,
        "popitem",
    ),
    Case(
        "a count of the module",
        "kept, used = [], 0\ndef step():\n    global used\n    if used < 200:\n        kept.append(b'12345')\n        used += len(kept[-1])\n",
        "kept",
        "bounded",
        40,
        "kept.append",
    ),
    unsure(
        "counted elsewhere",
        "if self.used < self.limit:\n    self.kept.append(x)",
        more="\ndef count(self, x):\n    self.used += len(x)",
    ),
    unsure("counted under another test", COUNTED.replace("    self.used", "    if not x: self.used")),
    unsure("counted unless it returns before", COUNTED.replace("    self.used", "    if x: return\n    self.used")),
    unsure(
        "counted before the steps",
        "if self.used < self.limit: self.kept.append(x)",
        more="\ndef setup(self, x): self.used += len(x)",
    ),
    unsure("begins again in each step", "self.used = 0\n" + COUNTED),
    unsure("begins again in each epoch", COUNTED, more=method("on_epoch", "self.used = 0")),
    unsure("begins again from outside", COUNTED, after="def on_epoch(keeper): keeper.used = 0"),
    unsure(
        "begins again where one goes",
        COUNTED + "\n    if self.used > 90:\n        self.used = 0",
        more=method("drop", "pass"),
    ),
    Case(
        "another's count is tested, which rises as well",
        "class Other:\n    def __init__(self): self.used = 5\n"
        + keeper(adding(COUNTED.replace("if self.used", "if self.other.used")), INIT + "\nself.other = Other()", STEP),
        "keeper.kept",
        "unknown",
    ),
    *(
        filled(
            f"every tenth of {name}",
            f"{before}\nif {now} >= self.next:\n    self.kept.append(x)\n    self.next += {each}",
            kind,
            init=INIT + "\nself.next, self.trainer = 0, queue.Queue()\nvars(self.trainer).update(global_step=500)",
            step=step,
            line="",
        )
        for name, now, before, step, each, kind in (
            ("what is counted", "self.count", "self.count += 20", STEP, "10", "unbounded"),
            ("what is counted, by a size", "self.count", "self.count += 20", STEP, "len(x)", "unbounded"),
            ("the time", "time.time()", "", STEP, "10", "unbounded"),
            ("a library's attribute", "self.trainer.global_step", "", STEP, "10", "unknown"),
            ("what is passed", "x", "", "import random\nkeeper.add(random.randint(500, 600))", "10", "unknown"),
        )
    ),
    unsure("another item counts", ITEM.replace("if self.stats['bytes']", "if self.stats['rows']"), init=STATS),
    unsure("an item begins again", ITEM, more=method("on_epoch", "self.stats['bytes'] = 0"), init=STATS),
    unsure(
        "another's count is tested",
        COUNTED.replace("if self.used", "if self.other.used"),
        init=INIT + "\nself.other = type('Other', (), {'used': 0})()",
    ),
    *(
        Case(
            f"with which the training ends, {name}",
            f"kept, used, x = [], 0, b'12345'\ndef train(optimizer):\n    global used\n    {loop}\n        optimizer.step(); {test}\n"
            "        kept.append(x)\n        used += len(x)\n        if len(x) == 5: break\n"
            "class Optimizer:\n    def step(self): pass\ndef step(): train(Optimizer())\n",
            "kept",
            "unbounded",
        )
        for name, loop, test in (
            ("in its head", "while used < 200:", "pass"),
            ("by leaving it", "while True:", "\n        if used >= 200: break"),
        )
    ),
    Case(
        "or else a setting adds nothing",
        keeper(adding("self.kept += [x] if self.count < 9 else []"), INIT, STEP),
        "keeper.kept",
        "unknown",
    ),
    unsure("lowered again", COUNTED + "\n    self.used -= len(x)"),
    unsure("lowered by a method", COUNTED, more="\ndef forget(self, x):\n    self.used -= len(x)"),
    unsure("another branch fills it, too", COUNTED + "\nelse:\n    self.kept.append(x)"),
    unsure("may add nothing", COUNTED.replace("len(x)", "(len(x) if x is None else 0)")),
    unsure(
        "may add nothing, by a function",
        COUNTED.replace("len(x)", "cost(x)"),
        after="def cost(x):\n    if x: return 0\n    return len(x)",
    ),
    unsure("adds nothing yet", COUNTED.replace("len(x)", "self.count")),
    unsure("adds less than nothing", COUNTED.replace("len(x)", "-len(x)")),
    unsure("a limit that rises", COUNTED, more="\ndef more(self): self.limit *= 2"),
    unsure("as long as it is large", COUNTED.replace("<", ">=").replace("self.limit", "0")),
    unsure(
        "a budget that comes back",
        "if self.left > 0:\n    self.kept.append(x)\n    self.left -= len(x)",
        more=method("on_epoch", "self.left = 200"),
        init="self.kept, self.left = [], 200",
    ),
    unsure("a sum of some items", SUMMED.replace("SUM", "sum(len(item) for item in self.kept if not item)")),
    unsure(
        "a sum of another list that is not filled beside it",
        SUMMED.replace("SUM", "sum(self.others)"),
        init=INIT + "\nself.others = [1]",
    ),
    unsure(
        "the length of another list that loses items",
        "if len(self.others) < self.limit:\n    self.kept.append(x)\n    self.others.append(x)",
        more=method("take", "self.others.pop()"),
        init=INIT + "\nself.others = []",
    ),
    unsure(
        "the length of another list that has an end of its own",
        "if len(self.others) < self.limit:\n    self.kept.append(x)\n    self.others.append(x)",
        init=INIT + "\nself.others = collections.deque(maxlen=9)",
    ),
    Case(
        "removed where an amount of one of many objects is large",
        """
import itertools
class Request:
    def __init__(self, number): self.number, self.produced, self.budget = number, [], 3
    def is_complete(self): return len(self.produced) >= self.budget
class Server:
    def __init__(self): self.caches, self.active, self.numbers = {}, [], itertools.count()
    def of(self, number):
        if number not in self.caches: self.caches[number] = [1]
        return self.caches[number]
    def release(self, number): del self.caches[number]
    def tick(self):
        self.active.append(Request(next(self.numbers)))
        for request in self.active:
            self.of(request.number)
            request.produced.append(1)
            if request.is_complete(): self.release(request.number)
        self.active = [request for request in self.active if not request.is_complete() and request.number % 3]
server = Server()
def step(): server.tick()
""",
        "server.caches",
        "keyed",
        line="not in self.caches",
    ),
]
