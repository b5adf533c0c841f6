# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers in the user's sources: what an expression is worth now, which length a test allows, which keys never repeat.

Values are read from the objects of the running program where the source leads to them, and no code of the user's runs.
"""

from __future__ import annotations

import ast
import gc
import os
import types
from collections.abc import Callable, Collection
from typing import Any, TypeGuard

from stepleak._objects import (
    all_class_names,
    attributes_of,
    class_attributes_of,
    is_a,
    module_namespace,
    mro_of,
    name_of,
)
from stepleak._syntax import (
    FUNCTIONS,
    LOOPS,
    Function,
    Guard,
    Module,
    argument_of,
    called_name,
    default_of,
    is_parameter,
    last_name,
    parameters,
)
from stepleak._user_code import UserCode

_MOST_DEPTH = 6
_MOST_BOUND = 1 << 62
SET_UP = frozenset(
    {"__init__", "__new__", "__post_init__", "setup", "set_up", "setUp", "setup_class", "__init_subclass__"}
)
"""Names of functions that run before the steps."""
_CLOCKS = frozenset(
    {"time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "now", "utcnow"}
)
_UNIQUE = frozenset({"uuid1", "uuid4", "token_hex", "token_bytes", "token_urlsafe"})
_FRESH = _CLOCKS | _UNIQUE | {"object", "create_task"}
_MAKING = frozenset({"__new__", "__init__", "__setattr__", "__getattribute__"})
_KEEPING = frozenset({"str", "repr", "int", "tuple", "hash"})
_PARTS = {f"{named}{parts}" for named in ("", "named_") for parts in ("parameters", "modules", "children", "buffers")}
"""Methods of a module that list what it is made of."""
_FIXED = {"dim", "ndim", "shape", "size", "numel", "dtype", "is_floating_point", "startswith", "endswith"}
"""Of a parameter, and of a name."""

_NOTHING: Any = object()

IsOnce = Callable[[Module, ast.AST], bool]
"""Whether an assignment makes its variable, and is not done again while that is in use; of a loop or a call, whether it
is run once; of a class, whether its objects are made once."""


class Bounds:
    """Numbers around one container. `objects`: the chain that leads to it. `is_length`: whether an expression is made
    of its length; none is where there is no container. `lengths`: those that are no more and no less than it."""

    def __init__(
        self,
        code: UserCode,
        objects: list[Any],
        is_length: Callable[[Module, ast.AST], bool] = lambda *_: False,
        lengths: Collection[ast.AST] = (),
    ) -> None:
        self._code = code
        self._objects = objects
        self._is_length = is_length
        self._lengths = lengths

    # --- numbers ------------------------------------------------------------------------------------------------------

    def number(self, module: Module, node: ast.AST | None, depth: int = 0) -> int:
        """What an expression is worth, if it is a whole number above zero that can be told; else -1."""
        value = self._value(module, node, depth)
        if type(value) is float and value.is_integer():
            value = int(value)
        return value if type(value) is int and 0 < value < _MOST_BOUND else -1

    def _value(self, module: Module, node: ast.AST | None, depth: int = 0) -> Any:
        if node is None or depth > _MOST_DEPTH:
            return _NOTHING
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.BinOp):
            return _computed(
                node.op, self._value(module, node.left, depth + 1), self._value(module, node.right, depth + 1)
            )
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return _computed(ast.Sub(), 0, self._value(module, node.operand, depth + 1))
        if isinstance(node, ast.Name):
            return self._variable(module, node, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(module, node, depth)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return _named(self._value(module, node.value, depth + 1), node.slice.value)
        if (
            isinstance(node, ast.Call)
            and called_name(node) in ("int", "max", "min")
            and isinstance(node.func, ast.Name)
        ):
            values = [self._value(module, a, depth + 1) for a in node.args]
            if values and not node.keywords and all(type(v) in (int, float) for v in values):
                return int(values[0]) if node.func.id == "int" else {"max": max, "min": min}[node.func.id](values)
        return _NOTHING

    def _variable(self, module: Module, node: ast.Name, depth: int) -> Any:
        scope = module.resolve(node, node.id)
        if scope is module.tree:
            known = _named(module.namespace, node.id)
            return known if known is not _NOTHING else self._assigned(module, scope, node.id, depth)
        closed = self._closed_over(module, scope, node.id)
        if closed is not _NOTHING:
            return closed
        owner = module.class_of_self(node)
        if owner is not None:
            return next((o for o in self._objects if owner.name in all_class_names(o)), _NOTHING)
        if is_parameter(scope, node.id):
            return self._passed(module, scope, node.id, depth)
        return self._assigned(module, scope, node.id, depth)

    def _closed_over(self, module: Module, scope: ast.AST, name: str) -> Any:
        """The value that a function of the chain keeps in its closure."""
        for item in self._objects:
            if type(item) is not types.FunctionType or item.__closure__ is None:
                continue
            if name not in item.__code__.co_freevars or not isinstance(scope, FUNCTIONS):
                continue
            first, last = scope.lineno, scope.end_lineno or scope.lineno
            if first <= item.__code__.co_firstlineno <= last and _is_file(module, item.__code__.co_filename):
                cell = item.__closure__[item.__code__.co_freevars.index(name)]
                try:
                    return cell.cell_contents
                except ValueError:
                    return _NOTHING
        return _NOTHING

    def _passed(self, module: Module, function: ast.AST, name: str, depth: int) -> Any:
        """What all calls in the sources pass for a parameter, or its default."""
        called = getattr(function, "name", "")
        owner = module.class_of_method(function)
        calls = self._code.calls(called) if called else []
        if owner is not None and called == "__init__":
            calls = self._code.calls(owner.name)
        values = []
        for home, call in calls:
            passed = argument_of(call, function, name, owner is not None)
            values.append(_NOTHING if passed is None else self._value(home, passed, depth + 1))
        if any(value is _NOTHING for value in values) or not values:
            values = [v for v in values if v is not _NOTHING]
            values.append(self._value(module, default_of(function, name), depth + 1))
        return values[0] if all(type(v) is int and v == values[0] for v in values) else _NOTHING

    def _assigned(self, module: Module, scope: ast.AST, name: str, depth: int) -> Any:
        """The one value that a variable is given."""
        values = [v for v in assignments(module, scope, name)]
        return self._value(module, values[0], depth + 1) if len(values) == 1 else _NOTHING

    def _attribute(self, module: Module, node: ast.Attribute, depth: int) -> Any:
        owner = self._value(module, node.value, depth + 1)
        if owner is _NOTHING:
            # A variable that is not at hand: another name of something in the chain.
            owners = [o for o in self._objects if type(_named(o, node.attr)) is int]
            return _named(owners[0], node.attr) if len(owners) == 1 else _NOTHING
        return _named(owner, node.attr)

    # --- lengths ------------------------------------------------------------------------------------------------------

    def allowed(self, module: Module, test: ast.AST, holds: bool) -> tuple[bool, int] | None:
        """Whether a test lets short ones through (else long ones), and the length that it names.

        None where it does not compare the length. `holds`: whether the test is true where its statement runs.
        """
        for node in ast.walk(test):
            if isinstance(node, ast.Compare) and len(node.ops) == 1:
                found = self._compared(module, node, holds != _is_negated(test, node))
                if found is not None:
                    return found
        if any(self._is_length(module, n) for n in ast.walk(test)):
            return not holds, -1
        return None

    def _compared(self, module: Module, node: ast.Compare, holds: bool) -> tuple[bool, int] | None:
        left, right, op = node.left, node.comparators[0], node.ops[0]
        is_left = any(self._is_length(module, n) for n in ast.walk(left))
        if not is_left and not any(self._is_length(module, n) for n in ast.walk(right)):
            return None
        side, other = (left, right) if is_left else (right, left)
        limit = self.number(module, other)
        if self._value(module, other) == 0 and type(self._value(module, other)) is int:
            limit = 0
        if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Sub) and limit == 0:
            limit = self.number(module, side.right)
        elif not self._is_length(module, side):
            limit = -1
        if isinstance(op, (ast.Eq, ast.NotEq)):
            is_long = isinstance(op, ast.Eq) == holds
            return not is_long, limit
        is_below = isinstance(op, (ast.Lt, ast.LtE)) == is_left
        if not isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
            return None
        is_short = is_below == holds
        # "Up to and including n" lets one more in.
        is_inclusive = isinstance(op, (ast.LtE, ast.GtE)) == holds
        return is_short, limit + 1 if is_short and is_inclusive and limit >= 0 else limit

    def kept_by_slice(self, module: Module, cut: ast.Slice) -> int:
        """How many items `x[cut]` keeps at most; -1 unknown, 0: all but a fixed number."""
        if cut.lower is None and cut.upper is None:
            return 0
        negative = _negated(cut.lower)
        if cut.upper is None and negative is not None:
            return self.number(module, negative)
        if cut.lower is None and _negated(cut.upper) is None:
            return self.number(module, cut.upper)
        if cut.upper is None and (left := self._left_by_excess(module, cut.lower)) is not None:
            return self.number(module, left)
        constant = cut.lower if cut.lower is not None else cut.upper
        return 0 if isinstance(constant, (ast.Constant, ast.UnaryOp)) else -1

    def _left_by_excess(self, module: Module, lower: ast.expr | None) -> ast.expr | None:
        """The n of `len(x) - n`, which may have a name."""
        if isinstance(lower, ast.Name):
            scope = module.resolve(lower, lower.id)
            values = assignments(module, scope, lower.id) if is_only_assigned(module, scope, lower.id) else []
            lower = values[0] if len(values) == 1 else None
            if not isinstance(lower, ast.BinOp) or not self._is_length(module, lower.left):
                return None
        return lower.right if isinstance(lower, ast.BinOp) and isinstance(lower.op, ast.Sub) else None

    # --- tests that hold some day -------------------------------------------------------------------------------------

    def is_lasting(self, module: Module, guard: Guard, is_once: IsOnce) -> bool:
        """Whether a test that holds once holds again and again: what only grows, or what is full, is large enough.

        And a setting stays what it is, as do the type, the name and the shape of a model's parts.
        """
        if self._is_on(module, guard) or _is_access_of_object(module, guard) or _is_of_parts(module, guard.test):
            return True
        test = guard.test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return False
        left, right, op = test.left, test.comparators[0], test.ops[0]
        if isinstance(op, ast.NotEq) == guard.holds and isinstance(op, (ast.Eq, ast.NotEq)):
            return any(self._is_news(module, guard, *sides, is_once) for sides in ((left, right), (right, left)))
        if isinstance(op, (ast.Eq, ast.NotEq)):
            full = [side for side in (left, right) if called_name(side) == "len"]
            return isinstance(op, ast.Eq) == guard.holds and any(_is_emptied_beside(module, test, f) for f in full)
        sides = _sides_where(guard)
        if sides is None:
            return False
        small, large = sides
        grows = called_name(large) == "len" or self.never_repeats(module, large, is_once)
        return grows and self._value(module, small) is not _NOTHING

    def _is_news(self, module: Module, guard: Guard, last: ast.expr, new: ast.expr, is_once: IsOnce) -> bool:
        """Whether a test tells what never comes back from the last one of it, which gets another value only where the
        test holds: `if self.last != index: self.last = index`."""
        is_new = Bounds(self._code, self._objects).never_repeats(module, new, is_once)
        if not isinstance(last, (ast.Name, ast.Attribute)) or not is_new:
            return False
        is_kept = False
        for home, node in self._stores(module, last):
            assigned, _ = home.parent(node)
            value = None if isinstance(assigned, ast.AugAssign) else getattr(assigned, "value", None)
            if any(under.test is guard.test and under.holds == guard.holds for under in home.guards(node)):
                is_kept = True
            elif not isinstance(value or _assigned_beside(home, assigned, node), ast.Constant):
                return False
        return is_kept

    def _stores(self, module: Module, target: ast.Name | ast.Attribute) -> list[tuple[Module, Any]]:
        """Where a variable, or any attribute of this name, is given a value or deleted."""
        if isinstance(target, ast.Attribute):
            homes = self._code.mentioning(target.attr)[0]
            return [(home, node) for home in homes for node in home.nodes if _is_stored(node, target.attr)]
        scope = module.resolve(target, target.id)
        named = [
            n for n in module.named.get(target.id, ()) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
        ]
        parameter = [(module, target)] if is_parameter(scope, target.id) else []
        return parameter + [(module, node) for node in named if module.resolve(node, target.id) is scope]

    def may_end(self, module: Module, guard: Guard, is_once: IsOnce) -> bool:
        """Whether what a test guards may cease to run, for all that is known."""
        return any(may_cease(part) and not self.is_lasting(module, part, is_once) for part in parts_of(guard))

    def ends(self, module: Module, guard: Guard, is_once: IsOnce) -> int | None:
        """The count from which on a test never holds again (`if self.taken < 300`); None where there is none."""
        sides = None if guard.is_loop else _sides_where(guard)
        if sides is None:
            return None
        small, large = sides
        number = self.number(module, large)
        if isinstance(small, ast.Attribute):
            is_counted = self._counts_attribute(small.attr, is_once, may_end=True)
        else:
            is_counted = isinstance(small, ast.Name) and self._counts(module, small, is_once, 0, may_end=True)
        return number if is_counted and number > 0 else None

    def is_off(self, module: Module, guard: Guard) -> bool:
        """Whether a setting, which nothing changes once it is made, keeps a statement from running."""
        if guard.is_loop:
            return False
        return any(self._setting(module, part.test) not in (None, part.holds) for part in parts_of(guard))

    def _is_on(self, module: Module, guard: Guard) -> bool:
        """Whether a setting lets a statement run, each time."""
        return not guard.is_loop and self._setting(module, guard.test) is guard.holds

    def _setting(self, module: Module, test: ast.AST) -> bool | None:
        """What a test of a setting says; None of other tests."""
        if not isinstance(test, (ast.Name, ast.Attribute)) or not self._is_setting(module, test):
            return None
        value = self._value(module, test)
        return bool(value) if value is None or type(value) is bool else None

    def is_fixed(self, module: Module, node: ast.AST) -> bool:
        """Whether an expression is of the length and of what nothing changes once it is made: what is counted up is no
        bound."""
        if self._is_length(module, node):
            return True
        if isinstance(node, ast.Attribute):
            return self._is_setting(module, node)
        if isinstance(node, ast.Name):
            return module.resolve(node, node.id) is not module.tree or self._is_setting(module, node)
        return all(self.is_fixed(module, part) for part in ast.iter_child_nodes(node))

    def _is_setting(self, module: Module, node: ast.Name | ast.Attribute) -> bool:
        if isinstance(node, ast.Attribute):
            stores = [
                (m, n)
                for m in self._code.mentioning(node.attr)[0]
                for n in m.nodes
                if isinstance(n, ast.Attribute) and n.attr == node.attr and isinstance(n.ctx, ast.Store)
            ]
            return all(getattr(m.function(n), "name", "") in SET_UP for m, n in stores)
        scope = module.resolve(node, node.id)
        stored = [
            n
            for n in module.nodes
            if isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Store)
            if module.resolve(n, node.id) is scope
        ]
        return len(stored) == (0 if is_parameter(scope, node.id) else 1 if scope is module.tree else -1)

    # --- keys ---------------------------------------------------------------------------------------------------------

    def never_repeats(self, module: Module, key: ast.AST | None, is_once: IsOnce, depth: int = 0) -> bool:
        """Whether an expression surely has ever new values: another one each time, or each so many times."""
        if key is None or depth > _MOST_DEPTH:
            return False

        def fresh(node: ast.AST | None) -> bool:
            return self.never_repeats(module, node, is_once, depth + 1)

        if key in self._lengths:
            return True
        if isinstance(key, ast.Call):
            name = called_name(key)
            if name == "next" and key.args:
                return self._is_count(key.args[0], is_once)
            return (name in _FRESH) or (name in _KEEPING and len(key.args) == 1 and fresh(key.args[0]))
        if isinstance(key, ast.JoinedStr):
            return any(isinstance(part, ast.FormattedValue) and fresh(part.value) for part in key.values)
        if isinstance(key, ast.Tuple):
            return any(fresh(part) for part in key.elts)
        if isinstance(key, ast.BinOp) and isinstance(key.op, (ast.Add, ast.Sub)):
            # What is taken from something falls, and what is left over comes to an end.
            is_sum = isinstance(key.op, ast.Add) and fresh(key.right) and self._stays(module, key.left, is_once)
            is_moved = isinstance(key.right, ast.JoinedStr) or self._stays(module, key.right, is_once)
            return is_sum or (is_moved and fresh(key.left))
        if isinstance(key, ast.BinOp) and isinstance(key.op, ast.FloorDiv):
            # Of the length's parts one is filled again before the length goes on, which then it does not.
            others = Bounds(self._code, self._objects)
            return self._stays(module, key.right, is_once) and others.never_repeats(
                module, key.left, is_once, depth + 1
            )
        if isinstance(key, ast.Subscript) and isinstance(key.slice, ast.Slice):
            return _is_unique(key.value)  # by chance two of some millions share their first digits
        if isinstance(key, ast.Attribute):
            if _is_unique(key) or self._counts_attribute(key.attr, is_once):
                return True
            return self._is_made_with_fresh(module, key, is_once, depth)
        return isinstance(key, ast.Name) and self._counts(module, key, is_once, depth)

    def _stays(self, module: Module, node: ast.AST, is_once: IsOnce) -> bool:
        """Whether an expression has one value as long as the container lives: a literal, or a setting."""
        if isinstance(node, ast.Constant):
            return True
        if not isinstance(node, (ast.Name, ast.Attribute)) or not self._is_setting(module, node):
            return False
        if isinstance(node, ast.Name):
            return module.resolve(node, node.id) is module.tree
        stores = self._stores(module, node)
        return bool(stores) and all(self._are_owners_lasting(m, n, is_once) for m, n in stores)

    def _is_made_with_fresh(self, module: Module, key: ast.Attribute, is_once: IsOnce, depth: int) -> bool:
        """Whether it is of an object that was made for the statement, and has what its maker was handed: `job.number`
        below `job = Job(next(self.numbers))`."""
        made = _made_before(module, key)
        found = [] if made is None else self._code.classes(called_name(made))
        if made is None or len(found) != 1 or self._code.functions(key.attr):
            return False
        home, owner = found[0]
        makers = [f for f in owner.body if isinstance(f, FUNCTIONS) and f.name in _MAKING]
        is_plain = not (owner.decorator_list or owner.keywords or self._code.functions(owner.name))
        is_derived = any(self._code.classes(last_name(base)) for base in owner.bases)
        has_other = any(isinstance(n, ast.Name) and home.scope(n) is owner for n in home.named.get(key.attr, ()))
        if not is_plain or is_derived or has_other:
            return False
        if [f.name for f in makers] != ["__init__"] or makers[0].decorator_list:
            return False
        passed = self._handed_to(home, makers[0], key)
        argument = argument_of(made, makers[0], passed, True) if passed else None
        return self.never_repeats(module, argument, is_once, depth + 1)

    def _handed_to(self, home: Module, maker: Function, key: ast.Attribute) -> str:
        """The parameter of an `__init__` that an attribute has for good; "" where it may get something else."""
        values = []
        for module, node in self._stores(home, key):
            function, (statement, _) = module.function(node), module.parent(node)
            if getattr(function, "name", "") != "__init__" or module.class_of_self(node.value) is None:
                return ""
            if function is maker:
                values.append(statement.value if isinstance(statement, ast.Assign) else node)
        name = last_name(values[0]) if len(values) == 1 and isinstance(values[0], ast.Name) else ""
        is_given_anew = any(
            isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load) for n in ast.walk(maker)
        )
        return name if is_parameter(maker, name) and not is_given_anew else ""

    def holds_once(self, module: Module, guard: Guard, is_once: IsOnce) -> bool:
        """Whether it is a test for one value of what is only ever counted up: `count == 70`."""
        return self._awaited(module, guard, is_once) is not None

    def is_past(self, module: Module, guard: Guard, is_once: IsOnce) -> bool:
        """Whether it is such a test, and the count is beyond that value."""
        awaited = self._awaited(module, guard, is_once)
        count, number = (None, None) if awaited is None else (self._held(module, side, is_once) for side in awaited)
        return count is not None and number is not None and count > number

    def _held(self, module: Module, node: ast.expr, is_once: IsOnce) -> int | None:
        """What a literal, a module's variable, or an attribute of the one object of its class is now."""
        value: Any = _NOTHING
        owner = module.class_of_self(node.value) if isinstance(node, ast.Attribute) else None
        if isinstance(node, ast.Constant):
            value = node.value
        elif isinstance(node, ast.Name) and module.resolve(node, node.id) is module.tree:
            value = _named(module.namespace, node.id)
        elif isinstance(node, ast.Attribute) and owner is not None and is_once(module, owner):
            held = _objects_of(owner.name)
            value = _named(held[0], node.attr) if len(held) == 1 else _NOTHING
        return value if type(value) is int else None

    def _awaited(self, module: Module, guard: Guard, is_once: IsOnce) -> tuple[ast.expr, ast.expr] | None:
        """The count, and the one value of it that lets a statement run; None of other tests."""
        test = guard.test
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return None
        if not isinstance(test.ops[0], ast.Eq if guard.holds else ast.NotEq):
            return None

        def counts(node: ast.expr) -> bool:
            if isinstance(node, ast.Attribute):
                return self._counts_attribute(node.attr, is_once)
            is_variable = isinstance(node, ast.Name) and not self._is_length(module, node)
            return is_variable and self._counts(module, node, is_once, 0)  # type: ignore[arg-type]

        def is_fixed(node: ast.expr) -> bool:
            is_name = isinstance(node, (ast.Name, ast.Attribute))
            return not is_name or self._is_setting(module, node)  # type: ignore[arg-type]

        sides = (test.left, test.comparators[0])
        for one, other in (sides, sides[::-1]):
            if counts(one) and is_fixed(other) and self.number(module, other) > 0:
                return one, other
        return None

    def _is_count(self, node: ast.AST, is_once: IsOnce) -> bool:
        name = last_name(node)
        modules = self._code.mentioning(name)[0] if name else []
        stored = [v for m in modules for v in stored_values(m, name)]
        is_one = all(self._are_owners_lasting(m, n, is_once) for m in modules for n in m.nodes if _is_stored(n, name))
        return bool(stored) and all(called_name(v) == "count" for v in stored) and is_one

    def _counts_attribute(self, name: str, is_once: IsOnce, may_end: bool = False) -> bool:
        """Whether an attribute of this name is only ever counted up, everywhere; `may_end`: also up to some number, or
        in each of several objects."""
        counted = False
        for module in self._code.mentioning(name)[0]:
            for node in module.nodes:
                if not _is_stored(node, name):
                    continue
                statement = module.statement(node)
                if not may_end and (
                    _is_capped(module, statement, node) or not self._are_owners_lasting(module, node, is_once)
                ):
                    return False
                if isinstance(statement, ast.AugAssign) and statement.target is node:
                    if not _is_step_up(statement.op, statement.value):
                        return False
                    counted = True
                elif _is_counted_up(statement, node):
                    counted = True
                elif not is_once(module, node):
                    return False
        return counted

    def _are_owners_lasting(self, module: Module, attribute: ast.Attribute, is_once: IsOnce) -> bool:
        """Whether no other object takes the place of the one whose attribute it is while the container lives.

        A loader that each epoch makes anew begins to count again.
        """
        owner = module.class_of_self(attribute.value)
        if owner is None or any(owner.name in all_class_names(held) for held in self._objects):
            return True
        return is_once(module, owner)

    def _counts(self, module: Module, key: ast.Name, is_once: IsOnce, depth: int, may_end: bool = False) -> bool:
        scope = module.resolve(key, key.id)
        if is_parameter(scope, key.id):
            return self._is_passed_fresh(module, scope, key.id, is_once, depth)
        counted = False
        for node in module.nodes:
            if not isinstance(node, ast.Name) or node.id != key.id or isinstance(node.ctx, ast.Load):
                continue
            if module.resolve(node, key.id) is not scope:
                continue
            statement = module.statement(node)
            if not may_end and _is_capped(module, statement, node):
                return False
            if isinstance(statement, ast.AugAssign):
                if not _is_step_up(statement.op, statement.value):
                    return False
                counted = True
            elif _is_counted_up(statement, node):
                counted = True
            elif isinstance(statement, LOOPS) and not isinstance(statement, ast.While):
                if not _is_counting_loop(statement, node) or not is_once(module, statement):
                    return False
                counted = True
            elif isinstance(statement, ast.Assign) and is_only_assigned(module, scope, key.id):
                if isinstance(statement.value, ast.Constant):
                    if not is_once(module, node):
                        return False
                elif (may_end and self._is_length(module, statement.value)) or self.never_repeats(
                    module, statement.value, is_once, depth + 1
                ):
                    counted = True
                else:
                    return False
            else:
                return False
        return counted

    def _is_passed_fresh(self, module: Module, function: ast.AST, name: str, is_once: IsOnce, depth: int) -> bool:
        calls = self._code.calls(getattr(function, "name", "")) if getattr(function, "name", "") else []
        is_bound = module.class_of_method(function) is not None
        if not calls and self._code.is_step(module, function):
            # What a step is handed is its number, and nothing else.
            return parameters(function)[is_bound:][:1] == [name]
        passed = [(home, argument_of(call, function, name, is_bound)) for home, call in calls]
        return len(passed) == 1 and all(self.never_repeats(m, p, is_once, depth + 1) for m, p in passed)


