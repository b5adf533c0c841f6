# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the place of a statement says: whether it makes the container or replaces it, and under which tests it runs."""

from __future__ import annotations

import ast
import functools
import re
import types
from collections.abc import Iterator

from stepleak._bounds import SET_UP, assignments
from stepleak._objects import class_attributes_of
from stepleak._slots import Slot
from stepleak._syntax import (
    FUNCTIONS,
    LOOPS,
    SCOPES,
    Function,
    Guard,
    Module,
    called_name,
    first_name,
    is_parameter,
    last_name,
)
from stepleak._user_code import UserCode
from stepleak._uses import ADDING, CHANGING, REMOVING, Name, Use, Uses

_MAY_CHANGE = CHANGING | {"assign", "escape"}
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})
_MOST_CHANGING = 200
_OF_NUMBERS = frozenset({"len", "sum", "max", "min", "fmean", "print", "float", "str", "repr", "bool", "any", "all"})
_MAIN = frozenset({"main", "__main__"})
_MOST_CALLERS = 8
_MOST_LEVELS = 6
"""Of calls within calls, between a step and what fills a container."""
_CALLING_ONCE = frozenset(
    {"no_grad", "enable_grad", "inference_mode", "staticmethod", "classmethod", "compile", "record"}
)
"""Decorators whose function runs once a call."""


