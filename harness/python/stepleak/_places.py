# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the uses of one container say: which tests ask for its length, what is assigned to it, what is taken out."""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Iterator

from stepleak._assignments import assignments
from stepleak._container_words import ADDING, REMOVING, SAME_ITEMS
from stepleak._counting import counted_by
from stepleak._objects import class_attributes_of
from stepleak._runs import Runs
from stepleak._slice_stores import is_part, of_part
from stepleak._slots import Slot
from stepleak._syntax import SCOPES, Guard, Module, called_name, is_parameter, is_property, last_name
from stepleak._use import CHANGING, Name, Use
from stepleak._user_code import UserCode
from stepleak._uses import Uses

_MAY_CHANGE = CHANGING | {"assign", "escape"}
_MOST_CHANGING = 200
_WITH_ALL_ITEMS = SAME_ITEMS - {"filter"} | {"dict", "set", "copy", "deepcopy", "deque", "items", "values", "map"}
"""Functions and methods that give as many items as they get."""
_OF_NUMBERS = frozenset({"len", "sum", "max", "min", "fmean", "print", "float", "str", "repr", "bool", "any", "all"})


class Places:
    """Asks about the uses of one container."""

    def __init__(self, code: UserCode, uses: Uses, runs: Runs) -> None:
        self._code = code
        self._uses = uses
        self._runs = runs
        self._length_names: set[tuple[ast.AST, str]] = set()
        self._length_functions: set[str] = set()

    # --- lengths ------------------------------------------------------------------------------------------------------

    def find_lengths(self) -> None:
        """Finds the variables that hold the container's length, and the functions that return it or test it."""
        for use in self._uses.found:
            if use.kind != "length":
                continue
            module, node = use.module, use.node
            for outer, field in module.around(node):
                if _is_divisor(outer, field):
                    break
                if isinstance(outer, ast.NamedExpr):
                    self._length_names.add((module.resolve(outer.target, outer.target.id), outer.target.id))
                elif isinstance(outer, ast.Assign) and field == "value":
                    for target in outer.targets:
                        if isinstance(target, ast.Name):
                            self._length_names.add((module.resolve(target, target.id), target.id))
                elif isinstance(outer, ast.Return):
                    function = module.function(node)
                    if function is not None:
                        self._length_functions.add(function.name)
                if isinstance(outer, ast.stmt):
                    break

    def is_length(self, module: Module, node: ast.AST) -> bool:
        if node in self._uses.lengths:
            return True
        if isinstance(node, ast.NamedExpr):
            return self.is_length(module, node.value)
        if isinstance(node, ast.Name):
            return bool(self._length_names) and (module.resolve(node, node.id), node.id) in self._length_names
        if isinstance(node, ast.Call) and called_name(node) == "len" and "__len__" in self._length_functions:
            return bool(node.args)
        name = called_name(node) if isinstance(node, ast.Call) else node.attr if isinstance(node, ast.Attribute) else ""
        return name in self._length_functions

    def tested_lengths(self) -> Iterator[Use]:
        """Where something depends on how long the container is, as long as the steps go on."""
        names = {name for _, name in self._length_names} | self._length_functions | {"len", "__len__"}
        for word in sorted(names):
            for module in self._code.mentioning(word)[0]:
                for node in module.nodes:
                    if not isinstance(node, ast.expr) or not self.is_length(module, node):
                        continue
                    if self._is_tested(module, node) and not self._code.is_behind_running_loop(module, node):
                        yield Use("length", module, node)

    def _is_tested(self, module: Module, node: ast.AST) -> bool:
        is_compared = is_divided_by = False
        for outer, field in module.around(node):
            is_returned = isinstance(outer, ast.Return) and not is_divided_by and not self._is_asked_for(module, outer)
            is_compared = is_compared or is_returned or isinstance(outer, ast.Compare) or field == "test"
            is_divided_by = is_divided_by or _is_divisor(outer, field)
            if isinstance(outer, ast.stmt):
                return is_compared and not isinstance(outer, ast.Assert)
        return False

    def _is_asked_for(self, module: Module, node: ast.Return) -> bool:
        """Whether the sources ask for what a function returns: what comes of that is said by each place. Not where one
        hands the function itself on."""
        function = module.function(node)
        if function is None or function.name.startswith("__"):
            return False
        is_named = any(
            isinstance(named.ctx, ast.Load)
            for other in self._code.mentioning(function.name)[0]
            for named in other.named.get(function.name, ())
        )
        return is_named and (is_property(function) or not self._runs.is_passed_on(function.name))

    def is_deciding(self, use: Use) -> bool:
        """Whether a test of the length may change the container, and is no `if len(buffer) > 64: learn(buffer)`."""
        outer, field = next((o, f) for o, f in use.module.around(use.node) if isinstance(o, (ast.stmt, ast.IfExp)))
        if isinstance(outer, (ast.If, ast.While)) and field == "test":
            return self._is_about_changes(outer)
        return True

    def _is_about_changes(self, statement: ast.If | ast.While) -> bool:
        """Whether what a test guards may change the container, by itself, in what it calls, or by what it returns."""
        if statement.test in self._guarding:
            return True
        guarded = [node for part in (*statement.body, *statement.orelse) for node in ast.walk(part)]
        return any(
            isinstance(node, (ast.Break, ast.Raise))
            or (isinstance(node, ast.Return) and not _is_none(node.value))
            or node in self._changed
            or (isinstance(node, ast.Call) and called_name(node) in self._changing)
            for node in guarded
        )

    @functools.cached_property
    def _changes(self) -> list[Use]:
        return [use for use in self._uses.found if use.kind in _MAY_CHANGE]

    @functools.cached_property
    def _changed(self) -> set[ast.AST]:
        return {use.node for use in self._changes}

    @functools.cached_property
    def _guarding(self) -> set[ast.AST]:
        return {guard.test for use in self._changes for _, guard in self._runs.guards(use)}

    @functools.cached_property
    def _changing(self) -> set[str]:
        """Names of the functions that change the container, or call one that does."""
        waiting = [getattr(use.module.function(use.node), "name", "") for use in self._changes]
        found: set[str] = set()
        while waiting and len(found) < _MOST_CHANGING:
            name = waiting.pop()
            if name and name not in found:
                found.add(name)
                waiting += [getattr(module.function(call), "name", "") for module, call in self._code.calls(name)]
        return found

    # --- tests --------------------------------------------------------------------------------------------------------

    def is_moved(self, use: Use) -> bool:
        """Whether what fills it takes out of something else, which nothing fills again once the steps run.

        A pool of samples without a label, the levels of a curriculum: what moves from there comes to an end.
        """
        for module, node in self._runs.leading_to(use):
            function = module.function(node)
            taken = [part for inner in ast.walk(function or ast.Pass()) for part in _taken_from(inner)]
            names = {last_name(part) for part in taken if part not in self._uses.denoting} - {""}
            if any(map(self._is_used_up, names)):
                return True
        return False

    def _is_used_up(self, name: str) -> bool:
        """Whether something of this name is made before the steps, and nothing is put into it later."""
        is_made = False
        for module in self._code.mentioning(name)[0]:
            for node in module.nodes:
                if last_name(node) != name:
                    continue
                is_stored = isinstance(getattr(node, "ctx", None), ast.Store)
                is_early = self._runs.is_before_steps(module, node)
                is_made = is_made or (is_stored and is_early)
                if not is_early and (is_stored or _is_put_into(module, node)):
                    return False
        return is_made

    def depends_on(self, module: Module, test: ast.AST, uses: list[Use]) -> bool:
        """Whether a test asks by one of these uses, or by a variable that was assigned what one of them answered."""
        nodes = {use.node for use in uses}
        for node in ast.walk(test):
            scope = module.resolve(node, node.id) if isinstance(node, ast.Name) else None
            values = [] if scope is None else assignments(module, scope, node.id)  # type: ignore[attr-defined]
            if node in nodes or any(part in nodes for value in values for part in ast.walk(value)):
                return True
        return False

    def counted_beside(self, use: Use, guard: Guard) -> int:
        """By how much what a test names is counted up in the same block as a use, so that it counts the use; 0: it is
        not."""
        counted = {ast.unparse(n) for n in ast.walk(guard.test) if isinstance(n, (ast.Name, ast.Attribute))}
        statement = use.module.statement(use.node)
        block = getattr(*use.module.parent(statement))
        changed = [(other, t) for other in block for t in _targets_of(other)] if isinstance(block, list) else []
        return max((counted_by(other, t) for other, t in changed if ast.unparse(t) in counted), default=0)

    def are_items_used(self) -> bool:
        """Whether an expression that is the container does more than to count, sum or print what it holds."""
        return any(
            isinstance(getattr(node, "ctx", None), ast.Load) and not self._is_of_numbers(module, node)
            for module in {use.module for use in self._uses.found}
            for node in module.nodes
            if node in self._uses.denoting
        )

    def _is_of_numbers(self, module: Module, node: ast.AST) -> bool:
        outer, field = module.parent(node)
        if isinstance(outer, ast.Attribute):
            return outer.attr in ADDING | REMOVING | {"clear"}
        if isinstance(outer, ast.Subscript) and field == "value":
            # A container in a container is asked about by itself.
            return not isinstance(outer.ctx, ast.Load) or outer in self._uses.denoting or _is_number(module, outer)
        # What it is assigned to, and what a function returns, is followed.
        is_followed = isinstance(outer, (ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.Return)) and field == "value"
        is_truth = field == "test" or (isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not))
        return is_followed or is_truth or _is_number(module, node)

    def is_drained(self, use: Use) -> bool:
        """Whether a removal runs until nothing is left: for each item, without a choice among them."""
        for guard in use.module.guards(use.node):
            if not guard.is_loop:
                return False
            tests = {n for n in ast.walk(guard.test) if n in self._uses.denoting or self.is_length(use.module, n)}
            if tests and not _filters(guard.test):
                return not _may_leave_some(use.module, guard.test)
        return False

    def is_of_old(self, use: Use) -> bool:
        """Whether a removal chooses among all items, or takes the oldest."""
        module, node, key = use.module, use.node, use.detail
        if key is not None and called_name(key) == "next":
            return True
        outer, _ = module.parent(node)
        call = None if outer is None else module.parent(outer)[0]
        method = "" if call is None else called_name(call)
        if method in ("popleft", "popitem") or (isinstance(key, ast.Constant) and key.value == 0):
            return True
        value = getattr(module.statement(node), "value", None)
        if any(isinstance(part, ast.comprehension) and part.ifs for part in ast.walk(value or ast.Pass())):
            return True
        if not isinstance(key, ast.Name):
            return False
        tests: list[ast.expr] = [guard.test for guard in module.guards(node) if not guard.is_loop]
        for outer, field in module.around(node):
            if isinstance(outer, (ast.For, ast.AsyncFor)) and field == "body":
                tests += _filters(outer.iter)
                targets = {n.id for n in ast.walk(outer.target) if isinstance(n, ast.Name)}
                if key.id in targets and any(n in self._uses.denoting for n in ast.walk(outer.iter)):
                    return not tests or not all(map(_is_by_name, tests))
        return False

    # --- assignments --------------------------------------------------------------------------------------------------

    def assigned(self, use: Use) -> tuple[str, ast.expr | None]:
        """What an assignment does to the container, as a kind of use, and the slice or the number of a trim."""
        value = use.detail
        target = use.node
        if value is None:
            return "reset", None
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice) and is_part(target.slice):
            kind = of_part(target, value)
            return kind, value if kind == "fill" else target.slice
        if isinstance(value, ast.IfExp):  # which may leave it as it is
            value = next((b for b in (value.body, value.orelse) if b not in self._uses.denoting), value)
        if value in self._uses.denoting:
            return "make", None
        held = {n for n in ast.walk(value) if n in self._uses.denoting}
        if not held:
            return "reset", None
        kept = _kept(value, held)
        if kept is not None:
            return kept
        parts = list(ast.walk(value))
        through = {called_name(n) for n in parts if isinstance(n, ast.Call) and any(p in held for p in ast.walk(n))}
        if any(isinstance(n, ast.comprehension) and n.ifs for n in parts) or through - _WITH_ALL_ITEMS:
            return "remove", None
        if isinstance(value, (ast.BoolOp, ast.IfExp)):
            return ("make" if any(v in held for v in ast.iter_child_nodes(value)) else "remove"), None
        if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.BitOr)):
            return "fill", value.right
        if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
            return ("make", None) if _is_copy(value.elts, held) else ("fill", value.elts[-1])
        if isinstance(value, ast.Dict):
            return ("make", None) if all(v in held for v in value.values) and not any(value.keys) else ("fill", value)
        is_rebuilt = isinstance(value, (ast.ListComp, ast.SetComp, ast.DictComp, ast.Call))
        return ("make" if is_rebuilt else "remove"), None

    def is_empty_before(self, use: Use) -> bool:
        """Whether it is given another value only where it has nothing: `if not live: live = [first]`."""
        return any(map(self.is_where_empty, use.module.guards(use.node)))

    def is_where_empty(self, guard: Guard) -> bool:
        """Whether what a test guards runs only where the container has nothing: `if not kept`."""
        return guard.holds and _negated(guard.test) in self._uses.denoting

    def is_copied(self, use: Use) -> bool:
        """Whether a variable is given an empty container, and then each item of this one: `rows = []`,
        `for row in self.rows: rows.append(row)`."""
        variable, module = use.node, use.module
        if not isinstance(variable, ast.Name) or use.node not in self._uses.kept_as:
            return False
        scope = module.resolve(variable, variable.id)
        for fill in self._uses.found:
            is_its = isinstance(fill.node, ast.Name) and fill.node.id == variable.id and fill.module is module
            if fill.kind == "fill" and is_its and module.resolve(fill.node, variable.id) is scope:
                guards = module.guards(fill.node)
                around = guards[0].test if guards and guards[0].is_loop else ast.Pass()
                if any(node in self._uses.denoting for node in ast.walk(around)):
                    return True
        return False

    def is_tried(self, use: Use) -> bool:
        """Whether an item is asked for where it may be missing."""
        for outer, field in use.module.around(use.node):
            if isinstance(outer, ast.Try) and field == "body":
                caught = [n for h in outer.handlers if h.type is not None for n in ast.walk(h.type)]
                if any(last_name(n) in ("KeyError", "LookupError") for n in caught):
                    return True
            if isinstance(outer, SCOPES):
                break
        return False

    # --- other places -------------------------------------------------------------------------------------------------

    def is_parameter(self, name: Name) -> bool:
        return name.scope is not None and is_parameter(name.scope, name.name)

    def keywords(self, slot: Slot) -> list[tuple[Module, ast.expr]]:
        """What calls pass by the attribute's name: a class without `__init__` keeps it under that."""
        name = slot.names[0]
        if slot.owner is None:
            return []
        modules, _ = self._code.mentioning(name.name)
        return [(m, n.value) for m in modules for n in m.nodes if isinstance(n, ast.keyword) and n.arg == name.name]

    def is_made_by_call(self, slot: Slot) -> bool:
        """Whether a call in the sources makes it: `SimpleNamespace(history=[])`, a parameter's default."""
        if any(self.is_parameter(name) for name in slot.names):
            return True
        is_plain = slot.owner is not None and type(slot.owner) is types.SimpleNamespace
        return is_plain and bool(self.keywords(slot)) and slot.names[0].name not in class_attributes_of(slot.owner)