def _made_before(module: Module, key: ast.Attribute) -> ast.Call | None:
    """The call that makes the object whose attribute it is, each time before the attribute is asked for."""
    name = key.value
    if not isinstance(name, ast.Name):
        return None
    scope = module.resolve(name, name.id)
    stored = [n for n in module.named.get(name.id, ()) if not isinstance(n.ctx, ast.Load)]
    stored = [n for n in stored if isinstance(n, ast.Name) and module.resolve(n, name.id) is scope]
    made, field = module.parent(stored[0]) if len(stored) == 1 else (None, "")
    if not isinstance(made, ast.Assign) or field != "targets" or not isinstance(made.value, ast.Call):
        return None
    block, part = module.parent(made)
    statements = getattr(block, part, None)
    later = statements[statements.index(made) + 1 :] if isinstance(statements, list) else []
    is_beside = module.loops(key) == module.loops(made) and module.scope(key) is module.scope(made)
    return made.value if is_beside and any(key in ast.walk(statement) for statement in later) else None


def _is_stored(node: ast.AST, name: str) -> TypeGuard[ast.Attribute]:
    """Whether an attribute of this name is assigned, or deleted."""
    return isinstance(node, ast.Attribute) and node.attr == name and not isinstance(node.ctx, ast.Load)


def _is_unique(node: ast.AST) -> bool:
    """Whether it is a text of random digits: `uuid4().hex`, `str(uuid4())`, `token_hex(8)`."""
    if isinstance(node, ast.Attribute):
        node = node.value
    if isinstance(node, ast.Call) and called_name(node) in _KEEPING and len(node.args) == 1:
        node = node.args[0]
    return isinstance(node, ast.Call) and called_name(node) in _UNIQUE


