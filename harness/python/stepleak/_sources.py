# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Finds the statement in the user's sources that keeps something where the search for holders found it."""

from __future__ import annotations

import ast
import copy
import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stepleak._folders import PACKAGE_FOLDERS
from stepleak._objects import key_text
from stepleak._syntax import FUNCTIONS, SCOPES, Module, called_name, first_line, is_parameter
from stepleak._uses import Use


@dataclass(frozen=True)
class Access:
    """One step on the way from a root to what is kept, as the source would write it."""

    kind: str
    """`variable` (also a module's), `attribute`, `key`, `index`; `any_index`; `other` for what no source writes."""
    label: str
    owners: frozenset[str] = frozenset()
    """Of an attribute: the names of the classes that its object is of."""
    scope: tuple[str, int] | None = None
    """Of a function's variable: the file and the line where the function begins."""

    def is_item(self, index: ast.expr) -> bool:
        """Whether `[index]` may lead there: a constant must be the key itself."""
        if self.kind == "any_index":
            return not (isinstance(index, ast.Constant) and isinstance(index.value, str))
        if self.kind not in ("key", "index"):
            return False
        return not isinstance(index, ast.Constant) or self.label in (index.value, key_text(index.value))


@dataclass(frozen=True)
class Place:
    """Where something is kept."""

    way: list[Access]
    """From a root to the innermost container, or to what is held where there is none."""
    beyond: list[Access]
    """From the container to what is held; empty where the container itself is held."""
    is_container: bool
    buffer: type | None = None
    """Of a buffer that grew: its type."""


@dataclass(frozen=True)
class _Match:
    """A statement that may keep something at a place; the smaller `rank`, the likelier."""

    is_proven: bool
    rank: int
    node: ast.stmt
    value: ast.expr | None
    """The expression of what is held; None where the statement does not write it."""
    is_registering: bool = False
    """Whether it calls a function of a library that fills a container of its."""


_FILLED_BY_LIBRARIES = (
    ("_hooks", "register_"),
    ("_hooks", "_register_"),
    ("maps", "new_child"),
    ("param_groups", "add_param_group"),
    ("_modules", "add_module"),
    ("_modules", "register_module"),
    ("_parameters", "register_parameter"),
    ("_buffers", "register_buffer"),
    ("handlers", "addHandler"),
    ("filters", "addFilter"),
    ("_exit_callbacks", "callback"),
    ("_exit_callbacks", "push"),
    ("_exit_callbacks", "enter_"),
    ("filters", "filterwarnings"),
    ("filters", "simplefilter"),
    ("__warningregistry__", "warn"),
    ("_modules", "register_parametrization"),
    ("_registry", "finalize"),
    ("registry", "register"),
    ("_scheduled", "call_"),
    ("_callbacks", "add_done_callback"),
    ("_active", "start"),
    ("_waiters", "wait"),
    ("_waiters", "acquire"),
)
"""Ends of the names of containers in objects of torch and of Python's own library, and how the functions that fill them
begin."""

_TABLES_OF_A_MODULE = frozenset({"_buffers", "_parameters", "_modules"})
"""Of `torch.nn.Module`, which puts there what is assigned to an attribute of such a name."""

_CONTAINERS = frozenset({"Counter", "OrderedDict", "defaultdict", "deque", "dict", "list", "set"})

_CONSTRUCTORS = ("__init__", "__post_init__")

_WRAPPERS = {
    "data": frozenset({"WeakKeyDictionary", "WeakValueDictionary", "UserDict", "UserList"}),
    "queue": frozenset({"Queue", "LifoQueue", "PriorityQueue"}),
    "_queue": frozenset({"Queue", "LifoQueue", "PriorityQueue"}),
    "_buffer": frozenset({"Queue", "JoinableQueue"}),
    "_modules": frozenset({"ModuleList", "ModuleDict", "Sequential"}),
    "_parameters": frozenset({"ParameterList", "ParameterDict"}),
}
"""Classes whose objects are used like the container that they keep as an attribute of this name."""


