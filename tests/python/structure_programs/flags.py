# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that are filled under a flag or in a mode until some line sets that, and near misses."""

from __future__ import annotations

from structure_programs import Case, keeper

_INIT = "self.kept, self.full, self.mode, self.base = [], False, 'fill', None"
_MODES = "import enum\nclass Mode(enum.Enum):\n    FILL = 1\n    USE = 2\n"


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
    (
        "until something is computed of it",
        _filled("self.base is None", "if keeper.count == 900: keeper.base = sum(map(len, keeper.kept))"),
    ),
]
_GOING_ON = [
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
    ("under a flag that is set to let it", _filled("not self.full", "if keeper.count == 900: keeper.full = False")),
    ("in a mode that others come to", _filled("self.mode == 'fill'", "if keeper.count == 900: keeper.mode = 'fill'")),
    (
        "under a flag that a method sets which nobody calls",
        _filled("not self.full", more="def end(self): self.full = True"),
    ),
]
FLAGS = [Case(f"filled {name}", source, "keeper.kept", "conditional", line="if ") for name, source in _TO_BE_SHUT] + [
    Case(f"filled {name}", source, "keeper.kept", "unknown") for name, source in _GOING_ON
]