def _sides_where(guard: Guard) -> tuple[ast.expr, ast.expr] | None:
    """The smaller and the larger side of a test by size, where what it guards runs; None of other tests."""
    test = guard.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    op, left, right = test.ops[0], test.left, test.comparators[0]
    if not isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        return None
    is_left_small = isinstance(op, (ast.Lt, ast.LtE)) == guard.holds
    return (left, right) if is_left_small else (right, left)


def may_cease(guard: Guard) -> bool:
    """Whether a statement that a test guards may cease to run some day (`if epoch == 0`, `if self.is_warming_up`).

    What comes round again, as a test of a remainder does, will run again; what the module is called does not change.
    """
    return not guard.is_loop and not all(_comes_again(part.test) for part in parts_of(guard))


def _is_access_of_object(module: Module, guard: Guard) -> bool:
    """Whether a descriptor's `__get__` tells by it an object's access from that of a class, which is no matter of time:
    `if instance is None: return self`."""
    test, function = guard.test, module.function(guard.test)
    if getattr(function, "name", "") != "__get__" or not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    arguments = function.args.args[1:2]  # type: ignore[union-attr]
    is_of_object = isinstance(test.left, ast.Name) and [test.left.id] == [argument.arg for argument in arguments]
    none = test.comparators[0]
    is_of_none = isinstance(none, ast.Constant) and none.value is None
    return is_of_object and is_of_none and isinstance(test.ops[0], ast.IsNot if guard.holds else ast.Is)


