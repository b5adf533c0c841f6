# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Lists that a listener fills until it is taken back, and near misses."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

import textwrap

from structure_programs import Case

_BUS = """
class Handle:
    def __init__(self, bus, listener): self.bus, self.listener = bus, listener
    def remove(self): self.bus.off(self.listener)
class Bus:
    def __init__(self): self.listeners = []
    def on(self, listener):
        self.listeners.append(listener)
        return Handle(self, listener)
    def off(self, listener): self.listeners.remove(listener)
    def emit(self, x):
        for listener in list(self.listeners): listener(x)
bus, kept, count = Bus(), [], 0
def collect(x): kept.append(x)
class Meter:
    def __init__(self):
        self.kept = []
        self.see = self.gather
    def gather(self, x): self.kept.append(x)
    def skip(self, x): pass
meter = Meter()
"""


def _program(set_up: str, later: str = "", before: str = "") -> str:
    """`set_up`: before all steps. `later`: in the 900th one. `before`: in each."""
    step = f"global count\ncount += 1\n{before}\nbus.emit([1])\nmeter.see([1])\nif count == 900:\n    {later or 'pass'}"
    return _BUS + set_up + "\ndef step():\n" + textwrap.indent(step, "    ")


WITHDRAWN = [
    Case(f"filled by {name}", source, what, kind, line=line)
    for name, source, what, kind, line in [
        ("a listener that is taken out", _program("bus.on(collect)", "bus.off(collect)"), "kept", "conditional", "off("),
        (
            "a listener whose handle is removed",
            _program("handle = bus.on(collect)", "handle.remove()"),
            "kept",
            "conditional",
            "handle.remove",
        ),
        (
            "a lambda whose handle is one of several",
            _program("handles = [bus.on(lambda x: kept.append(x))]", "for each in handles: each.remove()"),
            "kept",
            "conditional",
            "each.remove",
        ),
        ("a method that another takes the place of", _program("", "meter.see = meter.skip"), "meter.kept", "conditional", "skip"),
        ("a listener", _program("bus.on(collect)"), "kept", "unbounded", ""),
        ("a listener, of which another is removed", _program("bus.on(collect)\nother = bus.on(print)", "other.remove()", "bus.off(print) if count == 1 else None"), "kept", "unbounded", ""),
        ("a listener for each step", _program("", "", "handle = bus.on(collect)\nbus.emit([2])\nhandle.remove()"), "kept", "unbounded", ""),
        ("a listener and by itself", _program("bus.on(collect)", "bus.off(collect)", "collect([3])"), "kept", "unbounded", ""),
        ("a lambda whose handle nobody has", _program("bus.on(lambda x: kept.append(x))\nother = bus.on(print)", "other.remove()", "bus.off(print) if count == 1 else None"), "kept", "unbounded", ""),
        ("a method of its own", _program(""), "meter.kept", "unbounded", ""),
        ("a name that something else gets", _program("sink = kept", "sink = Meter()", "global sink\nsink.append([1])"), "kept", "conditional", "sink = Meter()"),
        ("an attribute that something else gets", _program("bus.sink = kept", "bus.sink = []", "bus.sink.append([1])"), "kept", "conditional", "bus.sink = []"),
        ("a name that gets it again", _program("sink = kept", "sink = kept", "global sink\nsink.append([1])"), "kept", "unbounded", ""),
        ("a name of each step's own", _program("", "", "sink = kept\nsink.append([1])\nsink = []"), "kept", "unbounded", ""),
        (
            "a listener that is taken out once all is over",
            _program("bus.on(collect)") + "\ndef main():\n    step()\n    bus.off(collect)\nimport atexit\nif count < 0: main()\n",
            "kept",
            "unbounded",
            "",
        ),
    ]
]  # fmt: skip
