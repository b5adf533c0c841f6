# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what calls a function is chosen by a variable that gets another value some day.

A method's name, `getattr(self, self.phase)(x)`; a key of a table, `OPERATIONS[self.phase](x)`; an object of one of
several classes, `self.state.run(x)`. What the function does ends with the value that chose it, unless that comes back.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stepleak._assignments import assigned_value, is_constant, named_value, named_variable, stores
from stepleak._objects import mro_of, name_of
from stepleak._reach import MOST_CALLERS
from stepleak._runs import CONSTRUCTORS, Runs
from stepleak._syntax import (
    FUNCTIONS,
    Function,
    Module,
    argument_of,
    called_name,
    default_of,
    is_parameter,
    last_name,
)
from stepleak._use import Use
from stepleak._user_code import UserCode
from stepleak._values import NOTHING, named

_MOST_HANDED_ON = 3
"""Calls, returns and variables between what a variable gets and where that stands."""
_GIVING = (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)

Chooses = Callable[[ast.expr], "bool | None"]
"""Whether a value chooses the function; None where that is not known."""


@dataclass(frozen=True)
class _Value:
    """What a variable gets."""

    module: Module
    node: ast.expr | None
    """None where it does not stand there by itself."""
    place: ast.expr
    """What hands it over: the assignment, or the call whose argument is assigned."""
    is_tested: bool
    """Whether it is one of several, of which a test picks one."""


_Told = tuple[_Value, "bool | None"]


class Selections:
    """Asks about functions of one program. Each answer is None where nothing of the kind is known to end."""

    def __init__(self, code: UserCode, runs: Runs) -> None:
        self._code = code
        self._runs = runs

    def ends_by_name(self, function: Function) -> list[Use | None]:
        """Of each `getattr` that gets the function by a text: where another text is given."""
        found = []
        for home in self._code.mentioning("getattr")[0]:
            for call in home.calls.get("getattr", ()):
                text = call.args[1] if len(call.args) > 1 else None
                asked, wanted = (None, "") if text is None else _asked_for(text, function.name)
                if asked is None or self._runs.is_uncalled(home, call):
                    continue
                told = self._told(home, asked, functools.partial(_is_wanted, repr(wanted)))
                if any(is_chosen for _, is_chosen in told):
                    found.append(self._end(told))
        return found

    def end_by_key(self, module: Module, table: ast.expr, wanted: str) -> Use | None:
        """Of an item of a table, by its key or its place: where another one is asked for."""
        outer, _ = module.parent(table)
        asked = [(module, outer.slice)] if isinstance(outer, ast.Subscript) else []
        for name in map(last_name, outer.targets) if isinstance(outer, ast.Assign) else ():
            for home in self._code.mentioning(name)[0] if name else ():
                asked += [(home, k) for node in home.named.get(name, ()) if (k := _key_asked(home, node)) is not None]
        found = []
        for home, own in asked:
            told = self._told(home, own, functools.partial(_is_wanted, wanted))
            found.append(self._end(told) if any(is_chosen for _, is_chosen in told) else None)
        return found[0] if found and all(found) else None

    def end_by_object(self, home: Module, call: ast.Call, module: Module, function: Function) -> Use | None:
        """Of a call of a method: where what it is called of becomes an object of another class that has one, too."""
        owner = module.class_of_method(function)
        having = [kind for m, each in self._code.functions(function.name) if (kind := m.class_of_method(each))]
        if not isinstance(owner, ast.ClassDef) or having == [owner] or not isinstance(call.func, ast.Attribute):
            return None
        heirs = self._heirs(owner, function.name)

        def chooses(value: ast.expr) -> bool | None:
            if isinstance(value, ast.Constant) and value.value is None:
                return False
            made = called_name(value)
            return made in heirs if made and self._code.classes(made) else None

        receiver = call.func.value
        if isinstance(receiver, ast.Subscript):
            return self._end(self._told(home, receiver.slice, lambda _: None))
        return self._end(self._told(home, receiver, chooses))

    def may_call(self, home: Module, call: ast.Call, module: Module, function: Function) -> bool:
        """Whether a call of a function's name may be of it, and not of another class's method of that name."""
        owner = module.class_of_method(function)
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is None or receiver is None:
            return True
        caller = home.class_of_self(receiver)
        if caller is not None:
            return owner.name in self._heirs(caller, "") or caller.name in self._heirs(owner, function.name)
        if not isinstance(receiver, ast.Name) or home.resolve(receiver, receiver.id) is not home.tree:
            return True
        value = named(home.namespace, receiver.id)
        kinds = {name_of(kind) for kind in mro_of(type(value))}
        is_other = (
            value is not NOTHING and not isinstance(value, type) and bool(self._code.classes(name_of(type(value))))
        )
        is_stored_once = len(stores(self._code, home, receiver)) == 1
        return not is_other or not is_stored_once or owner.name in kinds

    def _heirs(self, owner: ast.ClassDef, method: str) -> set[str]:
        """Names of a class and of those that have a method from it; of all those that derive from it, without one."""
        having = {kind.name for m, each in self._code.functions(method) if method and (kind := m.class_of_method(each))}
        names, fresh = {owner.name}, {owner.name}
        while fresh:
            derived = {kind.name for name in fresh for m in self._code.mentioning(name)[0] for kind in m.derived(name)}
            fresh = derived - having - names
            names |= fresh
        return names

    def _end(self, told: list[_Told]) -> Use | None:
        """Where the function ceases to be chosen, if it does not come back; unsure where a test picks the value, which
        may be the same one again."""
        to_come = [(value, is_chosen) for value, is_chosen in told if self._is_to_come(value)]
        if any(is_chosen and not value.is_tested for value, is_chosen in to_come):
            return None
        end = next((value for value, is_chosen in to_come if not is_chosen), None)
        if end is None:
            return None
        is_sure = not any(is_chosen for _, is_chosen in to_come)
        return Use("test", end.module, end.place, is_sure=is_sure)

    def _is_to_come(self, value: _Value) -> bool:
        is_before = self._runs.is_of_set_up(value.module, value.place)
        return not is_before and self._runs.is_to_come(value.module, value.place)

    def _told(self, module: Module, asked: ast.expr, chooses: Chooses) -> list[_Told]:
        """What the variable that an expression asks gets, and whether that chooses the function; nothing of variables
        of another kind, as those of a loop."""
        home, variable = named_variable(self._code, module, asked)
        if not isinstance(variable, (ast.Name, ast.Attribute)) or home.class_of_self(variable) is not None:
            return []
        given = stores(self._code, home, variable)
        if any(_is_given_otherwise(m, node) for m, node in given):
            return []
        values = [
            value for m, node in given for value in self._values(_Value(m, assigned_value(m, node), node, False), 0)
        ]
        if isinstance(variable, ast.Attribute):
            values += self._of_classes(variable.attr)
        # `return self`, in a method of what is asked, leaves it as it is.
        values = [v for v in values if v.node is None or v.module.class_of_self(v.node) is None]
        return [(value, None if value.node is None else chooses(value.node)) for value in values]

    def _of_classes(self, name: str) -> list[_Value]:
        """What classes give an attribute of this name."""
        return [
            _Value(home, value, value, False)
            for home in self._code.mentioning(name)[0]
            for node in home.named.get(name, ())
            if isinstance(node, ast.Name) and isinstance(home.scope(node), ast.ClassDef)
            if (value := assigned_value(home, node)) is not None
        ]

    def _values(self, value: _Value, depth: int) -> list[_Value]:
        """What it comes to, as far as the sources say."""
        inner = self._inner(value) if depth < _MOST_HANDED_ON else []
        return [leaf for part in inner for leaf in self._values(part, depth + 1)] if inner else [value]

    def _inner(self, value: _Value) -> list[_Value]:
        home, node = value.module, value.node
        if isinstance(node, ast.IfExp):
            return [_Value(home, part, value.place, True) for part in (node.body, node.orelse)]
        scope = home.resolve(node, node.id) if isinstance(node, ast.Name) else None
        if isinstance(node, ast.Name) and isinstance(scope, FUNCTIONS) and is_parameter(scope, node.id):
            return self._passed(home, scope, node.id, value.is_tested)
        if isinstance(node, ast.Call) and not self._code.classes(called_name(node)):
            returned = list(self._returned(called_name(node)))
            is_tested = value.is_tested or len(returned) > 1
            return [_Value(m, one, value.place, is_tested) for m, one in returned]
        if isinstance(node, ast.Name):
            m, one = named_value(self._code, home, node)
            return [] if one is node else [_Value(m, one, value.place, value.is_tested)]
        return []

    def _passed(self, home: Module, function: Function, name: str, is_tested: bool) -> list[_Value]:
        """What calls pass for a parameter."""
        owner = home.class_of_method(function)
        called = owner.name if owner is not None and function.name in CONSTRUCTORS else function.name
        calls = self._code.calls(called)
        passed = [
            (m, argument_of(call, function, name, owner is not None) or default_of(function, name), call)
            for m, call in (calls if len(calls) <= MOST_CALLERS else ())
        ]
        return [_Value(m, value, call, is_tested) for m, value, call in passed if value is not None]

    def _returned(self, name: str) -> Iterator[tuple[Module, ast.expr]]:
        for home, function in self._code.functions(name) if name else ():
            for node in home.nodes:
                if isinstance(node, ast.Return) and node.value is not None and home.scope(node) is function:
                    yield home, node.value


