# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that are filled under a flag or in a mode until some line sets that, and near misses."""

from __future__ import annotations

from structure_programs import Case, keeper

_INIT = "self.kept, self.full, self.mode, self.base = [], False, 'fill', None"
_MODES = "import enum\nclass Mode(enum.Enum):\n    FILL = 1\n    USE = 2\n"
_EPOCHS = "if keeper.count % 900 == 0: keeper.epoch += 1"
_EVENT = "import threading\n" + _INIT + "\nself.stop = threading.Event()"
_STATE = _INIT + "\nself.state = {'full': False, 'empty': False}"
_SEEN = _INIT + "\nself.seen = set()"
_NOTED = "    self.seen.add(self.count % 900)"


def _filled(test: str, later: str = "", init: str = _INIT, more: str = "") -> str:
    """`later`: what the step does besides to add one."""
    lines = ["def add(self, x):", "    self.count += 1", f"    if {test}: self.kept.append(x)", *more.splitlines()]
    return keeper("\n".join(lines), init, f"keeper.add([1])\n{later}")


_TO_BE_SHUT = [
    ("until a flag is set", _filled("not self.full", "if keeper.count == 900: keeper.full = True")),
    (
        "until a method sets a flag",
        _filled("not self.full", "if keeper.count == 900: keeper.end()", more="def end(self): self.full = True"),
    ),
    (
        "until a method answers otherwise",
        _filled("self.is_due()", more="def is_due(self):\n    if self.count > 900: return False\n    return True"),
    ),
    (
        "until a variable of what a method answers is set",
        _filled("not full", init=_INIT, more="def is_full(self): return self.count > 900").replace(
            "self.count += 1", "self.count += 1\n        full = self.is_full()"
        ),
    ),
    ("while steps take from a number", _filled("self.left > 0.1", "keeper.left *= 0.9", _INIT + "\nself.left = 1.0")),
    (
        "by a number that falls",
        _filled("time.time() % 1 < self.left", "keeper.left -= 0.001", _INIT + "\nself.left = 1.0"),
    ),
    (
        "in the first epoch of so many steps",
        _filled("self.epoch == 0", "keeper.epoch = keeper.count // 900", _INIT + "\nself.epoch = 0"),
    ),
    ("at some counts", _filled("self.count in (1, 2, 3, 4, 5, 6, 900)")),
    (
        "while an object is of a class",
        "class Filling: pass\nclass Using: pass\n"
        + _filled(
            "isinstance(self.phase, Filling)",
            "if keeper.count == 900: keeper.phase = Using()",
            _INIT + "\nself.phase = Filling()",
        ),
    ),
    ("in a mode", _filled("self.mode == 'fill'", "if keeper.count == 900: keeper.mode = 'use'")),
    ("in any mode but one", _filled("self.mode != 'use'", "if keeper.count == 900: keeper.mode = 'use'")),
    (
        "in a mode of an enumeration",
        _MODES
        + _filled(
            "self.mode is Mode.FILL",
            "if keeper.count == 900: keeper.mode = Mode.USE",
            _INIT.replace("'fill'", "Mode.FILL"),
        ),
    ),
    (
        "until a count is high enough",
        _filled("not self.full", more="    self.full = self.count > 900"),
    ),
    (
        "while a count is low",
        _filled("self.full", init=_INIT.replace("False", "True"), more="    self.full = self.count < 900"),
    ),
    ("in the first epoch", _filled("self.epoch == 0", _EPOCHS, _INIT + "\nself.epoch = 0")),
    ("until an epoch has ended", _filled("not self.epoch", _EPOCHS, _INIT + "\nself.epoch = 0")),
    ("until an event is set", _filled("not self.stop.is_set()", "if keeper.count == 900: keeper.stop.set()", _EVENT)),
    (
        "until an item is set",
        _filled("not self.state['full']", "if keeper.count == 900: keeper.state['full'] = True", _STATE),
    ),
    ("for a while", _filled("time.time() - self.start < 900", init=_INIT + "\nself.start = time.time()")),
    ("with what was not seen", _filled("self.count % 900 not in self.seen", more=_NOTED, init=_SEEN)),
    (
        "until something is computed of it",
        _filled("self.base is None", "if keeper.count == 900: keeper.base = sum(map(len, keeper.kept))"),
    ),
]
_GOING_ON = [
    (
        "while steps take from a number and add to it",
        _filled("self.left > 0", "keeper.left -= 1\nkeeper.left += 1", _INIT + "\nself.left = 900"),
    ),
    (
        "while a method answers",
        _filled("self.is_due(x)", more="def is_due(self, x):\n    if not x: return False\n    return True"),
    ),
    (
        "while an object is of a class that comes back",
        "class Filling: pass\nclass Using: pass\n"
        + _filled(
            "isinstance(self.phase, Filling)",
            "keeper.phase = Using()\nkeeper.phase = Filling()",
            _INIT + "\nself.phase = Filling()",
        ),
    ),
    (
        "under a flag that comes back",
        _filled("self.full", "keeper.full = True\nif not keeper.kept: keeper.full = False"),
    ),
    ("in each of two modes", _filled("self.mode == 'fill' or True", "if keeper.count == 900: keeper.mode = 'use'")),
    (
        "under a flag and without it",
        _filled("not self.full", "keeper.kept.append(2)\nif keeper.count == 900: keeper.full = True"),
    ),
    ("under a flag that is computed anew", _filled("not self.full", more="    self.full = hash(x[0]) > 900")),
    (
        "once a count is high enough",
        _filled("self.full", init=_INIT.replace("False", "True"), more="    self.full = self.count > 0"),
    ),
    (
        "in the first part of each epoch",
        _filled("self.epoch == 0", _EPOCHS + "\nelse: keeper.epoch = 0", _INIT + "\nself.epoch = 0"),
    ),
    (
        "while no event is set, which is cleared",
        _filled("not self.stop.is_set()", "keeper.stop.set()\nkeeper.stop.clear()", _EVENT),
    ),
    (
        "while another item is not set",
        _filled("not self.state['full']", "if keeper.count == 900: keeper.state['empty'] = True", _STATE),
    ),
    ("with what was not seen, and nobody notes", _filled("self.count % 900 not in self.seen", init=_SEEN)),
    ("under a flag that is set to let it", _filled("not self.full", "if keeper.count == 900: keeper.full = False")),
    ("in a mode that others come to", _filled("self.mode == 'fill'", "if keeper.count == 900: keeper.mode = 'fill'")),
    (
        "under a flag that a method sets which nobody calls",
        _filled("not self.full", more="def end(self): self.full = True"),
    ),
]
FLAGS = [
    *(Case(f"filled {name}", source, "keeper.kept", "conditional", line="if ") for name, source in _TO_BE_SHUT),
    *(Case(f"filled {name}", source, "keeper.kept", "unknown") for name, source in _GOING_ON),
    Case(
        "filled once an epoch has ended",
        _filled("self.epoch >= 0", _EPOCHS, _INIT + "\nself.epoch = 0"),
        "keeper.kept",
        "unbounded",
    ),
]
