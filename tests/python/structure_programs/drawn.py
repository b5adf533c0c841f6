# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Buffers that a training draws from: whether it has enough bounds none of them, and whether there is room does."""

from __future__ import annotations

from structure_programs import Case

_ENOUGH = "if len(replay) < 3: return\n    learn(replay.sample(3))"


def _drawn(name: str, kind: str, bound: int = -1, line: str = "", other: str = "", **parts: str) -> Case:
    """A program with a buffer that asks whether it has enough before it draws from it.

    `push`: how the step fills it. `test`: whether it draws. `draw`: by what.
    """
    push, test = parts.get("push", "replay.push([1])"), parts.get("test", _ENOUGH)
    asked = "size" if "replay.size()" in push + test else "__len__"
    source = f"""
import collections, random
{"import other" if other else ""}
class Replay:
    def __init__(self, settings):
        self.kept = collections.deque(maxlen=settings.get("capacity"))
    def push(self, x): self.kept.append(x)
    def drop(self): self.kept.popleft()
    def sample(self, n): return {parts.get("draw", "random.sample(self.kept, n)")}
    def {asked}(self): return len(self.kept)
replay = Replay({{}})
def learn(batch): pass
def step():
    {push}
    {test}
"""
    if "drop" not in push:
        source = source.replace("    def drop(self): self.kept.popleft()\n", "")
    return Case(name, source, "replay.kept", kind, bound, line, other)


CUTTING = "def sample(kept, n):\n    while len(kept) > 900: kept.popleft()\n    return kept"

DRAWN = [
    _drawn("drawn from once there are enough", "unbounded"),
    _drawn(
        "drawn from once there are enough, by a method",
        "unbounded",
        test=_ENOUGH.replace("len(replay)", "replay.size()"),
    ),
    _drawn("drawn from where there are enough", "unbounded", test="if len(replay) >= 3: learn(replay.sample(3))"),
    _drawn("drawn from by what takes items out", "bounded", 900, "popleft", CUTTING, draw="other.sample(self.kept, n)"),
    _drawn("filled while there is room", "bounded", 900, "append", push="if len(replay) < 900: replay.push([1])"),
    _drawn(
        "filled while there is room, by a method",
        "bounded",
        900,
        "append",
        push="if replay.size() < 900: replay.push([1])",
        test="pass",
    ),
    _drawn(
        "one goes while there are too many",
        "bounded",
        900,
        "popleft",
        push="replay.push([1])\n    while len(replay) > 900: replay.drop()",
    ),
]
