# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Lines that might keep a container small, and of which the running program tells that they do not; and near misses."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

import textwrap

from structure_programs import Case, keeper, method

_SIZE = "self.kept = []\nself.size = 2"
_HARDEST = "if len(self.kept) < self.size: self.kept.append(x)\nelif x: self.kept.append(x)"

_PAST = "self.kept += [x, x]\n"
_PAST_SIZE = "self.kept = []\nself.size = 3"


def _adding(body: str, init: str = _SIZE, more: str = "") -> str:
    return keeper("def add(self, x):\n" + textwrap.indent(body, "    ") + more, init)


def _asked(name: str, test: str, kind: str = "unbounded", init: str = _SIZE) -> Case:
    """Filled in each step, whatever is asked about its length beside."""
    source = _adding("self.kept.append(x)\nself.show()", init, method("show", test))
    return Case(
        f"asked for its length, {name}",
        source,
        "keeper.kept",
        kind,
        line=test.split(":")[0][:6] * (kind == "conditional"),
    )


ASKED = [
    _asked("as it is too short for something", "if len(self.kept) < self.size: return 0.0\nreturn sum(map(len, self.kept))"),
    _asked("as it is empty", "if len(self.kept) == 0: raise ValueError\nreturn self.kept[-1]"),
    _asked("as it is not long enough", "if not len(self.kept) >= self.size: return 0.0"),
    _asked("as it is not empty", "if len(self.kept) != 0: return 1.0", "conditional"),
    _asked("as it is long enough", "if len(self.kept) >= self.size: return 1.0", "conditional"),
    _asked("as it is too short, or not", "if len(self.kept) < self.size: return 0.0\nelse: return 1.0", "conditional"),
    _asked("as it is still too short", "if len(self.kept) < self.size: return 0.0", "conditional", "self.kept = []\nself.size = 90"),
    _asked("as it is too short or it is late", "if len(self.kept) < self.size or self.count > 900: return 0.0", "conditional"),
    _asked("to read one of its own", "return self.kept[-1 - min(3, len(self.kept) - 1)]"),
    _asked("to read one of another", "return self.others[-1 - min(3, len(self.kept) - 1)]", "conditional", "self.kept, self.others = [], [0] * 900"),
]  # fmt: skip

