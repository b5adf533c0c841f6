# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""When a place in the user's sources runs: before the steps, in each, once, in a phase of its own, or at the end."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from typing import TypeGuard

from stepleak._assignments import SET_UP
from stepleak._callees import defines, may_call
from stepleak._decorators import calls_of_wrapped, is_decorating, named
from stepleak._exceptions import caught_around, is_left_by, raised_before
from stepleak._guards import guard_of_change, guards_of_item, guards_of_items
from stepleak._reach import MOST_CALLERS
from stepleak._syntax import (
    FUNCTIONS,
    LOOPS,
    Function,
    Guard,
    Module,
    called_name,
    first_name,
    is_generator,
    is_parameter,
    last_name,
    texts,
)
from stepleak._use import Name, Use
from stepleak._user_code import UserCode

CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})
_MAIN = frozenset({"main", "__main__"})
_MOST_LEVELS = 6
"""Of calls within calls, between a step and what fills a container."""
_CALLING_ONCE = frozenset(
    {"no_grad", "enable_grad", "inference_mode", "staticmethod", "classmethod", "compile", "record"}
)
"""Decorators whose function runs once a call."""


class Runs:
    """Asks about places of the sources. `is_closure`: a function that lives on keeps the variable that is asked for.
    `within`: each call of this function has a variable of its own, and goes on without its caller."""

    def __init__(self, code: UserCode, *, is_closure: bool = False, within: ast.AST | None = None) -> None:
        self._code = code
        self._is_closure = is_closure
        self.within = within

    # --- ways to a place ----------------------------------------------------------------------------------------------

    def guards(self, use: Use) -> Iterator[tuple[Module, Guard]]:
        """Tests under which a use runs: its own, then those around all calls that lead to it. What raises an exception
        leaves where one of them catches that; elsewhere it ends the steps."""
        yield from ((use.module, guard) for guard in guards_of_item(use))
        own = guard_of_change(use)
        if own is not None:
            yield use.module, own
        ways = list(self.leading_to(use))
        caught = {name for module, node in ways for name in caught_around(module, node)}
        for module, node in ways:
            is_leaving = functools.partial(is_left_by, caught)
            for guard in module.guards(node, is_leaving):
                yield module, guard
                loop, field = module.parent(guard.test)
                if isinstance(loop, ast.For) and field == "iter":
                    yield from ((module, own) for own in guards_of_items(loop.iter, loop.target))
            yield from raised_before(module, node, caught, self._code)

    def is_guarded(self, use: Use) -> bool:
        """Whether there are any but those of loops."""
        return any(not guard.is_loop for _, guard in self.guards(use))

    def leading_to(self, use: Use) -> Iterator[tuple[Module, ast.AST]]:
        """A use, the calls of its function, and the calls of what calls that, up to the step or to what runs now; also
        what decorates such a function calls it by, and where one of two is chosen: `put = add if is_on else skip`."""
        waiting: list[tuple[Module, ast.AST, int]] = [(use.module, use.node, 0)]
        asked: set[ast.AST] = set()
        while waiting:
            module, node, depth = waiting.pop(0)
            yield module, node
            function = module.function(node)
            if function in (None, self.within) or function in asked or self._is_in_set_up(module, node):
                continue
            asked.add(function)
            if depth == _MOST_LEVELS or (depth > 0 and self._code.is_entry(module, function)):
                continue
            yield from calls_of_wrapped(self._code, function)
            yield from self._chosen_as(module, function)
            made = module.class_of_method(function) if function.name in CONSTRUCTORS else None
            calls = self._code.calls(function.name if made is None else made.name)
            if len(calls) <= MOST_CALLERS:
                waiting += [(home, call, depth + 1) for home, call in calls]

    def _chosen_as(self, module: Module, function: Function) -> Iterator[tuple[Module, ast.AST]]:
        is_method = module.class_of_method(function) is not None
        for home in self._code.mentioning(function.name)[0]:
            for node in home.named.get(function.name, ()):
                outer, field = home.parent(node)
                is_chosen = isinstance(outer, ast.IfExp) and field != "test"
                is_such = isinstance(node, ast.Attribute) is is_method
                if is_chosen and is_such and _may_name(home, node, module, function):
                    yield home, node

    # --- before the steps, and after them -----------------------------------------------------------------------------

    def is_set_up(self, use: Use) -> bool:
        """Whether a fill runs only before the steps."""
        is_top = use.module.function(use.node) is not None or use.module.scope(use.node) is use.module.tree
        return is_top and self.is_before_steps(use.module, use.node)

    def is_before_steps(self, module: Module, node: ast.AST) -> bool:
        if module.function(node) is not None:
            return self._is_in_set_up(module, node)
        return not module.loops(module.statement(node)) or self._code.is_run_through(module)

    def is_of_set_up(self, module: Module, node: ast.AST) -> bool:
        """The same, what the name of its function tells, and what stands before a loop over the steps that runs."""
        if getattr(module.function(node), "name", "") in SET_UP or self.is_before_steps(module, node):
            return True
        return self._code.is_before_running_loop(module, node)

    def _is_in_set_up(self, module: Module, node: ast.AST) -> bool:
        """Whether it stands in a function that runs before the steps: in no constructor whose objects are made again
        and again, unless it names what belongs to such an object."""
        function = module.function(node)
        if function is None:
            return False
        if function.name not in SET_UP:
            return is_decorating(self._code, module, function)
        owner = module.class_of_method(function) if function.name in CONSTRUCTORS else None
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

    def _is_set_up(self, module: Module, function: Function, depth: int = 0) -> bool:
        """Whether a function runs only while its object is made."""
        if function.name in SET_UP:
            return True
        calls = self._code.calls(function.name)
        if not calls or depth > 3 or len(calls) > MOST_CALLERS or self.is_passed_on(function.name):
            return False
        for home, call in calls:
            caller = home.function(call)
            is_own = isinstance(call.func, ast.Attribute) and home.class_of_self(call.func.value) is not None
            if caller is None or not is_own or home.loops(call) or not self._is_set_up(home, caller, depth + 1):
                return False
        return True

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
        own = any(is_atexit(named(d)) for d in function.decorator_list)
        return own or any(isinstance(c.func, (ast.Attribute, ast.Name)) and is_atexit(c.func) for c in registered)

    # --- how often ----------------------------------------------------------------------------------------------------

    def how_often(self, module: Module, function: ast.AST, depth: int = 0) -> str:
        """Whether a function runs "once", "again" and again, or that is "unknown"."""
        entered = self._entered_by_calls(module, function, depth)
        # Who else has it may call it, too: a decorator that runs it for each configuration.
        is_handed_on = any(last_name(named(d)) not in _CALLING_ONCE for d in getattr(function, "decorator_list", ()))
        if entered == "once" and (is_handed_on or self.is_passed_on(getattr(function, "name", ""))):
            return "unknown"
        return entered

    def ends_often(self, name: Name) -> bool:
        """Whether calls of the variable's function end while others begin: it is called again and again, and nothing in
        it goes on for ever. What a caller hands it is the caller's."""
        if name.module is None or not isinstance(name.scope, FUNCTIONS) or is_parameter(name.scope, name.name):
            return False
        loops = (node for node in ast.walk(name.scope) if isinstance(node, LOOPS))
        if any(map(_is_endless, loops)):
            return False
        calls = [each for each in self.calls_of(name.module, name.scope) if not self._code.is_over(*each)]
        if any(home.loops(call) for home, call in calls):
            return True
        # Of several calls each may be the only one of its kind.
        return len(calls) == 1 and self.how_often(name.module, name.scope) == "again"

    def entered(self, name: Name) -> str:
        if name.module is None or not isinstance(name.scope, FUNCTIONS) or self._is_closure:
            return "once"
        return self.how_often(name.module, name.scope)

    def _entered_by_calls(self, module: Module, function: ast.AST, depth: int) -> str:
        all_calls = self.calls_of(module, function)
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

    def calls_of(self, module: Module, function: ast.AST) -> list[tuple[Module, ast.Call]]:
        """Calls that may be of a function of this module; none of what has no name."""
        name = getattr(function, "name", "")
        calls = self._code.calls(name) if name else []
        # The step is called again and again by who runs it, as it seems where an optimizer steps.
        is_any = module.class_of_method(function) is not None or self._code.is_step(module, function)
        return [(m, c) for m, c in calls if may_call(self._code, m, c, module, is_any=is_any)]

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
        kinds = {owner.name} | {c.name for m in self._code.mentioning(owner.name)[0] for c in m.derived(owner.name)}

        def is_once(module: Module, call: ast.Call) -> bool:
            function = module.function(call)
            maker = module.class_of_method(function)
            if maker is None or function is None or function.name not in SET_UP or module.loops(call):
                return self.is_once(module, call)
            return depth < _MOST_LEVELS and self._is_made_once(maker, depth + 1)

        return all(is_once(*call) for kind in kinds for call in self._code.calls(kind))

    def is_phase(self, module: Module, node: ast.AST, depth: int = 0, in_loop: bool = False) -> bool:
        """Whether it runs in a loop that trains nothing and ends before others begin: calibration, extraction.

        `in_loop`: one of what leads to it from here. Before there is any, what follows in a function runs in each step,
        too.
        """
        loops = module.loops(module.statement(node))
        in_loop = in_loop or bool(loops)
        around = loops[-1] if loops else module.statement(node)
        if loops and (_is_endless(loops[-1]) or self.trains(module, loops[-1])):
            return False
        scope = module.scope(around)
        if in_loop and any(self._loops_later(module, later) for later in _later(scope, around)):
            return not self._is_in_each_step(module, scope)
        calls = self.calls_of(module, scope)
        if len(calls) != 1 or depth > 4 or self._code.is_step(module, scope):
            return False
        return self.is_phase(*calls[0], depth + 1, in_loop)

    def _is_in_each_step(self, module: Module, function: ast.AST, depth: int = 0) -> bool:
        """Whether it is the step, or all that calls it is, or a loop that trains."""
        if self._code.is_step(module, function):
            return True
        calls = self.calls_of(module, function)
        if len(calls) != 1 or depth > 4:
            return False
        home, call = calls[0]
        is_training = any(_is_endless(loop) or self.trains(home, loop) for loop in home.loops(call))
        return is_training or self._is_in_each_step(home, home.scope(call), depth + 1)

    def trains(self, module: Module, loop: ast.AST, depth: int = 0) -> bool:
        """Whether what a loop runs takes a step of a training."""
        calls = [n for n in ast.walk(loop) if isinstance(n, ast.Call)]
        if any(isinstance(c.func, ast.Attribute) and c.func.attr in ("backward", "step") for c in calls):
            return True
        called = {called_name(c) for c in calls} - {""}
        found = [f for name in called for f in self._functions(module, name)] if depth < 3 else []
        return len(found) <= MOST_CALLERS and any(self.trains(m, f, depth + 1) for m, f in found)

    def trains_on_after(self, module: Module, function: ast.AST, depth: int = 0) -> bool:
        """Whether the program trains in other loops once a function has returned that is called at one place alone."""
        calls = [each for each in self.calls_of(module, function) if not self._code.is_over(*each)]
        if len(calls) != 1 or depth > 4:
            return False
        home, call = calls[0]
        scope = home.scope(call)
        later = _later(scope, home.statement(call))
        if any(self._loops_later(home, each) and self.trains(home, each) for each in later):
            return True
        return isinstance(scope, FUNCTIONS) and self.trains_on_after(home, scope, depth + 1)

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

    # --- in no step ---------------------------------------------------------------------------------------------------

    def is_uncalled(self, module: Module, node: ast.AST, depth: int = 0) -> bool:
        """Whether no step reaches it: it is set-up, or its function is neither called, handed on nor inherited."""
        if self._code.is_over(module, node):
            return True
        function = module.function(node)
        if function is None or depth > MOST_CALLERS:
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
        is_handed_on = (
            any(first_name(named(d)) != "pytest" for d in function.decorator_list)
            or self.is_passed_on(name)
            or (owner is not None and self._is_got_by_text(name))
        )
        is_implicit = name.startswith("__") or name in _MAIN
        return not is_implicit and not is_handed_on and self._are_uncalled(name, function, depth)

    def is_to_come(self, module: Module, node: ast.AST) -> bool:
        """Whether a step may reach it, for all that is known."""
        return not self.is_uncalled(module, node) and not self.is_at_end(module, node)

    def _are_uncalled(self, name: str, function: Function | None, depth: int) -> bool:
        callers = [(home, call) for home, call in self._code.calls(name) if home.function(call) is not function]
        if function is not None and is_generator(function) and any(_is_kept(home, call) for home, call in callers):
            return False  # it runs as it is asked for items, wherever it was made
        return all(self.is_uncalled(home, call, depth + 1) for home, call in callers)

    def _is_unmade(self, owner: ast.ClassDef, depth: int) -> bool:
        """Whether no object of a class is there, and no step makes one."""
        return not self._code.living_classes(owner.name) and self._are_uncalled(owner.name, None, depth)

    def _makes_the_step(self, module: Module, function: Function) -> bool:
        return any(isinstance(n, FUNCTIONS) and self._code.is_entry(module, n) for n in ast.walk(function))

    def is_passed_on(self, name: str, depth: int = 0) -> bool:
        """Whether a function is named without being called: somebody may call it later. Not where that only makes
        another step, which nobody runs beside this one."""
        for module in self._code.mentioning(name)[0]:
            for node in module.named.get(name, ()):
                parent, field = module.parent(node)
                is_called = isinstance(parent, ast.Call) and field == "func"
                if is_called or not isinstance(node.ctx, ast.Load) or self._is_in_another_test(module, node):
                    continue
                if isinstance(node, ast.Name) and is_parameter(module.resolve(node, name), name):
                    continue  # as the fixture of that name gives it; who passes the function itself names it there
                if not self._is_of_another_step(module, node, parent, depth):
                    return True
        return False

    def _is_got_by_text(self, name: str) -> bool:
        """Whether somebody may get a method by its name: `getattr(callback, name)()` where the sources have that as
        text, or `getattr(self, f"on_{event}")`."""
        getters = [
            call.args[1]
            for module in self._code.mentioning("getattr")[0]
            for call in module.calls.get("getattr", ())
            if len(call.args) > 1 and not isinstance(call.args[1], ast.Constant)
        ]
        return any(_may_make(text, name) for text in getters) or (bool(getters) and self._is_text(name))

    def _is_text(self, name: str) -> bool:
        for module in self._code.mentioning(name)[0]:
            if not all(_is_exported(module, text) for text in texts(module, name)):
                return True
        return False

    def _is_of_another_step(self, module: Module, node: ast.AST, parent: ast.AST | None, depth: int) -> bool:
        """Whether a function's name stands for what a scenario or a function that nobody calls returns, or for what a
        variable of the module's gets of which nobody asks: `fixed_step = Trainer().step_detached`."""
        if isinstance(parent, ast.Return):
            maker = module.function(node)
            return maker is not None and (_is_scenario(maker) or self._is_nobodys(maker.name, depth))
        if isinstance(parent, ast.Assign) and module.scope(parent) is module.tree:
            return all(isinstance(t, ast.Name) and self._is_nobodys(t.id, depth) for t in parent.targets)
        return False

    def _is_nobodys(self, name: str, depth: int) -> bool:
        """Whether nobody calls a name, and none hands it on."""
        return depth < MOST_CALLERS and not self._code.calls(name) and not self.is_passed_on(name, depth + 1)

    def _is_in_another_test(self, module: Module, node: ast.AST) -> bool:
        """pytest calls one test at a time, and that one runs now."""
        functions = [outer for outer, field in module.around(node) if isinstance(outer, FUNCTIONS) and field == "body"]
        is_test = bool(functions) and functions[-1].name.startswith("test_")
        return is_test and not any(self._code.is_entry(module, function) for function in functions)

    # --- what makes something -----------------------------------------------------------------------------------------

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
        if function is None:
            return False
        if self._code.is_before_running_loop(module, statement) and self.how_often(module, function) == "once":
            return True
        return module.class_of_self(owner) is not None and self._is_set_up(module, function)