def _is_of_parts(module: Module, test: ast.expr) -> bool:
    """Whether a test picks some of a model's parameters or modules by what these are: `isinstance(part, nn.Linear)`,
    `"weight" in name`, `p.dim() == 2` in a loop over `model.named_parameters()`. It picks the same ones each time."""
    loops = [loop for loop in module.loops(test) if isinstance(loop, ast.For)]
    targets = {
        n.id
        for loop in loops
        if called_name(loop.iter) in _PARTS
        for n in ast.walk(loop.target)
        if isinstance(n, ast.Name)
    }
    if isinstance(test, ast.Call) and called_name(test) == "isinstance":
        asked = test.args[:1]
    elif isinstance(test, ast.Compare):
        asked = [test.left, *test.comparators]
    else:
        asked = [test]
    kept = [part for part in asked if not isinstance(part, ast.Constant)]
    return bool(kept) and all(_is_fixed_of(part, targets) for part in kept)


def _is_fixed_of(asked: ast.expr, targets: set[str]) -> bool:
    """Whether it is one of these variables, or what does not change of it, as a call with constants gives it."""
    if isinstance(asked, ast.Call):
        return all(isinstance(a, (ast.Constant, ast.Tuple)) for a in asked.args) and _is_fixed_of(asked.func, targets)
    if isinstance(asked, ast.Attribute):
        return asked.attr in _FIXED and _is_fixed_of(asked.value, targets)
    return isinstance(asked, ast.Name) and asked.id in targets