PASSED = [
    Case(f"filled while short, {name}", _adding(body, init, more), "keeper.kept", kind, line=line)
    for name, body, init, more, kind, line in [
        ("and as well when long", _HARDEST, _SIZE, "", "unknown", ""),
        (
            "and as well when long, behind a return",
            "if len(self.kept) < self.size:\n    self.kept.append(x)\n    return\nif x: self.kept.append(x)",
            _SIZE,
            "",
            "unknown",
            "",
        ),
        ("and as well when long, which it is not yet", _HARDEST, "self.kept = []\nself.size = 4", "", "conditional", "if len"),
        (
            "and as well when long, by a number that changes",
            _HARDEST,
            _SIZE,
            method("grow", "self.size = 90"),
            "conditional",
            "if len",
        ),
        (
            "and as well when long, but some go at the end of an epoch",
            "self.count += 1\nif self.count % 4000 == 0: self.finish()\n" + _HARDEST,
            _SIZE,
            method("finish", "self.kept = heapq.nlargest(self.size, self.kept)"),
            "conditional",
            "nlargest",
        ),
        (
            "and as well when long, but code that is not read has it",
            _HARDEST,
            _SIZE,
            method("show", "foreign(self.kept)") + "\nimport operator\nforeign = operator.length_hint",
            "conditional",
            "if len",
        ),
        (
            "and elsewhere, however long",
            "if len(self.kept) < self.size: self.kept.append(x)\nself.more()",
            _SIZE,
            method("more", "self.kept.append(1)"),
            "unknown",
            "",
        ),
        (
            "or until an epoch ends with too many",
            "self.count += 1\nif self.count % 4000 == 0: self.finish()\nif not self.full: self.kept.append(x)",
            _SIZE + "\nself.full = False",
            method("finish", "if len(self.kept) > self.size: self.full = True"),
            "conditional",
            "if len",
        ),
        (
            "or for the time being",
            "self.count += 1\nif len(self.kept) > self.size and self.count > 900: raise ValueError\nif x: self.kept.append(x)",
            _SIZE,
            "",
            "conditional",
            "if len",
        ),
    ]
] + [
    Case(f"cut to a few, {name}", _adding(body, _SIZE, more), "keeper.kept", kind, line=line)
    for name, body, more, kind, line in [
        ("in each 4000th step", "self.count += 1\nself.kept.append(x)\nif self.count % 4000 == 0: del self.kept[:-2]", "", "conditional", "del"),
        (
            "one by one, at the end of an epoch",
            "self.count += 1\nself.kept.append(x)\nif self.count % 4000 == 0: self.finish()",
            method("finish", "while len(self.kept) > self.size: self.kept.pop()"),
            "conditional",
            "pop",
        ),
        (
            "in the branch that fills nothing",
            "if x: self.kept.append(x)\nelse: del self.kept[:-2]",
            "",
            "conditional",
            "del",
        ),
    ]
] + [
    Case(f"taken from {name}", _adding(body, init, more), "keeper.kept", kind, bound, line)
    for name, body, init, more, kind, bound, line in [
        ("at a length that is passed by", "self.kept += [x, x]\nself.cut()", _SIZE, method("cut", "if len(self.kept) == 1: self.kept.pop()"), "unbounded", -1, "pop"),
        ("at one length, past it", _PAST + "if len(self.kept) == self.size: self.kept.clear()", _PAST_SIZE, "", "unbounded", -1, "clear"),
        ("at one length, past it, and told otherwise", _PAST + "if not len(self.kept) != self.size: self.kept.clear()", _PAST_SIZE, "", "unbounded", -1, "clear"),
        ("at one length and in a mode, past it", _PAST + "if self.mode and len(self.kept) == self.size: self.kept.clear()", _PAST_SIZE + "\nself.mode = True", "", "unbounded", -1, "clear"),
        ("at one length or in a mode", _PAST + "if self.mode or len(self.kept) == self.size: self.kept.clear()", _PAST_SIZE + "\nself.mode = False", "", "conditional", -1, "clear"),
        ("at one length, which changes", _PAST + "if len(self.kept) == self.size: self.kept.clear()", _PAST_SIZE, method("grow", "self.size *= 9"), "unknown", -1, ""),
        ("at one length, not past it yet", _PAST + "if len(self.kept) == self.size: self.kept.clear()", "self.kept = []\nself.size = 900", "", "bounded", 900, "clear"),
        ("at one length, and otherwise is asked", _PAST + "if len(self.kept) == self.size: self.kept.clear()\nelse: self.full = True", _PAST_SIZE, "", "conditional", -1, "if len"),
        ("while it is short", _PAST + "if len(self.kept) < self.size: self.kept = self.kept[-1:]", _PAST_SIZE, "", "unbounded", -1, "[-1:]"),
        ("while it is short, in an expression", _PAST + "self.kept = self.kept[-1:] if len(self.kept) < self.size else self.kept", _PAST_SIZE, "", "unbounded", -1, "[-1:]"),
        ("while it is long, in an expression", _PAST + "self.kept = self.kept[-1:] if len(self.kept) > self.size else self.kept", _PAST_SIZE, "", "bounded", 3, "[-1:]"),
        ("while it is short, and whenever somebody likes", _PAST + "if len(self.kept) < self.size: self.kept.pop()", _PAST_SIZE, method("end", "self.kept.clear()"), "uncalled", -1, "clear"),
    ]
]  # fmt: skip

_THREAD = "self.q = queue.Queue()\nself.thread = threading.Thread(target=self.drain)\nself.thread.start()"
_ONE = "\ndef drain(self): self.q.get()"
_SLOW = "\ndef drain(self):\n    self.q.get()\n    time.sleep(1)"