def _negated(test: ast.expr) -> ast.expr | None:
    """The x of `not x`."""
    return test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else None


def _is_copy(elements: list[ast.expr], held: set[ast.AST]) -> bool:
    """Whether a display has the items of containers and nothing else: `[*kept]`."""
    return all(isinstance(element, ast.Starred) and element.value in held for element in elements)


def _is_divisor(outer: ast.AST, field: str) -> bool:
    """Whether it is divided by what stands there: an average of the entries tells nothing of how many they are."""
    return isinstance(outer, ast.BinOp) and isinstance(outer.op, (ast.Div, ast.FloorDiv)) and field == "right"


def _is_number(module: Module, node: ast.AST) -> bool:
    """Whether a number, or a container of numbers, would do where an expression stands."""
    outer, field = module.parent(node)
    is_counted = isinstance(outer, ast.Call) and field == "args" and called_name(outer) in _OF_NUMBERS
    return is_counted or isinstance(outer, (ast.FormattedValue, ast.Expr))


def _taken_from(node: ast.AST) -> list[ast.expr]:
    """What a statement or a call takes an item out of."""
    if isinstance(node, ast.Delete):
        return [target.value for target in node.targets if isinstance(target, ast.Subscript)]
    is_taking = isinstance(node, ast.Call) and called_name(node) in REMOVING
    return [node.func.value] if is_taking and isinstance(node.func, ast.Attribute) else []  # type: ignore[attr-defined]


