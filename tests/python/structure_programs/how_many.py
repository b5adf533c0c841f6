# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Lists that get as many items as a test, a number that falls, or a decorator lets through, and near misses."""

from __future__ import annotations

import textwrap

from structure_programs import Case

_SOURCE = """
import itertools, threading, time
kept, seen, count, permits, lock = [], set(), 0, threading.Semaphore(900), threading.Lock()
rows = iter([[i] for i in range(900)])
class Budget:
    left = 900
    @classmethod
    def take(cls):
        if cls.left == 0: return False
        cls.left -= 1
        return True
class Pace:
    def __init__(self): self.left, self.every = 900, 1
pace = Pace()
def keep(row): kept.append(row)
def skip(row): pass
def step():
    global count, seen
    count += 1
{body}
"""


def _filled(body: str) -> str:
    return _SOURCE.format(body=textwrap.indent(textwrap.dedent(body), "    "))


_DECORATED = """
import time
class Keeper:
    def __init__(self): self.kept, self.count = [], 0
{decorator}
class Other(Keeper):
    @{use}
    def keep(self, row): self.kept.append(row)
keeper = Other()
def step():
    keeper.count += 1
    keeper.keep([keeper.count])
"""


def _decorated(inner: str, use: str = "limited(900)") -> str:
    outer = "def limited(most):\n    calls, left = 0, [most]\n    def decorate(keep):\n        def kept(*row):\n"
    decorator = outer + textwrap.indent(inner, " " * 12) + "\n        return kept\n    return decorate"
    return _DECORATED.format(decorator=decorator, use=use)


_ENDING = [
    ("in a loop over what is missing", "for _ in range(min(1, 900 - count)): kept.append([1])", "for _ in range"),
    (
        "in a loop over what is left",
        "few = min(2, pace.left)\npace.left -= few\nfor _ in range(few): kept.append([1])",
        "for _ in range",
    ),
    ("by as many as a test says", "kept.extend([[count]] * (count < 900))", "kept.extend"),
    ("by the part that a test says", "kept.extend([[count]][:count < 900])", "kept.extend"),
    ("in a loop over nothing some day", "for row in [[1]] if count < 900 else (): kept.append(row)", "for row in"),
    ("in a loop over what passes a test", "for row in [r for r in [[1]] if count < 900]: kept.append(row)", "for row"),
    ("by a part of an iterator", "kept.extend(itertools.islice(rows, 1))", "kept.extend"),
    (
        "by what is not seen",
        "for key in {count % 900} - seen:\n    seen.add(key)\n    kept.append([key])",
        "for key in",
    ),
    ("by all that is not seen", "fresh = {count % 900}\nkept.extend(fresh - seen)\nseen |= fresh", "kept.extend"),
    ("ever more seldom", "if count % pace.every == 0:\n    keep([1])\n    pace.every *= 2", "if count"),
    ("while a budget lasts", "if Budget.take(): keep([1])", "if Budget.take"),
    ("by permits that nobody gives back", "if permits.acquire(blocking=False): keep([1])", "def keep"),
]
_GOING_ON = [
    ("in a loop over a growing number", "for _ in range(min(1, count)): kept.append([1])", "unbounded"),
    ("in a loop over what is added", "for _ in range(min(1, 900 + count)): kept.append([1])", "unbounded"),
    ("by a test as one item", "kept.append([[count]] * (count < 900))", "unbounded"),
    ("by one of two", "kept.extend([[count]] if count > 3 else [[0]])", "unbounded"),
    ("by so many of each", "kept.extend([[count]] * 2)", "unbounded"),
    ("at each so many counts", "if count % 2 == 0: keep([1])", "unbounded"),
    ("by permits that are given back", "if permits.acquire():\n    keep([1])\n    permits.release()", "unbounded"),
    ("under a lock", "if lock.acquire(timeout=1):\n    keep([1])\n    lock.release()", "unbounded"),
]
_LIMITING = [
    ("by a number of calls", "nonlocal calls\ncalls += 1\nif calls <= most: return keep(*row)"),
    ("by what is left", "if left[0] <= 0: return None\nleft[0] -= 1\nreturn keep(*row)"),
]
_WRAPPING = [
    ("counts the calls", "nonlocal calls\ncalls += 1\nreturn keep(*row)"),
    ("tries again", "for _ in range(most):\n    try: return keep(*row)\n    except ValueError: continue"),
    (
        "takes the time",
        "begun = time.perf_counter()\ntry: return keep(*row)\nfinally: left[0] = time.perf_counter() - begun",
    ),
]
HOW_MANY = [
    *(Case(f"filled {name}", _filled(body), "kept", "conditional", line=line) for name, body, line in _ENDING),
    *(Case(f"filled {name}", _filled(body), "kept", kind) for name, body, kind in _GOING_ON),
    Case(
        "filled by the function that a test picks",
        _filled("put = keep if count < 900 else skip\nput([1])"),
        "kept",
        "bounded",
        line="kept.append",
    ),
    *(
        Case(
            f"filled by a method that is limited {name}",
            _decorated(inner),
            "keeper.kept",
            "conditional",
            line="left" if "left" in name else "calls",
        )
        for name, inner in _LIMITING
    ),
    *(
        Case(f"filled by a method whose decorator {name}", _decorated(inner), "keeper.kept", "unbounded")
        for name, inner in _WRAPPING
    ),
]