_UNPROVEN = 5
"""By how much a statement ranks behind all those that lead to the very place, where two ways are written."""
_LAST_RANK = 99


class Sources:
    """Statements of the user's sources that keep something."""

    _ADDING_ONE = frozenset({"append", "add", "appendleft", "insert", "setdefault", "put", "put_nowait"})
    _ADDING_ALL = frozenset({"extend", "update", "write", "writelines"})

    def __init__(self, lines: dict[str, set[int]]) -> None:
        self._lines = lines
        self._trees: dict[str, ast.Module] = {}
        self._bodies: dict[ast.Lambda, ast.Expr] = {}
        for file in lines:
            try:
                self._trees[file] = ast.parse(Path(file).read_text(encoding="utf-8"))
            except (OSError, SyntaxError, ValueError):
                continue

    @classmethod
    def of(cls, modules: list[Module]) -> Sources:
        """Those of files that have been read."""
        sources = cls({})
        sources._lines = {module.file: set() for module in modules}
        sources._trees = {module.file: module.tree for module in modules}
        return sources

    @property
    def lines(self) -> dict[str, set[int]]:
        """Of each file the lines in which what outlives a step was made, or that called for it."""
        return self._lines

    def has(self, file: str) -> bool:
        """Whether it is one of the sources."""
        return file in self._trees

    def statement_keeping(self, place: Place, *, is_later: bool = False, is_sure: bool = False) -> dict[str, Any]:
        """The likeliest statement that keeps something at a place; empty where none is known. `is_later`: none of a
        constructor, where what was kept first is made. `is_sure`: none that has only the name in common.
        """
        ways = [_as_attribute(place) or _as_wrapper(place), place]
        found = [self._statement_keeping(way, is_later) for way in ways if way is not None]
        rank, statement = min(found, key=lambda ranked: ranked[0])
        return no_statement() if is_sure and rank >= _UNPROVEN else statement

    def _statement_keeping(self, place: Place, is_later: bool) -> tuple[int, dict[str, Any]]:
        """Of one way to write the place, with its rank.

        Inside a function, or inside a loop of a script's top level: what runs once keeps one thing.

        Its target must lead to the place by the same attributes and keys; one that has only the name in common may
        mean another object, and is taken where it is the only one. Adding beats assigning (`self.history = []` in the
        set-up keeps nothing); of several such statements, one that survivors were born in beats one in a function that
        they were born in or below, and that one elsewhere; then one that keeps a tensor with its graph; then the first.
        """
        proven: list[tuple[int, int, str, _Match]] = []
        others: list[tuple[int, int, str, _Match]] = []
        taken_back: list[tuple[int, int, str, _Match]] = []
        for file, tree in self._trees.items():
            for function, owner in _repeating(tree):
                if is_later and owner and getattr(function, "name", "") in _CONSTRUCTORS:
                    continue
                body = range(function.lineno, (function.end_lineno or function.lineno) + 1)
                is_elsewhere = not any(line in body for line in self._lines[file])
                for node in ast.walk(function):
                    match = None if node is function else self._match(node, place, owner)
                    if match is None:
                        continue
                    distance = 2 if is_elsewhere else 0 if self._is_birthplace(file, match.node) else 1
                    if match.is_proven and _is_of_another(match.node, file, tree, place):
                        if match.rank > 1:
                            continue  # makes a variable, and fills nothing that may be passed under another name
                        match = replace(match, is_proven=False)
                    # In `total = total + loss` what was born is added as by `total += loss` elsewhere.
                    is_sum = isinstance(match.node, ast.Assign) and _is_sum_with(match.node.value, place.way, owner)
                    if distance == 0 and is_sum:
                        match = replace(match, rank=min(match.rank, 1))
                    found = proven if match.is_proven else others
                    found = taken_back if _is_taken_back(node, function) else found
                    found.append((match.rank, distance, file, match))
        # An error may pass over the line that takes it back.
        others = others if proven or others else taken_back
        # Of statements of which each may mean another object, one that runs again is meant, and none of a package's.
        if len(_nodes_of(others)) > 1:
            others = [found for found in others if not self.is_in_constructor(_statement(found[2], found[3].node))]
            others = [found for found in others if not _is_installed(found[2])] or others
        if proven:
            rank, _, file, match = min(proven, key=lambda found: (*found[:2], _is_cut_off(found[3].value)))
        elif len(_nodes_of(others)) == 1 or _is_registered_in_one(others, self._trees):
            rank, _, file, match = others[0]
        else:
            return _LAST_RANK, no_statement()
        return rank + (0 if match.is_proven else _UNPROVEN), _statement(file, match.node, match.value)

    def is_in_constructor(self, statement: dict[str, Any]) -> bool:
        """Whether a statement that was found is one of `__init__`, or of what dataclasses have in its place."""
        around = _functions_around(self._trees[statement["file"]], statement["line"])
        methods = [function for function, owner in around if owner]
        return bool(methods) and methods[-1].name in _CONSTRUCTORS

    def statement_at(self, file: str, line: int) -> dict[str, Any]:
        """The innermost statement at a line; of a function, its decorators belong to it."""
        tree = self._trees.get(file)
        statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)] if tree is not None else []
        around = [node for node in statements if _first_line(node) <= line <= (node.end_lineno or node.lineno)]
        return _statement(file, max(around, key=lambda node: node.lineno)) if around else no_statement()

    def statement_making_graphs(self) -> dict[str, Any]:
        """The only one that calls `backward(create_graph=True)`, which gives gradients a graph."""
        found = [
            (file, node)
            for file, tree in self._trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and _makes_graphs(node.value)
        ]
        return _statement(*found[0]) if len(found) == 1 else no_statement()

    def statements_calling(self, name: str, *, in_constructors: bool = False) -> list[dict[str, Any]]:
        """Those that may run again and again, and call something of this name; or those of them in a constructor."""
        return [
            statement
            for file, tree in self._trees.items()
            for node in _repeated(tree)
            if isinstance(node, (ast.Expr, ast.Assign, ast.Return)) and node.value and called_name(node.value) == name
            if self.is_in_constructor(statement := _statement(file, node)) == in_constructors
        ]

    def statement_calling_owner(self, place: Place, born: Collection[tuple[str, int]]) -> dict[str, Any]:
        """The only one that calls a method of an object on the way to a place, where what is kept was made: `loader =
        accelerator.prepare(DataLoader(data))`. Of the innermost object of which there is one. `born`: the lines."""
        for length in range(len(place.way) - 1, 0, -1):
            found = {
                (file, node): None
                for file, node, owner in self._repeated_statements()
                if not hasattr(node, "body")
                if any(file == at and node.lineno <= line <= (node.end_lineno or line) for at, line in born)
                if any(
                    isinstance(call.func, ast.Attribute) and _leads_to(call.func.value, place.way[:length], owner)
                    for call in _own_calls(node)
                )
            }
            if found:
                return _only(found)
        return no_statement()

    def statement_calling_method(self, place: Place, names: Collection[str]) -> dict[str, Any]:
        """The only one that may run again and again, and calls one of these methods of the object whose attribute a
        place is: `self.auroc.update(scores, labels)`. By `__call__` also the object."""
        found = {
            (file, node): None
            for file, node, owner in self._repeated_statements()
            if any(_leads_to(called, place.way[:-1], owner) for called in _objects_called(node, names))
        }
        return _only(found)

    def _repeated_statements(self) -> Iterator[tuple[str, ast.stmt, str]]:
        """Those that may run again and again, with their files and classes; of a function in another one twice."""
        for file, tree in self._trees.items():
            for function, owner in _repeating(tree):
                yield from ((file, node, owner) for node in ast.walk(function) if isinstance(node, ast.stmt))

    def statement_setting_item(self, key: str) -> dict[str, Any]:
        """The only one that may run again and again, and sets an item of this key."""
        found = [
            _statement(file, node)
            for file, tree in self._trees.items()
            for node in _repeated(tree)
            if isinstance(node, ast.Assign)
            and any(
                isinstance(target, ast.Subscript)
                and isinstance(target.slice, ast.Constant)
                and target.slice.value == key
                for target in node.targets
            )
        ]
        return found[0] if len(found) == 1 else no_statement()

    def statement_making(self, name: str) -> dict[str, Any]:
        """The only one that calls something of this name."""
        found = [
            _statement(file, node)
            for file, tree in self._trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.stmt) and any(called_name(call) == name for call in _own_calls(node))
        ]
        return found[0] if len(found) == 1 else no_statement()

    def statement_filling(self, fills: tuple[Use, ...]) -> dict[str, Any]:
        """The one of the uses that fill a container: where there are several, of those in functions of survivors."""
        for found in (fills, [use for use in fills if self._is_of_survivors(use)]):
            statements: dict[ast.stmt, str] = {}
            for use in found:
                node = use.module.statement(use.node)
                if isinstance(node, ast.stmt):
                    statements[node] = use.module.file
            if len(statements) == 1:
                [(statement, file)] = statements.items()
                return _statement(file, statement)
        return no_statement()

    def _is_birthplace(self, file: str, node: ast.stmt) -> bool:
        return any(node.lineno <= line <= (node.end_lineno or line) for line in self._lines[file])

    def _is_of_survivors(self, use: Use) -> bool:
        function = use.module.function(use.node)
        lines = self._lines.get(use.module.file, ())
        return function is not None and any(function.lineno <= n <= (function.end_lineno or n) for n in lines)

    def _body(self, function: ast.Lambda) -> ast.Expr:
        """What a lambda does, as the statement that a function of a name would have there."""
        return self._bodies.setdefault(function, ast.copy_location(ast.Expr(function.body), function.body))

    def _match(self, node: ast.AST, place: Place, owner: str) -> _Match | None:
        if isinstance(node, ast.Lambda):
            node = self._body(node)
        if isinstance(node, (ast.Expr, ast.Assign, ast.Return)) and (call := _call_in(node.value)) is not None:
            method = called_name(call)
            if _is_filling(place, method):
                return _registering(node)
            if _is_set_by(call, place, owner):
                return _Match(is_proven=True, rank=1, node=node, value=None)
            if isinstance(node, ast.Expr):
                if _is_written_by(call, place, owner):
                    return _Match(is_proven=True, rank=1, node=node, value=None)
                if not isinstance(call.func, ast.Attribute) or not call.args:
                    return None
                if method not in self._ADDING_ONE | self._ADDING_ALL:
                    return None
                is_proven = _leads_to(call.func.value, place.way, owner)
                value = _held_in(call.args[-1], place.beyond[1:]) if method in self._ADDING_ONE else None
                return self._found(node, call.func.value, place, is_proven, 0, value)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            is_filling = any(_is_filling(place, called_name(call)) for call in node.decorator_list)
            return _registering(node) if is_filling else None
        if isinstance(node, ast.AugAssign):
            return self._match_assignment(node, node.target, node.value, place, owner, 1)
        if isinstance(node, ast.Assign):
            matches = [self._match_part(node, *part, place, owner) for part in _parts_of(node)]
            # Of what one of several names gets of a call no expression is known: `out, self.hidden = self.rnn(x)`.
            inner = [self._match_part(node, each, node.value, place, owner) for each in _targets_within(node)]
            matches += [None if match is None else replace(match, value=None) for match in inner]
            return next((match for match in matches if match is not None), None)
        return None

    def _match_part(
        self, node: ast.Assign, target: ast.expr, value: ast.expr, place: Place, owner: str
    ) -> _Match | None:
        # A literal or a constructor is how an empty container is made, unless it takes over what was in the old one, or
        # is an item of it.
        is_empty = isinstance(value, (ast.List, ast.Dict, ast.Constant)) or _makes_empty(value)
        if is_empty and not _is_item(target, place, owner) and not _takes_over(value, place.way, owner):
            return None
        return self._match_assignment(node, target, value, place, owner, 3 if isinstance(value, ast.Call) else 2)

    def _match_assignment(
        self,
        node: ast.Assign | ast.AugAssign,
        target: ast.expr,
        assigned: ast.expr,
        place: Place,
        owner: str,
        rank: int,
    ) -> _Match | None:
        # An item of the container is kept there, and so is what takes the place of a tensor; to assign the container
        # itself is mostly how it is made.
        is_item = _is_item(target, place, owner)
        is_whole = _leads_to(target, place.way, owner)
        # What a buffer grows by is put behind what it holds; else it is made anew.
        if place.buffer is not None and rank > 1 and not is_item and not _mentions(assigned, place.way, owner):
            if not isinstance(assigned, ast.Name):
                return None
            rank += 1  # of what the variable was assigned before
        is_part = place.is_container or bool(place.beyond)
        value = None if is_part and not is_item else _held_in(assigned, place.beyond[1:])
        if is_whole and place.is_container and rank > 1:
            rank = 4
        return self._found(node, target, place, is_item or is_whole, rank, value)

    def _found(
        self, node: ast.stmt, target: ast.expr, place: Place, is_proven: bool, rank: int, value: ast.expr | None
    ) -> _Match | None:
        if is_proven:
            return _Match(is_proven=True, rank=rank, node=node, value=value)
        if rank > 1 or not _is_named_alike(target, place.way[-1].label):
            return None
        return _Match(is_proven=False, rank=rank, node=node, value=value)