def _is_given_otherwise(module: Module, node: ast.Name | ast.Attribute) -> bool:
    """Whether it is given another value by a call, or a loop, and not by an assignment."""
    return not isinstance(node.ctx, ast.Store) or isinstance(module.statement(node), _GIVING)


def _asked_for(text: ast.expr, name: str) -> tuple[ast.expr | None, str]:
    """What is asked in a text that names a function, and the value of it with which it does: of `"do_" + phase`."""
    if isinstance(text, (ast.Name, ast.Attribute)):
        return text, name
    parts = text.values if isinstance(text, ast.JoinedStr) else []
    parts = [text.left, text.right] if isinstance(text, ast.BinOp) and isinstance(text.op, ast.Add) else parts
    asked = [part.value if isinstance(part, ast.FormattedValue) else part for part in parts]
    known = [getattr(part, "value", None) if isinstance(part, ast.Constant) else None for part in asked]
    if len(asked) != 2 or (known[0] is None) is (known[1] is None):
        return None, ""
    first, last = (end if isinstance(end, str) else "" for end in known)
    if not name.startswith(first) or not name.endswith(last):
        return None, ""
    return asked[known.index(None)], name[len(first) : len(name) - len(last)]


def _key_asked(module: Module, node: ast.AST) -> ast.expr | None:
    """By which key a table is asked where it is named: `table[key]`, or `table.get(key)`."""
    outer, field = module.parent(node)
    if isinstance(outer, ast.Subscript) and field == "value":
        return outer.slice if isinstance(outer.ctx, ast.Load) else None
    call, _ = module.parent(outer) if isinstance(outer, ast.Attribute) and outer.attr == "get" else (None, "")
    return call.args[0] if isinstance(call, ast.Call) and call.args else None


def _is_wanted(wanted: str, value: ast.expr) -> bool | None:
    """Whether a value is a certain constant, or a member of an enumeration; None of what is neither."""
    return ast.unparse(value) == wanted if is_constant(value) else None
