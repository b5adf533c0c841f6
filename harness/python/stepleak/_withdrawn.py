# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what fills a container is a function that others were given to call, and that may be taken from them again,
or that something chooses which may change.

A hook that a line removes once it has seen enough, a listener that is unsubscribed, a method that another one takes the
place of, an item of a table that is taken out: the container grows until then. What is handed over in each step anew,
or taken back when all steps are over, goes on for as long as they do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stepleak._assignments import stores
from stepleak._reach import MOST_CALLERS, MOST_LEVELS
from stepleak._runs import CONSTRUCTORS, Runs
from stepleak._selected import Selections
from stepleak._syntax import (
    FUNCTIONS,
    Function,
    Module,
    argument_of,
    arguments_of,
    called_name,
    last_name,
    parameters,
)
from stepleak._use import Use
from stepleak._user_code import UserCode

_TAKING_BACK = ("cancel", "close", "detach", "discard", "disconnect", "dispose", "off", "pop", "remove", "stop", "un")
"""How functions begin that take back what was handed over, or a handle's own."""
_PUTTING = ("append", "add", "insert", "appendleft")
_EMPTYING = ("clear", "pop", "popitem", "popleft")
_WRAPPING = ("partial", "staticmethod", "classmethod", "partialmethod", "MethodType")