def _is_set_by(call: ast.Call, place: Place, owner: str) -> bool:
    """Whether a call gives a context variable another value, which no attribute shows."""
    is_set = isinstance(call.func, ast.Attribute) and call.func.attr == "set" and bool(call.args)
    if not is_set or isinstance(call.args[0], ast.Constant):
        return False
    return _leads_to(call.func.value, place.way, owner)  # type: ignore[attr-defined]


def _is_filling(place: Place, called: str) -> bool:
    """Whether a function of this name puts something into a library's container."""
    # Of a list of the library's own containers, one of these may be the innermost.
    is_item = place.way[-1].kind == "index" and len(place.way) > 1
    label = place.way[-2 if is_item else -1].label
    return any(label.endswith(end) and called.startswith(verb) for end, verb in _FILLED_BY_LIBRARIES)


def _is_installed(file: str) -> bool:
    return any(folder in Path(file).parts for folder in PACKAGE_FOLDERS)


def _nodes_of(found: list[tuple[int, int, str, _Match]]) -> set[int]:
    return {id(match.node) for _, _, _, match in found}


def _registering(node: ast.stmt) -> _Match:
    return _Match(is_proven=False, rank=0, node=node, value=None, is_registering=True)


def _is_registered_in_one(found: list[tuple[int, int, str, _Match]], trees: dict[str, ast.Module]) -> bool:
    """Whether all are calls of one function that hand something to a library: they do the same."""
    functions: set[tuple[str, int]] = set()
    for _, _, file, match in found:
        around = _functions_around(trees[file], match.node.lineno)
        functions.add((file, max((function.lineno for function, _ in around), default=0)))
    return len(functions) == 1 and all(match.is_registering for _, _, _, match in found)


