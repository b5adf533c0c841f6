# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of what is kept for each request: by which number it gets, and under which key it is given up."""

from __future__ import annotations

from structure_programs import Case

_COUNTED = "number = self.next\n        self.next += 1\n        return number"
_MADE = "made = {}\n        return made.name"
_POP = "self.kept.pop(number, None)"


def _served(name: str, kind: str, line: str = "", **parts: str) -> Case:
    """A program that keeps something for each request until it is released, and asks for it by `get` meanwhile.

    `made`: the table. `number`: how a request gets one. `put`, `release`: of what is kept. `passed`: what the step
    says to release. `more`: beside the class.
    """
    source = f"""
import functools, itertools, operator, random, tempfile, types
SharedMemory = functools.partial(types.SimpleNamespace, name="segment")
class TemporaryDirectory:
    name = "one"
class Table:
    def __init__(self):
        self.next = 0
        self.ids = itertools.count()
        self.kept = {parts.get("made", "{}")}
    {parts.get("cached", "")}
    def acquire(self):
        {parts.get("number", _COUNTED)}
    def get(self, number): return {parts.get("get", "self.kept.get(number)")}
    def put(self, number, x): {parts.get("put", "self.kept[number] = x")}
    def release(self, number): {parts.get("release", _POP)}
{parts.get("more", "")}
table = Table()
def step():
    number = table.acquire()
    for part in range(2):
        table.get(number)
        table.put(number, [part])
    {parts.get("last", "table.release(number)")}
"""
    return Case(name, source, "table.kept", kind, line=line)


def _given_up(name: str, kind: str = "unbounded", **parts: str) -> Case:
    """Numbers are the keys."""
    return _served(f"given up {name}", kind, **parts)


_NOTHING = {"release": "pass"}
_OF_PAIRS = {"made": "set()", "put": "self.kept.add(number)", "get": "number in self.kept"}

REQUESTS = [
    _given_up("under a text", release="self.kept.pop(f'request {number}', None)"),
    _given_up("under a text that has a name", release="name = f'request {number}'; self.kept.pop(name, None)"),
    _given_up("under a text that is passed", last="table.release(f'request {number}')"),
    _given_up("under a number's own text", release="self.kept.pop(str(number), None)"),
    _given_up("under a pair", release="self.kept.pop((number, 0), None)"),
    _given_up("as a text, from a set", **_OF_PAIRS, release="self.kept.discard(str(number))"),
    _given_up(
        "under a number, where texts are the keys",
        put="self.kept[f'request {number}'] = x",
        release="self.kept.pop(int(number), None)",
    ),
    # Near misses: what is given up may be there.
    _given_up("under a text, which some keys are", "keyed", made="{'': 1}", release="self.kept.pop(str(number), None)"),
    _given_up("under a text now and then", "keyed", last="table.release(number if part > 2 else str(number))"),
    _given_up("under what code that is not read makes", "keyed", release="self.kept.pop(operator.neg(number), None)"),
    _given_up("under a truth, which is a number", "keyed", release="self.kept.pop(True, None)"),
    # Whether a number comes again.
    _served("numbered by what a function counts", "unbounded", **_NOTHING),
    _served("numbered by what a function takes of a count", "unbounded", number="return next(self.ids)", **_NOTHING),
    _served("numbered anyhow", "keyed", "= x", number="return random.randrange(9 ** 9)", **_NOTHING),
    _served("numbered as one of two", "keyed", "= x", number="return next(self.ids) if self.next else 0", **_NOTHING),
    _served("numbered once", "keyed", "= x", cached="@functools.cache", number="return next(self.ids)", **_NOTHING),
    _served(
        "named by a segment made for it", "unbounded", number=_MADE.format("SharedMemory(create=True)"), **_NOTHING
    ),
    _served(
        "named by a file made for it", "unbounded", number=_MADE.format("tempfile.NamedTemporaryFile('w')"), **_NOTHING
    ),
    _served(
        "named by a segment with a name", "keyed", "= x", number=_MADE.format("SharedMemory(name='a')"), **_NOTHING
    ),
    _served("named by the user's own", "keyed", "= x", number=_MADE.format("TemporaryDirectory()"), **_NOTHING),
    # What is named is what fills it, or decides that.
    _served(
        "filled where it is not there",
        "keyed",
        "not in",
        number="return 1",
        put="\n        if number not in self.kept: self.kept[number] = x",
        **_NOTHING,
    ),
    _served(
        "filled where a function has none",
        "keyed",
        "get(number)",
        number="return 1",
        put="\n        if self.get(number) is None: self.kept[number] = x",
        **_NOTHING,
    ),
]