class Places:
    """Asks about the uses of one container. `is_closure`: a function that lives on keeps its variable."""

    def __init__(self, code: UserCode, uses: Uses, is_closure: bool) -> None:
        self._code = code
        self._uses = uses
        self._is_closure = is_closure
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
        """Where something depends on how long the container is."""
        names = {name for _, name in self._length_names} | self._length_functions | {"len", "__len__"}
        for word in sorted(names):
            for module in self._code.mentioning(word)[0]:
                for node in module.nodes:
                    if isinstance(node, ast.expr) and self.is_length(module, node) and self._is_tested(module, node):
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
        is_property = any("property" in last_name(decorator) for decorator in function.decorator_list)
        is_named = any(
            isinstance(named.ctx, ast.Load)
            for other in self._code.mentioning(function.name)[0]
            for named in other.named.get(function.name, ())
        )
        return is_named and (is_property or not self._is_passed_on(function.name))

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
        return {guard.test for use in self._changes for _, guard in self.guards(use)}

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

    def guards(self, use: Use) -> Iterator[tuple[Module, Guard]]:
        """Tests under which a use runs: its own, then those around all calls that lead to it."""
        for module, node in self._leading_to(use):
            yield from ((module, guard) for guard in module.guards(node))

    def is_guarded(self, use: Use) -> bool:
        """Whether there are any but those of loops."""
        return any(not guard.is_loop for _, guard in self.guards(use))

    def _leading_to(self, use: Use) -> Iterator[tuple[Module, ast.AST]]:
        """A use, the calls of its function, and the calls of what calls that, up to the step or to what runs now."""
        waiting: list[tuple[Module, ast.AST, int]] = [(use.module, use.node, 0)]
        asked: set[ast.AST] = set()
        while waiting:
            module, node, depth = waiting.pop(0)
            yield module, node
            function = module.function(node)
            if function is None or function in asked or self._is_in_set_up(module, node):
                continue
            asked.add(function)
            if depth == _MOST_LEVELS or (depth > 0 and self._code.is_entry(module, function)):
                continue
            made = module.class_of_method(function) if function.name in _CONSTRUCTORS else None
            calls = self._code.calls(function.name if made is None else made.name)
            if len(calls) <= _MOST_CALLERS:
                waiting += [(home, call, depth + 1) for home, call in calls]

    def is_moved(self, use: Use) -> bool:
        """Whether what fills it takes out of something else, which nothing fills again once the steps run.

        A pool of samples without a label, the levels of a curriculum: what moves from there comes to an end.
        """
        for module, node in self._leading_to(use):
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
                is_early = self._is_before_steps(module, node)
                is_made = is_made or (is_stored and is_early)
                if not is_early and (is_stored or _is_put_into(module, node)):
                    return False
        return is_made

    def _is_before_steps(self, module: Module, node: ast.AST) -> bool:
        is_top = module.function(node) is None
        return not module.loops(module.statement(node)) if is_top else self._is_in_set_up(module, node)

    def _is_in_set_up(self, module: Module, node: ast.AST) -> bool:
        """Whether it stands in a function that runs before the steps: in no constructor whose objects are made again
        and again, unless it names what belongs to such an object."""
        function = module.function(node)
        if function is None or function.name not in SET_UP:
            return False
        owner = module.class_of_method(function) if function.name in _CONSTRUCTORS else None
        return owner is None or self._belongs_to(owner, module, node) or self.is_once(module, owner)

    def _belongs_to(self, owner: ast.ClassDef, module: Module, node: ast.AST) -> bool:
        """Whether a constructor names its object's own attribute there, and no list of a module's or of the class."""
        named, root = "", node
        while isinstance(root, (ast.Attribute, ast.Subscript, ast.Call)):
            named = root.attr if isinstance(root, ast.Attribute) else named
            root = root.func if isinstance(root, ast.Call) else root.value
        is_of_self = isinstance(root, ast.Name) and module.class_of_self(root) is owner
        return is_of_self and any(
            isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and module.class_of_self(n.value) is owner
            for n in module.named.get(named, ())
        )

    def depends_on(self, module: Module, test: ast.AST, uses: list[Use]) -> bool:
        """Whether a test asks by one of these uses, or by a variable that was assigned what one of them answered."""
        nodes = {use.node for use in uses}
        for node in ast.walk(test):
            scope = module.resolve(node, node.id) if isinstance(node, ast.Name) else None
            values = [] if scope is None else assignments(module, scope, node.id)  # type: ignore[attr-defined]
            if node in nodes or any(part in nodes for value in values for part in ast.walk(value)):
                return True
        return False

    def is_counted_beside(self, use: Use, guard: Guard) -> bool:
        """Whether what a test names is counted up in the same block as a use, so that it counts the use."""
        counted = {ast.unparse(n) for n in ast.walk(guard.test) if isinstance(n, (ast.Name, ast.Attribute))}
        statement = use.module.statement(use.node)
        block = getattr(*use.module.parent(statement))
        changed = [target for other in block for target in _targets_of(other)] if isinstance(block, list) else []
        return any(ast.unparse(target) in counted for target in changed)

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
                return True
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

    def is_uncalled(self, module: Module, node: ast.AST, depth: int = 0) -> bool:
        """Whether no step reaches it: it is set-up, or its function is neither called, handed on nor inherited."""
        if self._code.is_over(module, node):
            return True
        function = module.function(node)
        if function is None or depth > _MOST_CALLERS:
            return False
        name = function.name
        if self._code.is_entry(module, function):
            return False
        if self._is_in_set_up(module, node) or _is_scenario(function) or self._makes_the_step(module, function):
            return True
        owner = module.class_of_method(function)
        needs_object = not any(last_name(d) in ("classmethod", "staticmethod") for d in function.decorator_list)
        if owner is not None and needs_object and self._is_unmade(owner, depth):
            return True
        # A library may call what its own classes declare.
        if owner is not None and self._code.is_declared_by_library(owner, name):
            return False
        # Whoever decorates it may call it; pytest calls one test at a time, and that one runs now.
        is_handed_on = any(first_name(_named(d)) != "pytest" for d in function.decorator_list) or self._is_passed_on(
            name
        )
        is_implicit = name.startswith("__") or name in _MAIN
        return not is_implicit and not is_handed_on and self._are_uncalled(name, function, depth)

    def _are_uncalled(self, name: str, function: Function | None, depth: int) -> bool:
        callers = [(home, call) for home, call in self._code.calls(name) if home.function(call) is not function]
        return all(self.is_uncalled(home, call, depth + 1) for home, call in callers)

    def _is_unmade(self, owner: ast.ClassDef, depth: int) -> bool:
        """Whether no object of a class is there, and no step makes one."""
        return not self._code.living_classes(owner.name) and self._are_uncalled(owner.name, None, depth)

    def _makes_the_step(self, module: Module, function: Function) -> bool:
        return any(isinstance(n, FUNCTIONS) and self._code.is_entry(module, n) for n in ast.walk(function))

    # --- assignments --------------------------------------------------------------------------------------------------

    def assigned(self, use: Use) -> tuple[str, ast.expr | None]:
        """What an assignment does to the container, as a kind of use, and the slice or the number of a trim."""
        value = use.detail
        target = use.node
        cut = target.slice if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice) else None
        if value is None:
            return "reset", None
        if value in self._uses.denoting:
            return "make", None
        held = {n for n in ast.walk(value) if n in self._uses.denoting}
        if not held:
            is_part = cut is not None and (cut.lower is not None or cut.upper is not None)
            return ("trim" if is_part else "reset"), cut if is_part else None
        kept = _kept(value, held)
        if kept is not None:
            return kept
        parts = list(ast.walk(value))
        if any(isinstance(n, ast.comprehension) and n.ifs for n in parts) or called_name(value) == "filter":
            return "remove", None
        if isinstance(value, (ast.BoolOp, ast.IfExp)):
            return ("make" if any(v in held for v in ast.iter_child_nodes(value)) else "remove"), None
        if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.BitOr)):
            return "fill", value.right
        if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
            return "fill", value.elts[-1]
        if isinstance(value, ast.Dict):
            return "fill", value
        is_rebuilt = isinstance(value, (ast.ListComp, ast.SetComp, ast.DictComp))
        is_rebuilt = is_rebuilt or called_name(value) in ("list", "dict", "set", "sorted", "copy", "reversed", "deque")
        return ("make" if is_rebuilt else "remove"), None

    def is_making(self, module: Module, node: ast.AST) -> bool:
        """Whether an assignment makes the container, and does not replace one that is in use."""
        statement = module.statement(node)
        while isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # a context variable's `set()`
            node = node.func.value
        if is_lazy(module, statement):
            return True
        scope, loops = module.scope(statement), module.loops(statement)
        if isinstance(node, ast.Attribute):
            return self._makes_attribute(module, node, statement, scope, loops)
        if loops or not isinstance(node, ast.Name):
            return False
        home = module.resolve(node, node.id)
        if isinstance(home, ast.ClassDef) or home is module.tree:
            return scope is home
        if scope is not home:
            return False
        return self._is_closure or self.how_often(module, home) != "again"

    def is_once(self, module: Module, node: ast.AST) -> bool:
        """As `is_making`, of any variable, also of a loop's: surely not done again while it is in use. Of a loop or a
        call: surely run once. Of a class: its objects are."""
        if isinstance(node, ast.ClassDef):
            return self._is_made_once(node)
        if isinstance(node, ast.Call) and self._code.is_over(module, node):
            return True
        if isinstance(node, (*LOOPS, ast.Call)):
            scope = module.scope(node)
            return not module.loops(node) and (scope is module.tree or self.how_often(module, scope) == "once")
        if not self.is_making(module, node):
            return False
        if isinstance(node, ast.Name):
            home = module.resolve(node, node.id)
            if isinstance(home, FUNCTIONS):
                return self._is_closure or self.how_often(module, home) == "once"
        return True

    def _is_made_once(self, owner: ast.ClassDef, depth: int = 0) -> bool:
        """Also of the classes derived from it. Where others make the objects, that is asked of these."""
        kinds = {owner.name} | {c.name for m in self._code.mentioning(owner.name)[0] for c in _derived(m, owner.name)}

        def is_once(module: Module, call: ast.Call) -> bool:
            function = module.function(call)
            maker = module.class_of_method(function)
            if maker is None or function is None or function.name not in SET_UP or module.loops(call):
                return self.is_once(module, call)
            return depth < _MOST_LEVELS and self._is_made_once(maker, depth + 1)

        return all(is_once(*call) for kind in kinds for call in self._code.calls(kind))

    def _makes_attribute(
        self, module: Module, node: ast.Attribute, statement: ast.AST, scope: ast.AST, loops: list[ast.AST]
    ) -> bool:
        owner = node.value
        if isinstance(owner, ast.Name) and module.class_of_self(owner) is None:
            for made in module.nodes:
                # The statement stands beside the one that makes the owner.
                if isinstance(made, ast.Assign) and isinstance(made.value, ast.Call):
                    is_owner = any(isinstance(t, ast.Name) and t.id == owner.id for t in made.targets)
                else:
                    is_owner = isinstance(made, (*FUNCTIONS, ast.ClassDef)) and made.name == owner.id
                if is_owner and module.scope(made) is scope and set(loops) <= set(module.loops(made)):
                    return True
        if loops:
            return False
        if scope is module.tree:
            return True
        function = module.function(statement)
        return function is not None and module.class_of_self(owner) is not None and self._is_set_up(module, function)

    def _is_set_up(self, module: Module, function: Function, depth: int = 0) -> bool:
        """Whether a function runs only while its object is made."""
        if function.name in SET_UP:
            return True
        calls = self._code.calls(function.name)
        if not calls or depth > 3 or len(calls) > _MOST_CALLERS or self._is_passed_on(function.name):
            return False
        for home, call in calls:
            caller = home.function(call)
            is_own = isinstance(call.func, ast.Attribute) and home.class_of_self(call.func.value) is not None
            if caller is None or not is_own or home.loops(call) or not self._is_set_up(home, caller, depth + 1):
                return False
        return True

    def _is_passed_on(self, name: str) -> bool:
        """Whether a function is named without being called: somebody may call it later."""
        for module in self._code.mentioning(name)[0]:
            for node in module.named.get(name, ()):
                parent, field = module.parent(node)
                is_called = isinstance(parent, ast.Call) and field == "func"
                if is_called or not isinstance(node.ctx, ast.Load) or self._is_in_another_test(module, node):
                    continue
                maker = module.function(node) if isinstance(parent, ast.Return) else None
                if maker is None or not _is_scenario(maker):
                    return True
        return False

    def _is_in_another_test(self, module: Module, node: ast.AST) -> bool:
        """pytest calls one test at a time, and that one runs now."""
        functions = [outer for outer, field in module.around(node) if isinstance(outer, FUNCTIONS) and field == "body"]
        is_test = bool(functions) and functions[-1].name.startswith("test_")
        return is_test and not any(self._code.is_entry(module, function) for function in functions)

    def how_often(self, module: Module, function: ast.AST, depth: int = 0) -> str:
        """Whether a function runs "once", "again" and again, or that is "unknown"."""
        entered = self._entered_by_calls(module, function, depth)
        # Who else has it may call it, too: a decorator that runs it for each configuration.
        is_handed_on = any(last_name(_named(d)) not in _CALLING_ONCE for d in getattr(function, "decorator_list", ()))
        if entered == "once" and (is_handed_on or self._is_passed_on(getattr(function, "name", ""))):
            return "unknown"
        return entered

    def _entered_by_calls(self, module: Module, function: ast.AST, depth: int) -> str:
        all_calls = self._calls_of(module, function)
        calls = [(home, call) for home, call in all_calls if not self._code.is_over(home, call)]
        if not calls:
            return "once" if all_calls or getattr(function, "name", "") in _MAIN else "unknown"
        if depth > 4:
            return "unknown"
        if len(calls) > 1:
            return "again"
        home, call = calls[0]
        if home.loops(call):
            return "again"
        scope = home.scope(call)
        if scope is home.tree:
            return "once"
        return self.how_often(home, scope, depth + 1) if isinstance(scope, FUNCTIONS) else "unknown"

    def _calls_of(self, module: Module, function: ast.AST) -> list[tuple[Module, ast.Call]]:
        """Calls that may be of a function of this module; none of what has no name."""
        name = getattr(function, "name", "")
        return [(m, c) for m, c in self._code.calls(name) if _may_call(m, c, module)] if name else []

    def entered(self, name: Name) -> str:
        if name.module is None or not isinstance(name.scope, FUNCTIONS) or self._is_closure:
            return "once"
        return self.how_often(name.module, name.scope)

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

    def is_phase(self, module: Module, node: ast.AST, depth: int = 0) -> bool:
        """Whether it runs in a loop that trains nothing and ends before others begin: calibration, extraction."""
        loops = module.loops(module.statement(node))
        around = loops[-1] if loops else module.statement(node)
        if loops and (_is_endless(loops[-1]) or self._trains(module, loops[-1])):
            return False
        scope = module.scope(around)
        if any(self._loops_later(module, later) for later in _later(scope, around)):
            return True
        calls = self._calls_of(module, scope)
        if len(calls) != 1 or depth > 4 or self._code.is_step(module, scope):
            return False
        return self.is_phase(*calls[0], depth + 1)

    def _trains(self, module: Module, loop: ast.AST, depth: int = 0) -> bool:
        calls = [n for n in ast.walk(loop) if isinstance(n, ast.Call)]
        if any(isinstance(c.func, ast.Attribute) and c.func.attr in ("backward", "step") for c in calls):
            return True
        called = {called_name(c) for c in calls} - {""}
        found = [f for name in called for f in self._functions(module, name)] if depth < 3 else []
        return len(found) <= _MOST_CALLERS and any(self._trains(m, f, depth + 1) for m, f in found)

    def _functions(self, module: Module, name: str) -> list[tuple[Module, Function]]:
        """Those of a name that a call in a module may mean: the module's own, where it has one."""
        found = self._code.functions(name)
        return [f for f in found if f[0] is module] or found

    def _loops_later(self, module: Module, later: ast.AST) -> bool:
        """Whether a statement has a loop, or calls a function of the user's that has one."""
        nodes = list(ast.walk(later))
        if any(isinstance(n, LOOPS) for n in nodes):
            return True
        called = {called_name(n) for n in nodes if isinstance(n, ast.Call)} - {""}
        functions = [f for name in called for _, f in self._functions(module, name)]
        return any(isinstance(n, LOOPS) for f in functions for n in ast.walk(f))

    # --- other places -------------------------------------------------------------------------------------------------

    def is_set_up(self, use: Use) -> bool:
        """Whether a fill runs only before the steps."""
        is_top = use.module.function(use.node) is not None or use.module.scope(use.node) is use.module.tree
        return is_top and self._is_before_steps(use.module, use.node)

    def is_at_end(self, module: Module, node: ast.AST) -> bool:
        """Whether it runs only when the object or the program ends, which frees nothing before."""
        function = module.function(node)
        if function is None:
            return False
        if function.name == "__del__":
            return True
        if self._code.calls(function.name):
            return False
        registered = [c for _, c in self._code.calls("register") if any(last_name(a) == function.name for a in c.args)]
        own = any(last_name(d) == "register" for d in function.decorator_list)
        return own or any(isinstance(c.func, (ast.Attribute, ast.Name)) and _is_atexit(c.func) for c in registered)

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