class Withdrawals:
    """Asks about functions of one program."""

    def __init__(self, code: UserCode, runs: Runs) -> None:
        self._code = code
        self._runs = runs
        self._selections = Selections(code, runs)

    def of(self, fill: Use) -> Use | None:
        """The line that may end each way to a fill; None where one of them has none, as a call by the function's name
        in each step. An unsure one: it is not known whether that ends it."""
        return self._of(fill.module, fill.node, 0)

    def _of(self, module: Module, node: ast.AST, depth: int) -> Use | None:
        function = module.scope(node)
        if isinstance(function, ast.Lambda):
            ends = [self._of_handed(module, function, "")]
        elif isinstance(function, FUNCTIONS) and not self._code.is_entry(module, function):
            calls = [
                (home, call)
                for home, call in self._code.calls(function.name)
                if self._runs.is_to_come(home, call) and self._selections.may_call(home, call, module, function)
            ]
            if len(calls) > MOST_CALLERS or depth == MOST_LEVELS:
                return None
            ends = [
                self._selections.end_by_object(home, call, module, function) or self._of(home, call, depth + 1)
                for home, call in calls
            ]
            ends += [self._of_handed(home, named, function.name) for home, named in self._named(function)]
            ends += self._selections.ends_by_name(function)
        else:
            return None
        known = [end for end in ends if end is not None]
        return min(known, key=lambda end: end.is_sure) if known and len(known) == len(ends) else None

    def _named(self, function: Function) -> Iterator[tuple[Module, ast.AST]]:
        """Where a function is named without being called, or taken back."""
        for module in self._code.mentioning(function.name)[0]:
            taken_back = {argument for call in _taking_back_calls(module) for argument in arguments_of(call)}
            for node in module.named.get(function.name, ()):
                parent, field = module.parent(node)
                is_called = isinstance(parent, ast.Call) and field == "func"
                if isinstance(node.ctx, ast.Load) and not is_called and node not in taken_back:
                    yield module, node

    def _of_handed(self, module: Module, node: ast.AST, name: str, depth: int = 0) -> Use | None:
        """Of a place where a function is handed over. `name`: of the function, where it has one."""
        node = _wrapped(module, node)
        parent, _ = module.parent(node)
        if isinstance(parent, ast.keyword):
            parent, _ = module.parent(parent)
        if isinstance(parent, ast.Assign):
            if not self._is_done_once(module, parent):
                return None
            return self._first(self._of_target(module, target, parent) for target in parent.targets)
        if isinstance(parent, ast.Dict):
            key = parent.keys[parent.values.index(node)]  # type: ignore[arg-type]
            end = None if key is None else self._selections.end_by_key(module, parent, ast.unparse(key))
            return end or self._out_of(module, parent, name, key)
        if isinstance(parent, (ast.List, ast.Tuple)):
            place = str(parent.elts.index(node))  # type: ignore[arg-type]
            return self._selections.end_by_key(module, parent, place) or self._out_of(module, parent, name, None)
        if isinstance(parent, ast.Set):
            return self._out_of(module, parent, name, None)
        if isinstance(parent, ast.arguments) and depth < MOST_LEVELS:
            return self._of_parameter(module, *_defaulted(module, parent, node), depth)
        if not isinstance(parent, ast.Call) or not self._is_done_once(module, parent):
            return None
        return (
            (self._of_call(module, parent, node) if name or not depth else None)
            or self._out_of(module, parent, name, None)
            or (self._of_argument(module, parent, node, depth) if depth < MOST_LEVELS else None)
        )

    def _first(self, ends: Iterator[Use | None]) -> Use | None:
        return next((end for end in ends if end is not None), None)

    def _of_target(self, module: Module, target: ast.expr, made: ast.Assign) -> Use | None:
        if isinstance(target, ast.Subscript):
            return self._taken_out(last_name(target.value), last_name(made.value), target.slice, target)
        if isinstance(target, ast.Name) and isinstance(module.scope(target), ast.ClassDef):
            target = ast.Attribute(target, target.id, ast.Store())
        return self._replaced(module, target, made) if isinstance(target, (ast.Name, ast.Attribute)) else None

    def _of_call(self, module: Module, call: ast.Call, node: ast.AST) -> Use | None:
        """Where what a call was given, or its handle, is taken back."""
        name, kept_as = last_name(node), _kept_as(module, call)
        for home in {home: None for word in (name, kept_as) if word for home in self._code.mentioning(word)[0]}:
            for back in _taking_back_calls(home):
                is_of_it = bool(name) and any(last_name(argument) == name for argument in arguments_of(back))
                if (is_of_it or _is_of_handle(home, back, kept_as)) and self._is_to_come(home, back):
                    return Use("test", home, back)
        return None

    def _out_of(self, module: Module, made: ast.expr, name: str, key: ast.expr | None) -> Use | None:
        """Where a container loses it that was made with it, or got it by `append`."""
        statement = module.statement(made)
        if isinstance(made, ast.Call):
            receiver = made.func.value if isinstance(made.func, ast.Attribute) else None
            is_put = receiver is not None and called_name(made) in _PUTTING
            return self._taken_out(last_name(receiver), name, None, made) if is_put else None  # type: ignore[arg-type]
        if not isinstance(statement, ast.Assign) or statement.value is not made:
            return None
        return self._first(
            self._taken_out(last_name(target), name, key, target) or self._replaced(module, target, statement)
            for target in statement.targets
            if isinstance(target, (ast.Name, ast.Attribute))
        )

    def _taken_out(self, container: str, name: str, key: ast.expr | None, made: ast.AST) -> Use | None:
        """Where something is taken out of a container of this name, by the key or by what it is."""
        for home in self._code.mentioning(container)[0] if container else ():
            for node in home.named.get(container, ()):
                taking = _taking_out(home, node, name, key)
                if taking is not None and taking is not made and self._is_to_come(home, taking):
                    return Use("test", home, taking)
        return None

    def _of_argument(self, module: Module, call: ast.Call, node: ast.AST, depth: int) -> Use | None:
        """Of what a function of the user's gets: where the attribute or the variable that it gives that gets another
        value."""
        called = called_name(call)
        for home, owner in self._code.classes(called):
            for function in owner.body:
                if isinstance(function, FUNCTIONS) and function.name in CONSTRUCTORS:
                    return self._of_passed(home, function, call, node, depth)
        functions = self._code.functions(called)
        return self._of_passed(*functions[0], call, node, depth) if len(functions) == 1 else None

    def _of_passed(self, home: Module, function: Function, call: ast.Call, node: ast.AST, depth: int) -> Use | None:
        is_bound = home.class_of_method(function) is not None
        names = [*parameters(function), *(argument.arg for argument in function.args.kwonlyargs)]
        got = [name for name in names if argument_of(call, function, name, is_bound) is node]
        return self._of_parameter(home, function, got[0], depth) if got else None

    def _of_parameter(self, home: Module, function: ast.AST, name: str, depth: int) -> Use | None:
        """Where what got a parameter's value gets another one."""
        for node in home.named.get(name, ()):
            if isinstance(node.ctx, ast.Load) and home.resolve(node, name) is function:
                # Which of those that it was given is taken out again, the name does not tell.
                end = self._of_handed(home, node, "", depth + 1)
                if end is not None:
                    return end
        return None

    def _replaced(self, module: Module, target: ast.Name | ast.Attribute, made: ast.AST) -> Use | None:
        """Where what a function was assigned to gets another value."""
        for home, node in stores(self._code, module, target):
            is_other = module is not home or home.parent(node)[0] is not made
            if is_other and not self._runs.is_of_set_up(home, node) and not self._runs.is_uncalled(home, node):
                return Use("test", home, node)
        return None

    def _is_done_once(self, module: Module, node: ast.AST) -> bool:
        is_once = isinstance(node, ast.Call) and self._runs.is_once(module, node)
        return is_once or self._runs.is_of_set_up(module, node)

    def _is_to_come(self, module: Module, node: ast.expr) -> bool:
        """Whether a step may reach it, and not only what follows them all."""
        over = (_loop_over(module, node) if isinstance(node, ast.Call) else None) or node
        is_once = isinstance(over, (ast.Call, ast.For)) and self._runs.is_once(module, over)
        return self._runs.is_to_come(module, node) and not self._runs.is_before_steps(module, node) and not is_once