def _is_put_into(module: Module, node: ast.AST) -> bool:
    """Whether an item is put into what a name stands for."""
    outer, field = module.parent(node)
    if isinstance(outer, ast.Subscript) and field == "value":
        return isinstance(outer.ctx, ast.Store)
    if isinstance(outer, ast.Call):
        return called_name(outer).startswith("heap")
    return isinstance(outer, ast.Attribute) and outer.attr in ADDING


def _kept(value: ast.expr, held: set[ast.AST]) -> tuple[str, ast.expr | None] | None:
    """The slice, or the number, that an assignment from the container itself keeps."""
    for node in ast.walk(value):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            cut = node.slice
            if (cut.lower is not None or cut.upper is not None) and any(n in held for n in ast.walk(node.value)):
                return "trim", cut
        if isinstance(node, ast.Call) and any(n in held for a in node.args for n in ast.walk(a)):
            name = called_name(node)
            limit = next((k.value for k in node.keywords if k.arg in ("maxlen", "n")), None)
            if name in ("nlargest", "nsmallest") and limit is None:
                limit = node.args[0]
            if name in ("islice", "deque") and limit is None and len(node.args) == 2:
                limit = node.args[1]
            if name in ("nlargest", "nsmallest", "islice", "deque") and limit is not None:
                return "trim", limit
    return None