def _comes_again(test: ast.AST) -> bool:
    return any(
        (isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod)) or (isinstance(n, ast.Name) and n.id == "__name__")
        for n in ast.walk(test)
    )


def parts_of(guard: Guard) -> list[Guard]:
    """Tests that all hold where a statement runs: `step % 20 == 0` and `self.left > 0` of `a and b`."""
    test = guard.test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return parts_of(Guard(test.operand, not guard.holds, guard.is_loop))
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == guard.holds:
        return [part for t in test.values for part in parts_of(Guard(t, guard.holds, guard.is_loop))]
    return [guard]


def _is_emptied_beside(module: Module, test: ast.AST, length: ast.AST) -> bool:
    """Whether what has a length is made anew, or cleared, where a test of the length holds."""
    outer, _ = module.parent(test)
    measured = ast.unparse(length.args[0]) if isinstance(length, ast.Call) and length.args else ""
    for node in (inner for statement in getattr(outer, "body", []) for inner in ast.walk(statement)):
        targets = node.targets if isinstance(node, ast.Assign) else []
        method = node.func if isinstance(node, ast.Call) else None
        is_clear = isinstance(method, ast.Attribute) and method.attr == "clear"
        is_cleared = is_clear and ast.unparse(method.value) == measured  # type: ignore[union-attr]
        if is_cleared or any(ast.unparse(target) == measured for target in targets):
            return True
    return False


