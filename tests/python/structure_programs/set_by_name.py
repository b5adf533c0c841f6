# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Objects whose attributes get another value by their names, through a property, or by `__init__`; and near misses."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

from structure_programs import Case

_PROGRAM = """
import unittest.mock
class State:
    def __init__(self): self.kept = []
class Base:
    def __init__(self): self.count = 0
class Trainer(Base):
    def __init__(self):
        super().__init__()
        self.state = State()
{more}
class Other:
    def __init__(self): self.weight = 0
    def load(self, fields):
        for name, value in fields: setattr(self, name, value)
trainer, other = Trainer(), Other()
def step():
    trainer.count += 1
    {call}
    trainer.state.kept.append([1])
"""
_RARELY = "if trainer.count % 4000 == 0: "
_PROPERTY = """
    @property
    def current(self): return self.state
    @current.setter
    def current(self, value): self.state = value
"""
_RENEW = """
    def renew(self, **fresh):
        for name, value in fresh.items(): setattr(self, name, value)
"""
_CALLBACK = """
class Callback:
    def on_epoch_end(self, trainer): trainer.state = State()
callbacks = [Callback()]
def emit(name):
    for callback in callbacks: getattr(callback, name)(trainer)
"""

SET_BY_NAME = [
    Case(name, _PROGRAM.format(call=_RARELY + call, more=more), "trainer.state.kept", kind, line=line)
    for name, call, more, kind, line in [
        ("set by its name in a method", "trainer.renew(state=State())", _RENEW, "conditional", "setattr"),
        ("set by a name that a variable has", "name = 'state'; setattr(trainer, name, State())", "", "conditional", "setattr(tr"),
        ("set by the name of another", "setattr(trainer, 'rate', 1)", "", "unbounded", ""),
        ("beside another whose attributes are set", "other.load([])", "", "unbounded", ""),
        ("set among all", "vars(trainer).update([('state', State())])", "", "reset", "update"),
        ("set among all by another's name", "vars(other).update(rate=1)", "", "unbounded", ""),
        ("initialised anew", "trainer.state.__init__()", "", "conditional", "__init__"),
        ("beside another that is initialised anew", "other.__init__()", "", "unbounded", ""),
        ("stored by a property", "trainer.current = State()", _PROPERTY, "conditional", "current"),
        ("with a property that nobody sets", "trainer.current.rate = 1", _PROPERTY, "unbounded", ""),
        ("patched", "unittest.mock.patch.object(trainer, 'state', State()).start()", "", "conditional", "patch"),
        ("replaced by who is called by a name", "emit('on_epoch_end')", _CALLBACK, "reset", "State()"),
        ("replaced by who is called by a name that is put together", "emit(f'on_{trainer.count}')", _CALLBACK.replace("name)(", "f'on_{name}')("), "reset", "State()"),
        ("replaced by who is not called", "emit('on_step_end')", _CALLBACK, "uncalled", "State()"),
    ]
]  # fmt: skip