def _draining(init: str = _THREAD, drain: str = _ONE, step: str = "keeper.thread.join()", more: str = "") -> str:
    return "import threading\n" + keeper(
        "def add(self, x): self.q.put(x)" + drain + more, init, f"keeper.add([1])\n{step}"
    )


ENDED = [
    Case(f"queue whose consumer {name}", source, "keeper.q.queue", kind, line="self.q.get()" * (kind == "conditional"))
    for name, source, kind in [
        ("has ended", _draining(), "unknown"),
        ("has ended, begun at once", _draining(_THREAD.replace("self.thread = ", "").replace(")\nself.thread", ")"), step="time.sleep(0.05)"), "unknown"),
        ("has ended, which took by a method of its own", _draining(drain="\ndef drain(self): self.take()" + method("take", "return self.q.get()")), "unknown"),
        ("is slow", _draining(drain=_SLOW, step="pass"), "conditional"),
        ("is begun anew in each epoch", _draining(more=method("begin", "threading.Thread(target=self.drain).start()")), "conditional"),
        ("is begun again by who finds it dead", _draining(more=method("check", "self.thread = threading.Thread(target=self.drain)")), "conditional"),
        ("is begun later", _draining(_THREAD.replace("\nself.thread.start()", ""), step="pass", more=method("begin", "self.thread.start()")), "conditional"),
        ("is begun if it is wanted", _draining(_THREAD.replace("self.thread.start", "if self.count: self.thread.start"), step="pass"), "conditional"),
        ("is called by others, too", _draining(more=method("flush", "self.drain()")).replace("def step", "import atexit\natexit.unregister(keeper.flush)\ndef step"), "conditional"),
        ("is handed on, too", _draining(more=method("flush", "return iter(self.drain, 1)")), "conditional"),
    ]
] + [
    Case(
        f"queue whose consumer, a thread of a class of its own, {name}",
        f"""
import queue, threading, time
class Writer(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.q = queue.Queue()
    def run(self):
        self.q.get()
        {end}
writer = Writer()
{begun}
def step(): writer.q.put([1]); {after}
""",
        "writer.q.queue",
        kind,
        line="self.q.get()" * (kind == "conditional"),
    )
    for name, begun, end, after, kind in [
        ("has ended", "writer.start()", "pass", "writer.join()", "unknown"),
        ("is slow", "writer.start()", "time.sleep(1)", "pass", "conditional"),
        ("is begun later", "pass", "pass", "pass", "conditional"),
    ]
]  # fmt: skip

_STORE = """
self.count += 1
key = KEY
if key not in self.kept:
    self.kept[key] = x
    self.recent.append(key)
    if len(self.recent) > 2: self.kept.pop(self.recent.popleft(), None)
"""
_RING = "self.kept = {}\nself.recent = collections.deque(maxlen=2)"


def _storing(key: str = "self.count", init: str = _RING, test: str = "> 2", more: str = "") -> str:
    return _adding(_STORE.strip().replace("KEY", key).replace("> 2", test), init, more)


RINGS = [
    Case(f"store whose old keys go where a deque is too long, {name}", source, "keeper.kept", kind, bound, line)
    for name, source, kind, bound, line in [
        ("which it never is", _storing(), "unknown", -1, ""),
        ("which it never is, the other way round", _storing(test="== 3"), "unknown", -1, ""),
        ("which it never is, but keys come again", _storing("self.count % 900"), "keyed", -1, "not in self.kept"),
        ("which it is when full", _storing(test=">= 2"), "keyed", -1, "not in self.kept"),
        ("by a number that changes", _storing(test="> self.most", init=_RING + "\nself.most = 2", more=method("shrink", "self.most = 1")), "keyed", -1, "not in self.kept"),
        ("which another is", _storing(more=method("free", "self.recent = collections.deque()")), "keyed", -1, "not in self.kept"),
        ("which has no limit", _storing(init=_RING.replace("maxlen=2", "")), "bounded", 2, "self.recent.popleft()"),
    ]
]  # fmt: skip

REFUTED = [*ASKED, *PASSED, *ENDED, *RINGS]