def assignments(module: Module, scope: ast.AST, name: str) -> list[ast.expr]:
    """Values that statements of a file assign to a variable."""
    found = []
    for node in module.nodes:
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            parent, _ = module.parent(node)
            value = getattr(parent, "value", None) or _assigned_beside(module, parent, node)
            if isinstance(value, ast.expr) and module.resolve(node, name) is scope:
                found.append(value)
    return found


def _assigned_beside(module: Module, targets: ast.AST | None, node: ast.Name | ast.Attribute) -> ast.expr | None:
    """What one of several names is assigned: `keys, values = a, b` are two assignments."""
    if not isinstance(targets, (ast.Tuple, ast.List)):
        return None
    statement, _ = module.parent(targets)
    values = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(values, (ast.Tuple, ast.List)) or len(values.elts) != len(targets.elts):
        return None
    is_any_starred = any(isinstance(part, ast.Starred) for part in [*values.elts, *targets.elts])
    return None if is_any_starred else values.elts[targets.elts.index(node)]


def is_only_assigned(module: Module, scope: ast.AST, name: str) -> bool:
    """Whether one statement assigns to a variable, those aside that count it up."""
    plain = 0
    for node in module.nodes:
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            is_other = not isinstance(module.parent(node)[0], ast.AugAssign)
            plain += is_other and module.resolve(node, name) is scope
    return plain == 1