def _wrapped(module: Module, node: ast.AST) -> ast.AST:
    """The call around it that makes of a function another one: `staticmethod(fill)`, `partial(fill, x)`."""
    parent, _ = module.parent(node)
    is_wrapping = isinstance(parent, ast.Call) and called_name(parent) in _WRAPPING and parent.args[:1] == [node]
    return _wrapped(module, parent) if is_wrapping and parent is not None else node


def _defaulted(module: Module, arguments: ast.arguments, default: ast.AST) -> tuple[ast.AST, str]:
    """The function, and the parameter of it that has this default."""
    function, _ = module.parent(arguments)
    named = zip(reversed([*arguments.posonlyargs, *arguments.args]), reversed(arguments.defaults), strict=False)
    by_keyword = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return function or module.tree, next((a.arg for a, value in [*named, *by_keyword] if value is default), "")


def _taking_out(module: Module, container: ast.expr, name: str, key: ast.expr | None) -> ast.expr | None:
    """What takes an item out of a container where that is named, or puts another in its place."""
    outer, field = module.parent(container)
    if isinstance(outer, ast.Subscript) and field == "value":
        is_out = not isinstance(outer.ctx, ast.Load) and _is_key(outer.slice, key)
        return outer if is_out else None
    call, _ = module.parent(outer) if isinstance(outer, ast.Attribute) else (None, "")
    is_call = isinstance(call, ast.Call) and call.func is outer and _takes(call, name, key)
    return call if is_call else None  # type: ignore[return-value]


def _is_key(asked: ast.expr, key: ast.expr | None) -> bool:
    """Whether an item may be that of a key; of an unknown one any."""
    if key is None:
        return True
    return isinstance(asked, ast.Constant) and isinstance(key, ast.Constant) and asked.value == key.value


def _takes(call: ast.Call, name: str, key: ast.expr | None) -> bool:
    """Whether a method of a container takes out what has the name or the key."""
    method = called_name(call)
    if method in ("remove", "discard"):
        return bool(name) and any(last_name(argument) == name for argument in call.args)
    return method in _EMPTYING and (not call.args or _is_key(call.args[0], key))


def _taking_back_calls(module: Module) -> Iterator[ast.Call]:
    for name, calls in module.calls.items():
        if name.startswith(_TAKING_BACK):
            yield from calls


def _kept_as(module: Module, call: ast.Call) -> str:
    """The name of the variable or the attribute that gets the handle, or a list that it is put into."""
    statement = module.statement(call)
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Assign):
        return next(filter(None, map(last_name, statement.targets)), "")
    is_put = isinstance(value, ast.Call) and called_name(value) in ("append", "add") and call in value.args
    return last_name(value.func.value) if is_put else ""  # type: ignore[union-attr]


def _is_of_handle(module: Module, call: ast.Call, kept_as: str) -> bool:
    """Whether it is called of the handle, or of each of several."""
    if not kept_as or call.args or not isinstance(call.func, ast.Attribute):
        return False
    name = last_name(call.func.value)
    loop = _loop_over(module, call)
    return name == kept_as or (loop is not None and last_name(loop.iter) == kept_as)


def _loop_over(module: Module, call: ast.Call) -> ast.For | None:
    """The loop whose variable it is called of."""
    name = last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    loops = (loop for loop in module.loops(module.statement(call)) if isinstance(loop, ast.For))
    return next((loop for loop in loops if name and last_name(loop.target) == name), None)