def _targets_of(statement: ast.AST) -> list[ast.Name | ast.Attribute]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AugAssign) else targets
    return [target for target in targets if isinstance(target, (ast.Name, ast.Attribute))]


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _filters(items: ast.expr) -> list[ast.expr]:
    """The tests by which a loop chooses among items: `[k for k in cache if k in done]`."""
    return [test for part in ast.walk(items) if isinstance(part, ast.comprehension) for test in part.ifs]


def _may_leave_some(module: Module, test: ast.expr) -> bool:
    """Whether a loop over all items may end before: by another test, after so many, or where something is found."""
    loop, _ = module.parent(test)
    if isinstance(loop, ast.While):
        is_limited = isinstance(test, ast.BoolOp) and any(isinstance(n, ast.Compare) for n in ast.walk(test))
    else:
        is_limited = any(
            called_name(n) in ("min", "islice") or isinstance(n, ast.BinOp) or (isinstance(n, ast.Slice) and n.upper)
            for n in ast.walk(test)
        )
    leaving = (n for n in ast.walk(loop or test) if isinstance(n, (ast.Break, ast.Return)))
    return is_limited or any(
        isinstance(part, ast.Compare)
        for end in leaving
        for guard in module.guards(end)
        if not guard.is_loop
        for part in ast.walk(guard.test)
    )


def _is_by_name(test: ast.expr) -> bool:
    """Whether an item is chosen by what it is, and not by its age, which every item comes to."""
    if isinstance(test, ast.BoolOp):
        return all(map(_is_by_name, test.values)) if isinstance(test.op, ast.Or) else any(map(_is_by_name, test.values))
    if isinstance(test, ast.Compare):
        return all(isinstance(op, (ast.Eq, ast.Is, ast.In)) for op in test.ops)
    return called_name(test) in ("startswith", "endswith", "isinstance", "fnmatch", "match")
