# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether what fills a container comes out of something that is used up some day: a queue that nothing is put into any
more, an iterator that is made once, a list whose end a count comes to.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from stepleak._assignments import assigned_value, named_value, named_variable, stores
from stepleak._container_words import ADDING, OF_QUEUES, READING, REMOVING
from stepleak._runs import Runs
from stepleak._syntax import Guard, Module, called_name, last_name
from stepleak._use import Use
from stepleak._user_code import UserCode

_AT_END = {"StopIteration", "StopAsyncIteration", "IndexError", "KeyError", "Empty", "QueueEmpty"}
"""What is raised where nothing is left."""
_LEAVING = (ast.Pass, ast.Continue, ast.Return, ast.Break)
_TAKING = REMOVING | OF_QUEUES
_CONTAINERS = {"list", "dict", "set", "deque", "sorted", "range", "tuple"}
_ITERATORS = {"iter", "islice", "enumerate", "zip", "map", "filter"}


class UsedUp:
    def __init__(self, code: UserCode, runs: Runs) -> None:
        self._code = code
        self._runs = runs

    def is_left(self, module: Module, part: Guard) -> bool:
        """Whether a test asks for something that is left of what is only taken from: `if self.waiting`, `while not
        queue.empty()`, `if key in missing`."""
        test = part.test
        source: ast.expr | None = None
        if isinstance(test, ast.Call) and called_name(test) == "empty" and isinstance(test.func, ast.Attribute):
            source = None if part.holds else test.func.value
        elif isinstance(test, ast.Compare) and len(test.ops) == 1:
            drawn = _drawn_from(named_value(self._code, module, test.left)[1])
            if drawn is not None and isinstance(test.ops[0], ast.IsNot if part.holds else ast.Is):
                return self.is_not_refilled(module, drawn)  # `next(rows, None) is not None`
            if isinstance(test.ops[0], ast.In if part.holds else ast.NotIn):
                source = test.comparators[0]
            elif isinstance(test.ops[0], (ast.Gt, ast.NotEq) if part.holds else (ast.Eq, ast.LtE)):
                source = _measured(test.left)
        elif part.holds:
            source = _measured(test) or test
        if source is None:
            return False
        asked = [(module, source), *self._of_classes(source)]
        return any(self._is_taken(home, one) and self.is_not_refilled(home, one) for home, one in asked)

    def _of_classes(self, source: ast.expr) -> Iterator[tuple[Module, ast.expr]]:
        """What an object of the user's tells of by its truth or its length, where something of its name is made one."""
        name = last_name(source)
        made = {
            called_name(value): None
            for home in (self._code.mentioning(name)[0] if name else ())
            for node in home.named.get(name, ())
            if isinstance(value := assigned_value(home, node), ast.Call)
        }
        for home, kind in (found for each in made for found in self._code.classes(each)):
            methods = {part.name: part for part in kind.body if isinstance(part, ast.FunctionDef)}
            told = methods.get("__bool__") or methods.get("__len__")
            for node in ast.walk(told) if told is not None else ():
                if isinstance(node, ast.Return) and isinstance(node.value, ast.Call) and node.value.args:
                    yield home, _measured(node.value.args[0]) or node.value.args[0]

    def end_behind(self, fill: Use) -> Use | None:
        """What raises an exception in place of a fill, or in a call that leads to it, once nothing is left; or what
        there is nothing of any more, `for row in rows[step : step + 1]`."""
        many = fill.detail if fill.puts_many() else None
        sources = [] if many is None else list(self._looped_over(fill.module, many))
        for module, node in self._runs.leading_to(fill):
            sources += ((module, source) for source in _tried(module, node, self._ends_training))
            for loop in module.loops(module.statement(node)):
                if isinstance(loop, ast.For) and not self._runs.trains(module, loop):
                    sources += self._looped_over(module, loop.iter)
        found = (Use("test", module, source) for module, source in sources if self.is_not_refilled(module, source))
        return next(found, None)

    def _ends_training(self, module: Module, attempt: ast.AST) -> bool:
        """Whether it leaves the loop of the steps, which draws batches by hand, once there are no more."""
        loops = module.loops(attempt)
        handlers = attempt.handlers if isinstance(attempt, ast.Try) else []
        is_left = any(isinstance(s, (ast.Break, ast.Return)) for handler in handlers for s in handler.body)
        return is_left and bool(loops) and self._runs.trains(module, loops[0])

    def _looped_over(self, module: Module, items: ast.expr) -> Iterator[tuple[Module, ast.expr]]:
        """Of what a loop goes over other items each time: a part by numbers that change, and what an iterator gives."""
        yield from ((module, part) for part in _moving_parts(items))
        for node in ast.walk(items):
            if not isinstance(node, (ast.Name, ast.Attribute)):
                continue
            home, value = named_value(self._code, module, node)
            part = value.value if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice) else node
            if isinstance(part, (ast.Name, ast.Attribute)):
                yield from self._cut_by_and_by(home, part)
            values = [assigned_value(home, one) for home, one in stores(self._code, module, node)]
            if values and all(map(_is_iterator, values)):
                yield module, node

    def _cut_by_and_by(self, module: Module, source: ast.Name | ast.Attribute) -> Iterator[tuple[Module, ast.expr]]:
        if any(_is_cut_of_itself(home, node) for home, node in stores(self._code, module, source)):
            yield module, source

    def is_not_refilled(self, module: Module, source: ast.expr) -> bool:
        """Whether no step puts anything into it, or has another one in its place."""
        home, source = named_variable(self._code, module, source)
        if not isinstance(source, (ast.Name, ast.Attribute)) or home.class_of_self(source) is not None:
            return False
        given = [(m, node) for m, node in stores(self._code, home, source) if not _is_cut_of_itself(m, node)]
        if not given or any(isinstance(node.ctx, ast.Load) for _, node in given):
            return False
        is_made_once = all(self._runs.is_of_set_up(m, node) for m, node in given)
        is_endless = any(_is_endless(assigned_value(m, node)) for m, node in given)
        return is_made_once and not is_endless and not any(self._fills(last_name(source)))

    def _fills(self, name: str) -> Iterator[ast.AST]:
        """What may put something into what has a name, once the set-up is over."""
        for home in self._code.mentioning(name)[0]:
            for node in home.named.get(name, ()):
                outer, field = home.parent(node)
                is_item = isinstance(outer, ast.Subscript) and field == "value" and isinstance(outer.ctx, ast.Store)
                is_put = isinstance(outer, ast.Attribute) and outer.attr in ADDING
                is_handed = isinstance(outer, (ast.Call, ast.keyword)) and field in ("args", "value")
                is_handed = is_handed and called_name(outer) not in READING  # type: ignore[arg-type]
                is_filled = is_item or is_put or is_handed
                if is_filled and not self._is_of_set_up(home, node) and not self._runs.is_uncalled(home, node):
                    yield node

    def _is_of_set_up(self, module: Module, node: ast.AST) -> bool:
        """As `Runs` have it, or in a function that only the set-up calls."""
        if self._runs.is_of_set_up(module, node):
            return True
        function = module.function(node)
        if function is None or self._code.is_entry(module, function):
            return False
        calls = self._code.calls(function.name)
        return bool(calls) and all(self._runs.is_of_set_up(home, call) for home, call in calls)

    def _is_taken(self, module: Module, source: ast.expr) -> bool:
        _, source = named_variable(self._code, module, source)
        name = last_name(source)
        return bool(name) and any(
            isinstance(outer, ast.Attribute) and outer.attr in _TAKING and not self._runs.is_of_set_up(home, node)
            for home in self._code.mentioning(name)[0]
            for node in home.named.get(name, ())
            for outer, _ in [home.parent(node)]
        )


