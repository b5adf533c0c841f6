# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Syntax trees with what `ast` leaves out: parents, scopes of names, loops, and what a statement stands under."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from stepleak._cases import test_of

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef, ast.Module)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
LEAVING = (ast.Return, ast.Continue)
"""Statements that leave a function, or one round of a loop."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Function = ast.FunctionDef | ast.AsyncFunctionDef
_Node = TypeVar("_Node", bound=ast.AST)


@dataclass(frozen=True)
class Guard:
    """A test under which a statement runs."""

    test: ast.expr
    holds: bool
    """Whether it is true where the statement runs."""
    is_loop: bool


class Module:
    """One source file, parsed."""

    def __init__(self, file: str, text: str, namespace: dict[str, Any]) -> None:
        self.file = file
        self.namespace = namespace
        """The module's globals as they are now."""
        self.tree = ast.parse(text)
        self.nodes = list(ast.walk(self.tree))
        self._lines = text.splitlines()
        self._parents: dict[ast.AST, tuple[ast.AST, str]] = {}
        for node in self.nodes:
            for name, value in ast.iter_fields(node):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        self._parents[child] = (node, name)
        self._tests_of_cases: dict[ast.match_case, ast.expr | None] = {}
        self._bound: dict[ast.AST, set[str]] = {}
        self._outer: dict[ast.AST, set[str]] = {}
        for node in self.nodes:
            self._bind(node)

    @functools.cached_property
    def functions(self) -> dict[str, list[Function]]:
        """Functions and methods by name; as all of these, in the order of `nodes`."""
        return _by_name((node.name, node) for node in self.nodes if isinstance(node, FUNCTIONS))

    @functools.cached_property
    def classes(self) -> dict[str, list[ast.ClassDef]]:
        return _by_name((node.name, node) for node in self.nodes if isinstance(node, ast.ClassDef))

    @functools.cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """By the name of what is called."""
        return _by_name((called_name(node), node) for node in self.nodes if isinstance(node, ast.Call))

    @functools.cached_property
    def named(self) -> dict[str, list[ast.Name | ast.Attribute]]:
        """Variables and attributes by their last name."""
        return _by_name((last_name(node), node) for node in self.nodes if isinstance(node, (ast.Name, ast.Attribute)))

    def derived(self, name: str) -> list[ast.ClassDef]:
        """Classes that have one of this name as a base."""
        return [node for nodes in self.classes.values() for node in nodes if name in map(last_name, node.bases)]

    def line(self, number: int) -> str:
        return self._lines[number - 1].strip() if 0 < number <= len(self._lines) else ""

    def parent(self, node: ast.AST) -> tuple[ast.AST | None, str]:
        """The node around it, and the field of that node in which it stands."""
        return self._parents.get(node, (None, ""))

    def around(self, node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
        """The nodes around it, the innermost first, each with the field in which the one before it stands."""
        parent, name = self.parent(node)
        while parent is not None:
            yield parent, name
            parent, name = self.parent(parent)

    def within_scope(self, node: ast.AST) -> Iterator[tuple[ast.AST, str, list[ast.AST]]]:
        """As `around`, up to the scope, each with what stands before it in the same list."""
        child = node
        for outer, name in self.around(node):
            beside = getattr(outer, name)
            yield outer, name, beside[: beside.index(child)] if isinstance(beside, list) else []
            if isinstance(outer, SCOPES) and name == "body":
                return
            child = outer

    def statement(self, node: ast.AST) -> ast.AST:
        if isinstance(node, (ast.stmt, ast.arg)):
            return node
        return next((outer for outer, _ in self.around(node) if isinstance(outer, ast.stmt)), node)

    def scope(self, node: ast.AST) -> ast.AST:
        """The function, lambda, class or module in whose body it stands."""
        for outer, name in self.around(node):
            if isinstance(outer, SCOPES) and name == "body":
                return outer
            if isinstance(node, ast.arg) and isinstance(outer, (*FUNCTIONS, ast.Lambda)):
                return outer
        return self.tree

    def function(self, node: ast.AST) -> Function | None:
        """The innermost function with a name in whose body it stands."""
        for outer, name in self.around(node):
            if isinstance(outer, FUNCTIONS) and name == "body":
                return outer
        return None

    def class_of_method(self, function: ast.AST | None) -> ast.ClassDef | None:
        if function is None:
            return None
        outer, _ = self.parent(function)
        return outer if isinstance(outer, ast.ClassDef) else None

    def class_of_self(self, node: ast.expr) -> ast.ClassDef | None:
        """The class whose method's first argument this name is; of `super()` too."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
            return self.class_of_method(self.function(node))
        if not isinstance(node, ast.Name):
            return None
        scope = self.resolve(node, node.id)
        if not isinstance(scope, FUNCTIONS) or self.class_of_method(scope) is None:
            return None
        arguments = parameters(scope)
        return self.class_of_method(scope) if arguments and arguments[0] == node.id else None

    def resolve(self, node: ast.AST, name: str) -> ast.AST:
        """The scope whose variable a name means where `node` stands: also a comprehension, of its own."""
        scope = self.scope(node)
        if (own := self._comprehension_of(node, name)) is not None:
            return own
        is_first = True
        while scope is not self.tree:
            if name in self._outer.get(scope, ()):
                return self.tree
            if name in self._bound.get(scope, ()) and (is_first or not isinstance(scope, ast.ClassDef)):
                return scope
            scope, is_first = self.scope(scope), False
        return self.tree

    def _comprehension_of(self, node: ast.AST, name: str) -> ast.AST | None:
        """The innermost one around it, within its scope, that goes over items by that name."""
        child, is_first = node, False
        for outer, field in self.around(node):
            if isinstance(outer, SCOPES) and field == "body":
                return None
            if isinstance(outer, ast.comprehension):
                is_first = field == "iter"  # what the first of them goes over is asked for outside
            elif isinstance(outer, COMPREHENSIONS):
                is_outside = is_first and child is outer.generators[0]
                if not is_outside and name in self._bound.get(outer, ()):
                    return outer
                is_first = False
            child = outer
        return None

    def loops(self, node: ast.AST) -> list[ast.AST]:
        """Loops around it within its scope."""
        found: list[ast.AST] = []
        for outer, name in self.around(node):
            if isinstance(outer, SCOPES) and name == "body":
                break
            if (isinstance(outer, LOOPS) and name == "body") or isinstance(outer, COMPREHENSIONS):
                found.append(outer)
        return found

    def guards(
        self,
        node: ast.AST,
        is_leaving: Callable[[ast.stmt], bool] = lambda statement: isinstance(statement, LEAVING),
    ) -> list[Guard]:
        """Tests around it within its scope, and those that leave the scope or the loop before it, by such
        statements."""
        found: list[Guard] = []
        child: ast.AST = node
        for outer, name in self.around(node):
            if isinstance(outer, (ast.If, ast.IfExp)) and name != "test":
                found.append(Guard(outer.test, name == "body", False))
            elif isinstance(outer, ast.While) and name == "body":
                found.append(Guard(outer.test, True, True))
            elif isinstance(outer, (ast.For, ast.AsyncFor)) and name == "body":
                found.append(Guard(outer.iter, True, True))
            elif isinstance(outer, LOOPS) and name == "orelse":
                found += [Guard(test.test, False, False) for test in self.leaving_within(outer, ast.Break)]
            elif isinstance(outer, ast.BoolOp) and child is not outer.values[0]:
                before = outer.values[: outer.values.index(child)]  # type: ignore[arg-type]
                found += [Guard(value, isinstance(outer.op, ast.And), False) for value in before]
            elif isinstance(outer, ast.Match) and isinstance(child, ast.match_case):
                found += self._guards_of_case(outer, child)
            statements = getattr(outer, name)
            if isinstance(child, ast.stmt) and isinstance(statements, list):
                for earlier in statements[: statements.index(child)]:
                    found += self._guards_after(earlier, is_leaving)
            if isinstance(outer, SCOPES) and name == "body":
                break
            child = outer
        return found

    def _guards_after(self, statement: ast.stmt, is_leaving: Callable[[ast.stmt], bool]) -> list[Guard]:
        """Of what stands behind a statement that may leave."""
        if isinstance(statement, ast.If) and is_leaving(statement.body[-1]):
            return [Guard(statement.test, False, False)]
        if isinstance(statement, LOOPS):
            return [Guard(test.test, False, False) for test in self.leaving_within(statement, ast.Return)]
        if isinstance(statement, ast.Assert) and is_leaving(statement):
            return [Guard(statement.test, True, False)]
        cases = statement.cases if isinstance(statement, ast.Match) else []
        tests = [self._test_of_case(statement.subject, case) for case in cases if is_leaving(case.body[-1])]  # type: ignore[attr-defined]
        return [Guard(test, False, False) for test in tests if test is not None]

    def leaving_within(self, loop: ast.AST, by: type[ast.stmt]) -> list[ast.If]:
        """Tests in a loop with which its function returns, or it breaks: `for slot in slots: if slot.is_free: return
        slot`."""
        return [
            node
            for node in ast.walk(loop)
            if isinstance(node, ast.If) and isinstance(node.body[-1], by) and self.scope(node) is self.scope(loop)
        ]

    def _guards_of_case(self, match: ast.Match, case: ast.match_case) -> list[Guard]:
        """It is taken where its own test holds, and those of the cases before it don't."""
        before = match.cases[: match.cases.index(case)]
        tests = [(case, True), *((earlier, False) for earlier in before)]
        told = [(self._test_of_case(match.subject, one), holds) for one, holds in tests]
        return [Guard(test, holds, False) for test, holds in told if test is not None]

    def _test_of_case(self, subject: ast.expr, case: ast.match_case) -> ast.expr | None:
        """The same one each time, with the case around it."""
        if case not in self._tests_of_cases:
            test = self._tests_of_cases[case] = test_of(subject, case)
            for node in ast.walk(test) if test is not None else ():
                self._parents.setdefault(node, (case, "guard"))
        return self._tests_of_cases[case]

    def _bind(self, node: ast.AST) -> None:
        names: list[str] = []
        if isinstance(node, COMPREHENSIONS):
            targets = (part for each in node.generators for part in ast.walk(each.target))
            self._bound[node] = {part.id for part in targets if isinstance(part, ast.Name)}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            if not any(isinstance(o, ast.comprehension) and n == "target" for o, n in self.around(node)):
                names = [node.id]
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            names = [node.name]
        elif isinstance(node, ast.arg):
            names = [node.arg]
        elif isinstance(node, ast.alias):
            names = [node.asname or node.name.partition(".")[0]]
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names = [node.name]
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names = [node.rest]
        elif isinstance(node, ast.Global):
            self._outer.setdefault(self.scope(node), set()).update(node.names)
        if names:
            self._bound.setdefault(self.scope(node), set()).update(names)
        if isinstance(node, ast.Nonlocal):
            self._nonlocal(node)

    def _nonlocal(self, node: ast.Nonlocal) -> None:
        # Its own assignments come later in the walk: a name that an outer function binds is found there instead.
        scope = self.scope(node)
        self._bound[scope] = _Without(self._bound.get(scope, set()), set(node.names))


class _Without(set[str]):
    """A set that never takes some names."""

    def __init__(self, items: set[str], names: set[str]) -> None:
        self._names = names | getattr(items, "_names", set())
        super().__init__(items - self._names)

    def update(self, *others: Any) -> None:
        for other in others:
            super().update(set(other) - self._names)


def first_line(function: Function) -> int:
    """Of the function or of its first decorator, as its code object has it."""
    return min(node.lineno for node in (function, *function.decorator_list))


def parameters(function: ast.AST) -> list[str]:
    """Names of the positional parameters."""
    if not isinstance(function, (*FUNCTIONS, ast.Lambda)):
        return []
    return [a.arg for a in (*function.args.posonlyargs, *function.args.args)]


def is_parameter(function: ast.AST, name: str) -> bool:
    if not isinstance(function, (*FUNCTIONS, ast.Lambda)):
        return False
    return name in parameters(function) or any(a.arg == name for a in function.args.kwonlyargs)


def texts(module: Module, text: str) -> Iterator[ast.Constant]:
    """Where a file has it as text."""
    return (node for node in module.nodes if isinstance(node, ast.Constant) and node.value == text)


def has_text(module: Module, text: str) -> bool:
    """Whether a file has it as text, so that it may be a name that is put together: `setattr(x, name, [])`."""
    return any(True for _ in texts(module, text))


def is_generator(function: Function) -> bool:
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function))