def _call_in(value: ast.expr | None) -> ast.Call | None:
    """What a statement calls, or awaits the call of."""
    value = value.value if isinstance(value, ast.Await) else value
    return value if isinstance(value, ast.Call) and isinstance(value.func, (ast.Attribute, ast.Name)) else None


def makes_of_itself(statement: dict[str, Any]) -> bool:
    """Whether it assigns what is made of what was there: `self.newest = Link(value, self.newest)`."""
    try:
        parsed = ast.parse(statement["text"]).body
    except SyntaxError:  # the first line of more
        return False
    node = parsed[0] if parsed else None
    if not isinstance(node, ast.Assign):
        return False
    made_of = {ast.unparse(part) for part in ast.walk(node.value) if isinstance(part, (ast.Attribute, ast.Name))}
    return any(ast.unparse(target) in made_of for target in node.targets)


def _own_calls(statement: ast.stmt) -> Iterator[ast.Call]:
    """Those of a statement, without those of the statements in it."""
    nodes: list[ast.AST] = [statement]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Call):
            yield node
        nodes += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]


def _objects_called(statement: ast.stmt, names: Collection[str]) -> Iterator[ast.expr]:
    """Those of which a statement calls one of these methods."""
    for call in _own_calls(statement):
        if isinstance(call.func, ast.Attribute) and call.func.attr in names:
            yield call.func.value
        elif "__call__" in names:
            yield call.func