_TELLING = 3
"""Characters of a name by which it is known: `on_`."""


def _is_kept(module: Module, call: ast.Call) -> bool:
    """Whether a call's value gets a name, and is not gone through on the spot."""
    parent, field = module.parent(call)
    return field == "value" and isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr))


def _is_exported(module: Module, text: ast.Constant) -> bool:
    """Whether it stands in `__all__`."""
    statement = module.statement(text)
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def _may_make(text: ast.expr, name: str) -> bool:
    """Whether a text that is put together, with a telling beginning or end, may be a name: `f"on_{event}"`."""
    parts = text.values if isinstance(text, ast.JoinedStr) else [text.left, text.right] if _is_sum(text) else []
    ends = [getattr(part, "value", None) for part in parts]
    if len(parts) != 2 or not any(isinstance(end, str) and len(end) >= _TELLING for end in ends):
        return False
    first, last = (end if isinstance(end, str) else "" for end in ends)
    return name.startswith(first) and name.endswith(last)


def _is_sum(node: ast.expr) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)


def _may_name(home: Module, node: ast.Name | ast.Attribute, module: Module, function: Function) -> bool:
    """Whether a variable, in the file `home`, may be a function; any attribute of its name may be a method."""
    if isinstance(node, ast.Attribute):
        return True
    scope, own = home.resolve(node, node.id), module.scope(function)
    return scope is own if home is module else own is module.tree and scope is home.tree and not defines(home, node.id)


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
    is_counting = isinstance(loop, ast.For) and called_name(loop.iter) in ("count", "cycle")
    return (is_true or is_counting) and not any(isinstance(n, ast.Break) for n in ast.walk(loop))


def _later(scope: ast.AST, node: ast.AST) -> list[ast.AST]:
    """Statements of a scope that begin after another has ended; none of definitions, which run when they are called."""
    end = getattr(node, "end_lineno", 0)
    body = [n for n in getattr(scope, "body", []) if not isinstance(n, (*FUNCTIONS, ast.ClassDef))]
    return [n for n in body if n.lineno > end]


def _is_scenario(function: Function) -> bool:
    """Whether it makes a scenario's step, as `stepleak.scenario` declares it: it runs before the steps."""
    return any(called_name(d) in ("leak", "clean") for d in function.decorator_list)


def is_atexit(function: ast.expr) -> bool:
    """Whether what is called registers a function to be called at exit."""
    return re.fullmatch(r"(atexit\.)?register", ast.unparse(function)) is not None