def stored_values(module: Module, name: str) -> list[ast.expr]:
    """Values that a file assigns to a variable or an attribute of this name."""
    found = []
    for node in module.nodes:
        if isinstance(node, (ast.Name, ast.Attribute)) and last_name(node) == name and isinstance(node.ctx, ast.Store):
            parent, _ = module.parent(node)
            value = getattr(parent, "value", None)
            found.append(value if isinstance(value, ast.expr) else node)
    return found


def _named(owner: Any, name: object) -> Any:
    """An attribute, a module's variable or a dict's item; without asking the object."""
    if type(name) is not str or owner is _NOTHING:
        return _NOTHING
    if type(owner) is dict:
        return next((v for k, v in list(dict.items(owner)) if type(k) is str and k == name), _NOTHING)
    if is_a(owner, types.ModuleType):
        return _named(module_namespace(owner), name)
    found = next((v for k, v in attributes_of(owner) if k == name), _NOTHING)
    return found if found is not _NOTHING else class_attributes_of(owner).get(name, _NOTHING)


def _objects_of(name: str) -> list[Any]:
    """All that are of a class of this name, or of one derived from it."""
    objects = gc.get_objects()
    kinds = {id(kind): kind for kind in map(type, objects)}
    known = {number for number, kind in kinds.items() if name in map(name_of, mro_of(kind))}
    return [item for item in objects if id(type(item)) in known]