def _is_cut_of_itself(module: Module, node: ast.Name | ast.Attribute) -> bool:
    """`todo = todo[1:]`: it is never longer than before."""
    value = assigned_value(module, node)
    is_part = isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)
    return is_part and last_name(value.value) == last_name(node)  # type: ignore[union-attr]


def _moving_parts(items: ast.expr) -> Iterator[ast.expr]:
    """Of what it has a part by numbers that change: `rows[step : step + 1]`."""
    for node in ast.walk(items):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper)
            if not any(end is None or isinstance(end, ast.Constant) for end in ends):
                yield node.value


def _measured(test: ast.expr) -> ast.expr | None:
    """Whose length it asks for."""
    if isinstance(test, ast.Call) and called_name(test) == "len" and len(test.args) == 1:
        return test.args[0]
    is_size = isinstance(test, ast.Call) and called_name(test) == "qsize" and isinstance(test.func, ast.Attribute)
    return test.func.value if is_size else None  # type: ignore[attr-defined]


def _is_iterator(value: ast.expr | None) -> bool:
    """Whether it is made of others' items, which are used up where these are."""
    return isinstance(value, ast.GeneratorExp) or (isinstance(value, ast.Call) and called_name(value) in _ITERATORS)


def _is_endless(value: ast.expr | None) -> bool:
    """Whether it may go on for ever, as that of a generator may whose end is not seen here."""
    if isinstance(value, ast.GeneratorExp):
        return any(_is_endless(part.iter) for part in value.generators)
    if not isinstance(value, ast.Call):
        return False
    name = called_name(value)
    if name == "zip" and value.args:
        return all(map(_is_endless, value.args))  # it ends with the shortest
    stop = value.args[min(len(value.args), 3) - 1] if name == "islice" and len(value.args) > 1 else None
    if stop is not None and not (isinstance(stop, ast.Constant) and stop.value is None):
        return False
    if name in _ITERATORS:
        return any(map(_is_endless, value.args))
    return name[:1].islower() and name not in _CONTAINERS