def is_property(function: ast.AST) -> bool:
    """Of whatever kind: cached, or of a class."""
    return any("property" in last_name(decorator) for decorator in getattr(function, "decorator_list", ()))


def default_of(function: ast.AST, name: str) -> ast.expr | None:
    """The default of a parameter; None where it has none."""
    if not isinstance(function, (*FUNCTIONS, ast.Lambda)):
        return None
    names = parameters(function)
    defaults = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    by_keyword = zip((a.arg for a in function.args.kwonlyargs), function.args.kw_defaults, strict=True)
    return {**defaults, **dict(by_keyword)}.get(name)


def called_name(call: ast.AST) -> str:
    """The last part of the name that a call calls."""
    return last_name(call.func) if isinstance(call, ast.Call) else ""


def arguments_of(call: ast.Call) -> list[ast.expr]:
    """What a call is given, by place and by name."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def first_name(node: ast.AST) -> str:
    """The first part of a dotted name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def argument_of(call: ast.Call, function: ast.AST, name: str, is_bound: bool) -> ast.expr | None:
    """What a call passes for a parameter. `is_bound`: the first parameter is not passed."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    names = parameters(function)[1 if is_bound else 0 :]
    index = names.index(name) if name in names else len(call.args)
    if any(isinstance(a, ast.Starred) for a in call.args[: index + 1]):
        return None
    return call.args[index] if index < len(call.args) else None


def _by_name(named: Iterable[tuple[str, _Node]]) -> dict[str, list[_Node]]:
    nodes: dict[str, list[_Node]] = {}
    for name, node in named:
        nodes.setdefault(name, []).append(node)
    return nodes