def _computed(op: ast.operator, left: Any, right: Any) -> Any:
    if type(left) not in (int, float) or type(right) not in (int, float):
        return _NOTHING
    try:
        if isinstance(op, ast.Add):
            return left + right
        if isinstance(op, ast.Sub):
            return left - right
        if isinstance(op, ast.Mult):
            return left * right
        if isinstance(op, ast.FloorDiv):
            return left // right
        if isinstance(op, ast.Pow) and 0 <= right <= 64 and abs(left) <= 1024:
            return left**right
        if isinstance(op, ast.LShift) and 0 <= right <= 64:
            return left << right
    except (ArithmeticError, TypeError):
        pass
    return _NOTHING


def _negated(node: ast.expr | None) -> ast.expr | None:
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else None


def _is_negated(test: ast.AST, inner: ast.AST) -> bool:
    return any(
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and any(n is inner for n in ast.walk(node))
        for node in ast.walk(test)
    )


def _is_step_up(op: ast.operator, value: ast.expr) -> bool:
    is_whole = isinstance(value, ast.Constant) and type(value.value) is int
    return isinstance(op, ast.Add) and is_whole and value.value > 0  # type: ignore[attr-defined]


def _is_capped(module: Module, statement: ast.AST, target: ast.Name | ast.Attribute) -> bool:
    """Whether a count goes on only under a test of itself: `if self.length < 48: self.length += 1`."""
    name = ast.unparse(target)
    tests = (guard.test for guard in module.guards(statement))
    return any(isinstance(n, ast.expr) and ast.unparse(n) == name for test in tests for n in ast.walk(test))


def _is_counted_up(statement: ast.AST, target: ast.Name | ast.Attribute) -> bool:
    """Whether it says `n = n + 1`."""
    if not isinstance(statement, ast.Assign) or statement.targets != [target]:
        return False
    value = statement.value
    return (
        isinstance(value, ast.BinOp)
        and ast.unparse(value.left) == ast.unparse(target)
        and _is_step_up(value.op, value.right)
    )


def _is_counting_loop(loop: ast.AST, target: ast.Name) -> bool:
    if not isinstance(loop, (ast.For, ast.AsyncFor)) or not isinstance(loop.iter, ast.Call):
        return False
    name = called_name(loop.iter)
    if name in ("range", "count"):
        return loop.target is target
    return name == "enumerate" and isinstance(loop.target, ast.Tuple) and loop.target.elts[0] is target


def _is_file(module: Module, file: str) -> bool:

    return os.path.realpath(file) == module.file