def _tried(module: Module, node: ast.AST, is_of_loop: Callable[[Module, ast.AST], bool]) -> Iterator[ast.expr]:
    """What is taken from before a place comes, where it is passed by once nothing is left."""
    child = node
    for outer, field, before in module.within_scope(node):
        for statement in before:
            is_tried = isinstance(statement, ast.Try) and any(map(_is_passing_by, statement.handlers))
            if is_tried and not is_of_loop(module, statement):
                yield from _taken_in(statement.body)  # type: ignore[attr-defined]
        if field == "body" and _is_passing_by_end(outer) and not is_of_loop(module, outer):
            yield from _taken_in([*before, child])
        child = outer


def _is_passing_by_end(outer: ast.AST) -> bool:
    if isinstance(outer, ast.With):
        calls = [item.context_expr for item in outer.items if isinstance(item.context_expr, ast.Call)]
        return any(called_name(call) == "suppress" and _names(call.args) & _AT_END for call in calls)
    return isinstance(outer, ast.Try) and any(map(_is_passing_by, outer.handlers))


def _is_passing_by(handler: ast.ExceptHandler) -> bool:
    """Whether it only leaves where something is used up."""
    caught = getattr(handler.type, "elts", [handler.type])
    return all(isinstance(s, _LEAVING) for s in handler.body) and bool(_names(caught) & _AT_END)


def _names(caught: Sequence[ast.expr | None]) -> set[str]:
    return {last_name(one) for one in caught if one is not None}


def _drawn_from(value: ast.expr) -> ast.expr | None:
    """The iterator that a call of `next` draws from."""
    return value.args[0] if isinstance(value, ast.Call) and called_name(value) == "next" and value.args else None


def _taken_in(statements: Sequence[ast.AST]) -> Iterator[ast.expr]:
    for node in (inner for statement in statements for inner in ast.walk(statement)):
        drawn = _drawn_from(node) if isinstance(node, ast.Call) else None
        if drawn is not None:
            yield drawn
        elif isinstance(node, ast.Call) and called_name(node) in _TAKING and isinstance(node.func, ast.Attribute):
            yield node.func.value
        elif isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Constant, ast.Slice)):
            yield node.value
