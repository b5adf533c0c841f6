# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that are made anew, out of what they were or not, and get to their place by way of a variable; and what a
variable of a generator has."""

from __future__ import annotations

from structure_programs import Case, keeper

_TEST = "t[0] > self.count - 300"
_OLD = f"lambda t: {_TEST}"
_LIVE = f"live = [t for t in self.kept if {_TEST}]"
_COPIED = "live = []\nfor t in self.kept:\n    live.append(t)"
_FILTERED = f"live = []\nfor t in self.kept:\n    if {_TEST}: live.append(t)"


def _added(body: str, init: str) -> str:
    lines = "".join(f"    {line}\n" for line in ("self.count += 1", *body.splitlines()))
    return keeper(f"def add(self, item):\n{lines}", init, "keeper.add([keeper.count])")


BY_VARIABLE = [
    Case(body.replace("\n", "; "), _added(body, f"self.kept = {made}"), "keeper.kept", kind, bound, line)
    for made, body, kind, bound, line in [
        ("[]", f"self.kept.append(item)\n{_LIVE}\nself.kept = live", "expiring", -1, "live = ["),
        ("[]", f"self.kept.append(item)\n{_LIVE}\nself.kept = live or [[0]]", "expiring", -1, "live = ["),
        (
            "[]",
            f"self.kept.append(item)\n{_LIVE}\nif not live: live = [[0]]\nself.kept = live",
            "expiring",
            -1,
            "live = [",
        ),
        ("[]", f"self.kept.append(item)\n{_FILTERED}\nself.kept = live", "reset", -1, "live = []"),
        ("[]", "self.kept.append(item)\nlive = self.kept[-3:]\nself.kept = live", "bounded", 3, "live = "),
        ("[]", "self.kept.append(item)\nlive = list(self.kept)\nself.kept = live", "unbounded", -1, ""),
        ("[]", f"self.kept.append(item)\n{_COPIED}\nself.kept = live", "unbounded", -1, ""),
        ("[]", f"self.kept.append(item)\nself.kept = list(filter({_OLD}, self.kept))", "conditional", -1, "filter"),
        ("[]", "self.kept.append(item)\nself.kept = list(itertools.islice(self.kept, 9))", "bounded", 9, "islice"),
        ("[]", "self.kept.append(item)\nself.kept = list(map(list, reversed(self.kept)))", "unbounded", -1, ""),
        ("[]", "self.kept.append(item)\nself.kept = [*self.kept]", "unbounded", -1, ""),
        ("[]", "live = self.kept\nlive.append(item)\nself.kept = live", "unbounded", -1, ""),
        ("[]", "live = [*self.kept, item]\nself.kept = live", "unbounded", -1, ""),
        ("{}", "self.kept = {**self.kept}\nself.kept[self.count] = item", "unbounded", -1, ""),
        ("{}", "self.kept = {**self.kept, self.count: item}", "unbounded", -1, ""),
        ("{}", "self.kept = {**self.kept, self.count % 90: item}", "keyed", -1, "self.count % 90"),
    ]
]

_VERSIONS = """
class Version:
    def __init__(self, weights, before): self.weights, self.before = weights, before
class Keeper:
    def __init__(self): self.last = None
    def add(self, x):
        weights = [x, x]
        self.last = Version(weights, self.last)
keeper = Keeper()
def step(): keeper.add([1])
"""
BY_VARIABLE.append(Case("each object is given its own", _VERSIONS, "keeper.last.before.weights", "unknown"))

_STREAMS = """
import itertools
class Stream:
    def __init__(self): self.live = set()
    def talk(self, n):
        heard, i = [], 0
        {loop}
            heard.append([i])
            i += 1
            yield i
streams = Stream()
def end(drop, each): drop(each)
def step():
    {made}
    for each in list(streams.live):
        if next(each, None) is None: end(streams.live.discard, each)
"""
_AGAIN = "while len(streams.live) < 3: streams.live.add(streams.talk(50))"

STREAMS = [
    Case(
        f"heard {loop} {made}",
        _STREAMS.format(loop=loop, made=made),
        "[*streams.live][0].gi_frame.f_locals['heard']",
        kind,
        line=line,
    )
    for loop, made, kind, line in [
        ("for _ in range(n):", _AGAIN, "reset", "def talk"),
        ("while True:", _AGAIN, "unbounded", ""),
        ("for _ in itertools.count():", _AGAIN, "unbounded", ""),
        ("for _ in range(n):", "streams.live = streams.live or {streams.talk(50)}", "unbounded", ""),
    ]
]

# A comprehension's variable is its own, whatever else has that name.
OF_COMPREHENSIONS = [
    Case(body, keeper("def add(self, x): self.kept.append(x)", after=body), "keeper.kept", kind, -1, line)
    for body, kind, line in [
        ("def report(keepers): return [keeper['kept'] for keeper in keepers]", "unbounded", ""),
        ("def count(models): return sum(p for keeper in models for p in keeper.parameters())", "unbounded", ""),
        ("def named(keepers): return {keeper.name: (keeper for x in [1]) for keeper in keepers}", "unbounded", ""),
        ("def renew(): return [keeper.kept.clear() for keeper in [keeper]]", "uncalled", "clear"),
        ("def renew(): return [one.kept.clear() for one in [keeper] for keeper in [one]]", "uncalled", "clear"),
    ]
]