def _only(found: Collection[tuple[str, ast.stmt]]) -> dict[str, Any]:
    """Of several none is surely the one."""
    return _statement(*next(iter(found))) if len(found) == 1 else no_statement()


def no_statement() -> dict[str, Any]:
    """A `stepleak::Statement` that stands nowhere."""
    return {"file": "", "line": 0, "text": "", "expression": "", "calls": []}


def _statement(file: str, node: ast.stmt, value: ast.expr | None = None) -> dict[str, Any]:
    """A `stepleak::Statement`; `value`: the expression of what is held, where it is written."""
    text = ast.unparse(node).splitlines()[0]
    expression = "" if value is None else _expression_in(node, value, text)
    return {
        "file": file,
        "line": _first_line(node),
        "text": text,
        "expression": expression,
        "calls": sorted({call.func.attr for call in _own_calls(node) if isinstance(call.func, ast.Attribute)}),
    }


def _first_line(node: ast.stmt) -> int:
    return first_line(node) if isinstance(node, FUNCTIONS) else node.lineno


def _repeated(tree: ast.Module) -> list[ast.AST]:
    """What lies in functions, and in loops outside of them."""
    return list({id(node): node for outer, _ in _repeating(tree) for node in ast.walk(outer)}.values())


def _parts_of(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """What is assigned to what: `a, b = 1, 2` are two assignments."""
    parts: list[tuple[ast.expr, ast.expr]] = []
    for target in node.targets:
        is_pairwise = isinstance(target, (ast.Tuple, ast.List)) and isinstance(node.value, (ast.Tuple, ast.List))
        inner = [target.elts, node.value.elts] if is_pairwise else [[target], [node.value]]  # type: ignore[attr-defined]
        if len(inner[0]) != len(inner[1]) or any(isinstance(e, ast.Starred) for e in inner[0] + inner[1]):
            inner = [[target], [node.value]]
        parts += zip(*inner, strict=True)
    return parts


def _targets_within(node: ast.Assign) -> list[ast.expr]:
    """Those that get a part each of one value."""
    whole = [target for target, _ in _parts_of(node) if isinstance(target, (ast.Tuple, ast.List))]
    return [each for target in whole for each in target.elts]


def _makes_empty(value: ast.expr) -> bool:
    """Whether an expression makes a container with nothing in it: `OrderedDict()`, `defaultdict(list)`."""
    if not isinstance(value, ast.Call):
        return False
    name = called_name(value)
    return len(value.args) <= (name == "defaultdict") and name in _CONTAINERS


def _makes_graphs(call: ast.expr) -> bool:
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
        return False
    is_on = [
        isinstance(k.value, ast.Constant) and k.value.value is True for k in call.keywords if k.arg == "create_graph"
    ]
    return any(is_on)


def _takes_over(value: ast.expr, way: list[Access], owner: str) -> bool:
    """Whether a literal has all that is at a place: `[*losses, loss]`."""
    old = value.elts if isinstance(value, ast.List) else []
    return any(isinstance(part, ast.Starred) and _leads_to(part.value, way, owner) for part in old)


def _is_written_by(call: ast.Call, place: Place, owner: str) -> bool:
    """Whether a call gets the file in memory that grew: `torch.save(state, self.file)`, `print(text, file=log)`."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    is_file = place.buffer is not None and issubclass(place.buffer, (io.BytesIO, io.StringIO))
    return is_file and any(_leads_to(value, place.way, owner) for value in given)


def _mentions(value: ast.expr, way: list[Access], owner: str) -> bool:
    """Whether an expression reads what is at a place."""
    return any(isinstance(node, ast.expr) and _leads_to(node, way, owner) for node in ast.walk(value))


def _is_cut_off(value: ast.expr | None) -> bool:
    """Whether an expression is of a tensor without its graph, or of numbers."""
    return isinstance(value, ast.Call) and called_name(value) in ("detach", "item", "tolist", "float", "int")


def _is_sum_with(value: ast.expr, way: list[Access], owner: str) -> bool:
    """Whether it is what is at a place and something more: `self.total + loss`."""
    if not isinstance(value, ast.BinOp):
        return False
    return any(_leads_to(part, way, owner) or _is_sum_with(part, way, owner) for part in (value.left, value.right))


def _is_taken_back(node: ast.AST, function: ast.AST) -> bool:
    """Whether a statement keeps a handle that its function removes, as of a hook for one evaluation."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return False
    handle = node.targets[0].id
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "remove"
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == handle
        for call in ast.walk(function)
    )