def _derived(module: Module, name: str) -> list[ast.ClassDef]:
    """Classes of a file that have one of this name as a base."""
    return [node for nodes in module.classes.values() for node in nodes if name in map(last_name, node.bases)]


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


def _may_call(home: Module, call: ast.Call, module: Module) -> bool:
    """Whether a call of a function's name, in the file `home`, may call it: another file may define its own."""
    if not isinstance(call.func, ast.Name) or home is module:
        return True
    name = call.func.id
    return not any(isinstance(n, FUNCTIONS) and n.name == name and home.scope(n) is home.tree for n in home.nodes)


def _targets_of(statement: ast.AST) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AugAssign) else []


def is_lazy(module: Module, statement: ast.AST) -> bool:
    """Whether an assignment runs only where there is nothing yet."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    owners = {ast.unparse(t.value) for t in targets if isinstance(t, (ast.Subscript, ast.Attribute))}
    for guard in module.guards(statement):
        empty = guard.test.operand if isinstance(guard.test, ast.UnaryOp) else None
        if guard.holds and empty is not None and ast.unparse(empty) in owners:  # as the state of a torch optimizer
            return True
        for node in ast.walk(guard.test):
            if isinstance(node, ast.Compare):
                op = node.ops[0]
                is_none = isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None
                if isinstance(op, ast.Is if guard.holds else ast.IsNot) and is_none:
                    return True
                if isinstance(op, ast.NotIn if guard.holds else ast.In):
                    return True
        test = guard.test
        is_not = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        inner = test.operand if isinstance(test, ast.UnaryOp) and is_not else test
        if called_name(inner) == "hasattr" and is_not == guard.holds:
            return True
    for outer, field in module.around(statement):
        if isinstance(outer, ast.ExceptHandler) and field == "body":
            names = {last_name(n) for n in ast.walk(outer.type)} if outer.type is not None else set()
            return bool(names & {"AttributeError", "NameError", "KeyError"})
    return False


def _is_endless(loop: ast.AST) -> bool:
    is_true = isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    return is_true and not any(isinstance(n, ast.Break) for n in ast.walk(loop))


def _later(scope: ast.AST, node: ast.AST) -> list[ast.AST]:
    """Statements of a scope that begin after another has ended; none of definitions, which run when they are called."""
    end = getattr(node, "end_lineno", 0)
    body = [n for n in getattr(scope, "body", []) if not isinstance(n, (*FUNCTIONS, ast.ClassDef))]
    return [n for n in body if n.lineno > end]


def _is_scenario(function: Function) -> bool:
    """Whether it makes a scenario's step, as `stepleak.scenario` declares it: it runs before the steps."""
    return any(called_name(d) in ("leak", "clean") for d in function.decorator_list)


def _named(decorator: ast.expr) -> ast.expr:
    """What a decorator is called by, whether it takes arguments or not."""
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _is_atexit(function: ast.expr) -> bool:
    return re.fullmatch(r"(atexit\.)?register", ast.unparse(function)) is not None


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _filters(items: ast.expr) -> list[ast.expr]:
    """The tests by which a loop chooses among items: `[k for k in cache if k in done]`."""
    return [test for part in ast.walk(items) if isinstance(part, ast.comprehension) for test in part.ifs]


def _is_by_name(test: ast.expr) -> bool:
    """Whether an item is chosen by what it is, and not by its age, which every item comes to."""
    if isinstance(test, ast.BoolOp):
        return all(map(_is_by_name, test.values)) if isinstance(test.op, ast.Or) else any(map(_is_by_name, test.values))
    if isinstance(test, ast.Compare):
        return all(isinstance(op, (ast.Eq, ast.Is, ast.In)) for op in test.ops)
    return called_name(test) in ("startswith", "endswith", "isinstance", "fnmatch", "match")
