# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Lists that a function fills which is chosen by a variable: a name, a key, an object of one of two classes."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

import textwrap

from structure_programs import Case

_PHASES = """
import enum
count = 0
class Phase(enum.Enum):
    FILL = 1
    USE = 2
class Keeper:
    def __init__(self):
        self.kept, self.phase, self.name, self.number = [], {phase}, 'on_fill', 0
        self.operations = {table}
    def on_fill(self, x): self.kept.append(x)
    def on_use(self, x): pass
    def enter(self, name): self.name = name
    def run(self, x):
        {run}
keeper = Keeper()
def step():
    global count
    count += 1
    keeper.run([1])
    {later}
"""

_STATES = """
count = 0
class Filling:
    def run(self, keeper, x): {filling}
class Using:
    def run(self, keeper, x): {using}
class Heir(Filling): pass
class Keeper:
    def __init__(self):
        self.kept, self.number = [], 0
        self.state = {state}
        self.states = [Filling(), Using()]
    def run(self, x): {run}
keeper = Keeper()
def step():
    global count
    count += 1
    keeper.run([1])
    {later}
"""

_LATER = "if count == 900: keeper.phase = 'use'"


def _by_phase(run: str, later: str = _LATER, phase: str = "'fill'", table: str = "") -> str:
    table = table or ("{'fill': self.on_fill, 'use': self.on_use}" if "self.operations" in run else "{}")
    return _PHASES.format(run=run, later=later, phase=phase, table=table)


def _by_state(
    later: str = "if count == 900: keeper.state = Using()",
    run: str = "self.state.run(self, x)",
    filling: str = "keeper.kept.append(x)",
    using: str = "pass",
    state: str = "Filling()",
) -> str:
    return _STATES.format(later=later, run=run, filling=filling, using=using, state=state)


_NAMED, _ITEM = "getattr(self, self.name)(x)", "self.operations[self.phase](x)"
_BACK = "keeper.name = 'on_use' if keeper.name == 'on_fill' else 'on_fill'"
_ENUM = "{Phase.FILL: self.on_fill, Phase.USE: self.on_use}"

SELECTED = [
    *(
        Case(f"a function that is chosen by {name}", textwrap.dedent(source), "keeper.kept", "conditional", line=line)
        for name, source, line in [
            ("its name", _by_phase(_NAMED, "if count == 900: keeper.name = 'on_use'"), "on_use"),
            ("a part of its name", _by_phase("getattr(self, 'on_' + self.phase)(x)"), "'use'"),
            ("a formatted name", _by_phase("getattr(self, f'on_{self.phase}')(x)"), "'use'"),
            ("a name that is handed over", _by_phase(_NAMED, "if count == 900: keeper.enter('on_use')"), "enter"),
            ("a key", _by_phase(_ITEM), "'use'"),
            ("a key of a table on the spot", _by_phase("{'fill': self.on_fill, 'use': self.on_use}[self.phase](x)"), "'use'"),
            ("a key that is asked for", _by_phase("self.operations.get(self.phase)(x)"), "'use'"),
            (
                "a member of an enumeration",
                _by_phase(_ITEM, "if count == 900: keeper.phase = Phase.USE", "Phase.FILL", _ENUM),
                "Phase.USE",
            ),
            (
                "its place",
                _by_phase(
                    "self.operations[self.number](x)",
                    "if count == 900: keeper.number = 1",
                    table="[self.on_fill, self.on_use]",
                ),
                "number = 1",
            ),
            ("the class of an object", _by_state(), "Using()"),
            ("the object's own next one", _by_state("", "self.state = self.state.run(self, x)", "keeper.kept.append(x); return Using() if count > 900 else self", "return self"), "self.state ="),
            ("which of two objects it is", _by_state("if count == 900: keeper.number += 1", "self.states[self.number].run(self, x)"), "number"),
            ("whether there is an object", _by_state("if count == 900: keeper.state = None", "self.state and self.state.run(self, x)"), "self.state and"),
        ]
    ),
    *(
        Case(f"a function that is still chosen by {name}", textwrap.dedent(source), "keeper.kept", kind)
        for name, source, kind in [
            ("its name", _by_phase(_NAMED, "pass"), "unbounded"),
            ("a name that comes back", _by_phase(_NAMED, "keeper.name = 'on_use'\n    if count % 2 == 0: keeper.name = 'on_fill'"), "unbounded"),
            ("a name that a test picks", _by_phase(_NAMED, _BACK), "unknown"),
            ("what each call says", _by_phase("self.operations['fill'](x)"), "unbounded"),
            ("an argument", _by_phase("for each in ('on_fill', 'on_use'): getattr(self, each)(x)"), "unbounded"),
            ("a key that each call says", _by_phase("for each in self.operations: self.operations[each](x)"), "unbounded"),
            ("the class of an object", _by_state("pass"), "unbounded"),
            ("an object that comes back", _by_state("keeper.state = Using()\n    if count % 2 == 0: keeper.state = Filling()"), "unbounded"),
            ("a class that has it from the other", _by_state("if count == 900: keeper.state = Heir()"), "unbounded"),
            ("an object that nobody sets", _by_state("pass") + "def nobody():\n    keeper.state = Using()\n", "unbounded"),
        ]
    ),
]  # fmt: skip