def _functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """All functions, with the class whose method they are or lie in."""
    nodes: list[tuple[ast.AST, str]] = [(tree, "")]
    while nodes:
        node, owner = nodes.pop(0)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node, owner
        inner = node.name if isinstance(node, ast.ClassDef) else owner
        nodes.extend((child, inner) for child in ast.iter_child_nodes(node))


def _functions_around(tree: ast.Module, line: int) -> list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    return [(f, owner) for f, owner in _functions(tree) if f.lineno <= line <= (f.end_lineno or line)]


def _repeating(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """All functions, with their classes, and the loops outside of them."""
    yield from _functions(tree)
    yield from ((loop, "") for loop in _top_level_loops(tree))


def _top_level_loops(tree: ast.Module) -> Iterator[ast.stmt]:
    """Those that stand in no function."""
    nodes: list[ast.AST] = list(tree.body)
    while nodes:
        node = nodes.pop(0)
        if isinstance(node, (ast.For, ast.While)):
            yield node
        elif not isinstance(node, SCOPES):
            nodes.extend(ast.iter_child_nodes(node))


def _is_of_another(statement: ast.stmt, file: str, tree: ast.Module, place: Place) -> bool:
    """Whether a statement names a variable of another function, that was not passed to it."""
    variable = next((access for access in reversed(place.way) if access.kind == "variable"), None)
    if variable is None or variable.scope is None:
        return False
    if not any(isinstance(node, ast.Name) and node.id == variable.label for node in ast.walk(statement)):
        return False
    around = [function for function, _ in _functions_around(tree, statement.lineno)]
    home, line = variable.scope
    # The same file may be named from another folder.
    if Path(file).name == Path(home).name and around:
        outermost = around[0]
        if first_line(outermost) <= line <= (outermost.end_lineno or line):
            return False
    return not any(is_parameter(function, variable.label) for function in around)


def _as_attribute(place: Place) -> Place | None:
    """The same place as `self.running_mean = ...` writes it, where a module has put that into a table of its own."""
    if not place.way or place.way[-1].kind != "attribute" or place.way[-1].label not in _TABLES_OF_A_MODULE:
        return None
    table, name = place.way[-1], place.beyond[0].label if place.beyond else ""
    if not name.isidentifier():
        return None
    way = [*place.way[:-1], Access("attribute", name, table.owners)]
    return Place(way, place.beyond[1:], is_container=False, buffer=place.buffer)


def _as_wrapper(place: Place) -> Place | None:
    """The same place as `features[sample] = ...` writes it, where an object keeps that in a container of its own."""
    if len(place.way) < 2 or not place.way[-1].owners & _WRAPPERS.get(place.way[-1].label, frozenset()):
        return None
    return Place(place.way[:-1], place.beyond, place.is_container, place.buffer)


def _is_item(target: ast.expr, place: Place, owner: str) -> bool:
    """Whether a target is where in its container something is held: of a list's many items the one that was found
    stands for all, and of a container that grew any.
    """
    if not place.beyond and not place.is_container:
        return False
    item = place.beyond[0] if place.beyond else Access("index", "")
    item = Access("any_index", "") if item.kind == "index" else item
    return _leads_to(target, [*place.way, item], owner)


def _leads_to(node: ast.expr, way: list[Access], owner: str) -> bool:
    """Whether an expression inside a class leads to the end of a way: by the names of all that it writes."""
    is_named = False
    for access in reversed(way):
        item = _item_in(node)
        if item is not None:
            node, index = item
            if not access.is_item(index):
                return False
            is_named = is_named or (isinstance(index, ast.Constant) and access.kind != "any_index")
        elif isinstance(node, ast.Attribute):
            if access.kind not in ("attribute", "variable") or node.attr != access.label:
                return False
            is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
            if is_own and owner and access.owners and owner not in access.owners:
                return False
            is_named = True
            node = node.value
        elif isinstance(node, ast.Name) and access.kind == "variable" and node.id == access.label:
            return True
        else:
            break
    # What is left is an object of whatever name.
    return is_named


def _item_in(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """What an expression takes an item out of, and by which key: `x[k]`, `x.setdefault(k, [])`, `x.get(k)`."""
    if isinstance(node, ast.Subscript):
        return node.value, node.slice
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        return (node.func.value, node.args[0]) if node.func.attr in ("setdefault", "get") else None
    return None


def _is_named_alike(node: ast.expr, name: str) -> bool:
    """Whether an expression ends in the name, and in no key that contradicts: `name`, `x.name`, `x.name[i]`."""
    while (item := _item_in(node)) is not None:
        node, index = item
        if isinstance(index, ast.Constant):
            return False
    if isinstance(node, ast.Attribute):
        return node.attr == name
    return isinstance(node, ast.Name) and node.id == name


def _held_in(value: ast.expr, way: list[Access]) -> ast.expr | None:
    """The part of a value that a way through it leads to, where that is written and may be a tensor."""
    for access in way:
        parts: list[tuple[str, ast.expr]] = []
        if isinstance(value, (ast.Tuple, ast.List)) and not any(isinstance(e, ast.Starred) for e in value.elts):
            parts = [(str(i), element) for i, element in enumerate(value.elts)]
        elif isinstance(value, ast.Dict):
            keys = [(key, item) for key, item in zip(value.keys, value.values, strict=True)]
            parts = [(access.label, item) for key, item in keys if key is not None and access.is_item(key)]
        part = next((part for label, part in parts if label == access.label), None)
        if part is None:
            return None
        value = part
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in ("item", "tolist"):
        return None
    is_tensor = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Await)
    return value if isinstance(value, is_tensor) else None


def _expression_in(statement: ast.stmt, value: ast.expr, text: str) -> str:
    """The value's own text, where it is the last of its kind in the statement's: whoever replaces that replaces it."""
    mark = "kept_value_of_this_statement"
    marked = ast.unparse(_Replacing(value, mark).visit(statement)).splitlines()[0]
    expression = ast.unparse(value)
    return expression if text.rfind(expression) == marked.find(mark) else ""


class _Replacing(ast.NodeTransformer):
    """Copies a statement with one of its expressions replaced by a name."""

    def __init__(self, value: ast.expr, name: str) -> None:
        self._value = value
        self._name = ast.Name(name)

    def visit(self, node: ast.AST) -> Any:
        return self._name if node is self._value else self.generic_visit(copy.copy(node))

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field, old in ast.iter_fields(node):
            if isinstance(old, list):
                setattr(node, field, [self.visit(item) if isinstance(item, ast.AST) else item for item in old])
            elif isinstance(old, ast.AST):
                setattr(node, field, self.visit(old))
        return node
