# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a container grows for ever: where all that the sources do with it was followed, and nothing bounds it."""

from __future__ import annotations

import ast
import operator
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from stepleak._assignments import assigned_value, stores
from stepleak._by_type import is_queue
from stepleak._endings import Endings
from stepleak._facts import Facts
from stepleak._guards import is_given_back
from stepleak._objects import class_attributes_of, is_one_of, type_name
from stepleak._runs import Runs
from stepleak._structure import UNKNOWN, Structure, at
from stepleak._syntax import Guard, Module, called_name, last_name
from stepleak._unseen import length_of
from stepleak._use import Use
from stepleak._user_code import UserCode
from stepleak._withdrawn import Withdrawals

_PLAIN = (list, dict, set, deque, OrderedDict, defaultdict, Counter)

_COMPARISONS: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class Growth:
    """Asks about one container in which no line was found that bounds it."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self.passed: dict[ast.expr, Use] = {}
        """Tests of its length that say the same for good, and what was to take something out of it under them."""
        self._withdrawals: dict[Use, Use | None] = {}

    def unbounded(self, uses: list[Use], removing: list[Use], in_steps: list[Use], in_vain: list[Use]) -> Structure:
        """`in_steps`: what fills it. `in_vain`: what asks for what is never there, and so keeps nothing from it."""
        is_clear = (
            self._facts.uses.is_whole
            and not removing
            and not any(use.kind == "escape" for use in uses)
            and not any(self._is_deciding(use) for use in self._lasting_tests() if not self._is_settled(use, in_steps))
            and not any(self._rooms())
            and not self._is_libraries()
            and all(self._facts.runs.entered(name) == "once" for name in self._facts.slot.names)
            and (any(use.kind == "make" for use in uses) or self._facts.places.is_made_by_call(self._facts.slot))
        )
        # Which of several fills it once was is not known: one that may cease bounds what it fills.
        is_endless = bool(in_steps) and all(self._fills_for_ever(fill, in_vain) for fill in in_steps)
        passed = next(iter(self.passed.values()), None)
        unbounded = Structure("unbounded") if passed is None else at("unbounded", passed)
        return unbounded if is_clear and is_endless else UNKNOWN

    def conditional(self, taking: list[Use], filling: list[Use], uses: list[Use]) -> Structure:
        """Where something takes items out, or asks how many there are before it does so, and cannot be understood.

        `filling`: what fills it still.
        """
        lengths = (use for use in self._lasting_tests() if not self._is_told_only(use))
        tests = (use for use in [*self._rooms(), *lengths] if not self._facts.is_idle(use) and not self._is_off(use))
        if not taking and self._facts.uses.is_whole and not any(use.kind == "escape" for use in uses):
            tests = (use for use in tests if not self._is_settled(use, filling))
        known = next((use for use in taking if use.is_sure), None) or next(tests, None)
        known = known or next(filter(self._is_second_best, filling), None)
        known = known or next(filter(self._is_by_permit, filling), None) or self._end_of(filling)
        return UNKNOWN if known is None else self._facts.at("conditional", known)

    def _is_off(self, length: Use) -> bool:
        """Whether it is in a test of a setting that it can never be beyond, and of nothing else, or in one that a
        setting decides alone."""
        test: ast.AST | None = length.node
        branch, field = length.module.parent(length.node)
        while isinstance(branch, ast.expr):
            test, (branch, field) = branch, length.module.parent(branch)
        is_whole = isinstance(branch, (ast.If, ast.While)) and field == "test"
        if not is_whole or not isinstance(test, ast.expr):
            return False
        endings, guard = self._facts.endings, Guard(test, True, False)
        if endings.is_on(length.module, guard):
            return True
        return isinstance(test, ast.Compare) and not branch.orelse and endings.is_off(length.module, guard)  # type: ignore[union-attr]

    def _lasting_tests(self) -> Iterator[Use]:
        """Where something depends on its length, but for removals that run no more by that."""
        for use in self._facts.places.tested_lengths():
            test = next((outer for outer, _ in use.module.around(use.node) if outer in self.passed), None)
            guarded = None if test is None else use.module.parent(test)[0]
            # A branch for the others runs on, whatever it does.
            if test is None or (isinstance(guarded, ast.If) and guarded.orelse):
                yield use

    def _is_settled(self, length: Use, filling: list[Use]) -> bool:
        """Whether it is a test by a number that nothing changes, which the container is far beyond, where nothing is
        taken out: it has said the same ever since, and will. Either it does nothing more then, `if len(x) < 2: return`;
        or each that still fills the container comes by it, so that it has done by now what it does."""
        module = length.module
        compared = module.parent(length.node)[0]
        if not isinstance(compared, ast.Compare) or len(compared.ops) != 1:
            return False
        test: ast.expr = compared
        outer, _ = module.parent(test)
        if isinstance(outer, ast.UnaryOp):
            test, outer = outer, module.parent(outer)[0]
        if not isinstance(outer, ast.If) or outer.test is not test:
            return False
        other = compared.comparators[0] if compared.left is length.node else compared.left
        allowed = self._facts.bounds.allowed(module, test, True)
        held = length_of(self._facts.container)
        if allowed is None or not 0 <= 2 * allowed[1] < held:
            return False
        sides = (held, allowed[1]) if compared.left is length.node else (allowed[1], held)
        is_true = _COMPARISONS[type(compared.ops[0])](*sides) == (test is compared)
        is_come_by = bool(filling) and all(
            any(guard.test is test for guard in fill.module.guards(fill.node)) for fill in filling
        )
        is_over = is_come_by or (not is_true and not outer.orelse)
        return is_over and self._facts.counters.stays(module, other, self._facts.runs.is_once)

    def ending(self, filling: list[Use], in_vain: list[Use]) -> Structure | None:
        """The test under which something fills it, and which may not hold for ever. `in_vain`: what asks for what is
        never there."""
        for fill in filling:
            for module, guard in _ending_guards(self._facts.runs.guards(fill), self._facts.runs, self._facts.endings):
                if not self._facts.places.depends_on(module, guard.test, in_vain):
                    return self._facts.at("conditional", Use("test", module, guard.test))
        return None

    def _fills_for_ever(self, fill: Use, in_vain: list[Use]) -> bool:
        is_phase = self._facts.runs.is_phase(fill.module, fill.node)
        return (
            fill.is_sure
            and not is_phase
            and self._flag_to_be_shut(fill, in_vain) is None
            and self._end_but_for_flags(fill) is None
            and not self._facts.places.is_moved(fill)
            and not self._is_second_best(fill)
            and all(
                self._facts.places.depends_on(module, guard.test, in_vain)
                for module, guard in _ending_guards(
                    self._facts.runs.guards(fill), self._facts.runs, self._facts.endings
                )
            )
        )

    def _is_second_best(self, fill: Use) -> bool:
        """Whether it fills a sequence only where it has no place of that number, to put a value in or to read it. Of
        mappings the keys tell."""
        for outer, field in fill.module.around(fill.node) if self._facts.is_sequence else ():
            if isinstance(outer, ast.ExceptHandler) and field == "body":
                tried = fill.module.parent(outer)[0]
                nodes = {n for statement in getattr(tried, "body", ()) for n in ast.walk(statement)}
                return any(use.kind in ("put", "index") and use.node in nodes for use in self._facts.uses.found)
        return False

    def _is_by_permit(self, fill: Use) -> bool:
        """Whether it fills it only where a semaphore has something left, of which nobody knows how many; what the same
        function gives back, as a lock, is there the next time."""
        tests = [(module, guard.test) for module, guard in self._facts.runs.guards(fill)]
        return any(
            called_name(node) == "acquire" and not is_given_back(module, node)
            for module, test in tests
            for node in ast.walk(test)
        )

    def _end_of(self, filling: list[Use]) -> Use | None:
        """What may end for good all that still fills it: tests of flags, what takes back the functions that do, or what
        it comes out of is used up."""
        running = [fill for fill in filling if not self._facts.is_idle(fill)]
        for end_of in (self._flag_to_be_shut, self._end_but_for_flags):
            found = list(map(end_of, running))
            if found and all(end is not None and end.is_sure for end in found):
                return found[0]
        return None

    def _end_but_for_flags(self, fill: Use) -> Use | None:
        return (
            self._facts.used_up.end_behind(fill)
            or self._search_before(fill)
            or self._withdrawal(fill)
            or self._other_in_place(fill)
        )

    def _other_in_place(self, fill: Use) -> Use | None:
        """Where a step may put something else where the fill goes by another name than the one that keeps it: `sink =
        Nothing()`, where `sink = kept` was before."""
        node = fill.node
        own = {name.name for name in self._facts.slot.names}
        if not isinstance(node, (ast.Name, ast.Attribute)) or last_name(node) in own:
            return None
        if isinstance(node, ast.Name) and fill.module.resolve(node, node.id) is fill.module.scope(node):
            return None  # given anew in each call
        for module, store in stores(self._facts.code, fill.module, node):
            value = assigned_value(module, store)
            is_other = value is not None and not any(part in self._facts.uses.denoting for part in ast.walk(value))
            runs = self._facts.runs
            if is_other and not runs.is_of_set_up(module, store) and runs.is_to_come(module, store):
                return Use("reset", module, store)
        return None

    def _flag_to_be_shut(self, fill: Use, in_vain: list[Use] | None = None) -> Use | None:
        for module, guard in self._facts.runs.guards(fill):
            is_in_vain = in_vain is not None and self._facts.places.depends_on(module, guard.test, in_vain)
            flags = self._facts.flags
            is_of_end = flags.is_ever_shorter(module, guard.test) if guard.is_loop else flags.may_be_shut(module, guard)
            if is_of_end and not is_in_vain:
                return Use("test", module, guard.test)
        return None

    def _withdrawal(self, fill: Use) -> Use | None:
        """As `Withdrawals` have it, asked once."""
        if fill not in self._withdrawals:
            self._withdrawals[fill] = Withdrawals(self._facts.code, self._facts.runs).of(fill)
        return self._withdrawals[fill]

    def _search_before(self, fill: Use) -> Use | None:
        """Where one of its items is looked for, and it is filled only where none will do, as a pool is: `for slot in
        slots: if slot.is_free: return slot`, or in the `else` of such a loop."""
        for module, node in self._facts.runs.leading_to(fill):
            for outer, field, before in module.within_scope(node):
                loops = [(loop, ast.Return) for loop in before if isinstance(loop, ast.For)]
                if isinstance(outer, ast.For) and field == "orelse":
                    loops.append((outer, ast.Break))  # type: ignore[arg-type]
                for loop, by in loops:
                    is_of_it = any(part in self._facts.uses.denoting for part in ast.walk(loop.iter))
                    tests = module.leaving_within(loop, by) if is_of_it else []
                    if tests:
                        return Use("test", module, tests[0].test)
        return None

    def _rooms(self) -> Iterator[Use]:
        """Where it is asked how many are missing, for more than to show it: `items[: self.size - len(self.kept)]`, and
        `range(len(self.kept), size)`."""
        for module in {use.module for use in self._facts.uses.found}:
            for node in module.nodes:
                if isinstance(node, ast.expr) and self._is_room(module, node):
                    yield Use("length", module, node)

    def _is_room(self, module: Module, node: ast.expr) -> bool:
        def is_of_length(part: ast.expr) -> bool:
            return any(self._facts.places.is_length(module, inner) for inner in ast.walk(part))

        if isinstance(node, ast.Call):
            return called_name(node) == "range" and len(node.args) > 1 and is_of_length(node.args[0])
        if self._is_in_own_index(module, node):
            return False
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
            return False
        is_shown = any(isinstance(o, ast.FormattedValue) or called_name(o) == "print" for o, _ in module.around(node))
        return is_of_length(node.right) and not is_of_length(node.left) and not is_shown

    def _is_in_own_index(self, module: Module, node: ast.expr) -> bool:
        """Whether it says which of the container's own items is read: `kept[-1 - random.randrange(len(kept))]`."""
        inner: ast.AST = node
        for outer, field in module.around(node):
            if isinstance(outer, (ast.stmt, ast.Slice)):
                return False
            if isinstance(outer, ast.Subscript) and field == "slice" and outer.slice is inner:
                return isinstance(outer.ctx, ast.Load) and outer.value in self._facts.uses.denoting
            inner = outer
        return False

    def _is_deciding(self, use: Use) -> bool:
        return self._facts.places.is_deciding(use) and not self._is_told_only(use)

    def _is_told_only(self, use: Use) -> bool:
        """Whether it is told to who asks by `len()`, and nobody decides by that what becomes of the container."""
        return self._is_of_len(use) and self._is_len_only_read()

    def _is_of_len(self, use: Use) -> bool:
        """Whether it is what `__len__` returns: the length, or that up to a number. As a truth it says no more than
        that there is something, which does not change while it grows."""
        function, statement = use.module.function(use.node), use.module.statement(use.node)
        if not isinstance(statement, ast.Return) or getattr(function, "name", "") != "__len__":
            return False
        value = statement.value
        parts = value.args if isinstance(value, ast.Call) and called_name(value) == "min" else [value]
        return any(part in self._facts.uses.lengths for part in parts)

    def _is_len_only_read(self) -> bool:
        """Whether no test of what `len()` says, of whatever may have the container, may change the container."""
        calls = [*self._facts.code.calls("len"), *self._facts.code.calls("__len__")]
        waiting: list[tuple[Module, ast.expr]] = [
            (module, call)
            for module, call in calls
            if call not in self._facts.uses.lengths
            and not self._facts.runs.is_once(module, call)
            and not self._facts.runs.is_before_steps(module, call)
        ]
        seen: set[ast.AST] = set()
        while waiting:
            module, node = waiting.pop()
            names = [] if node in seen else self._names_given(module, node)
            if names is None:
                return False
            seen.add(node)
            for name in names:
                loads = (n for n in module.named.get(name.id, ()) if isinstance(n.ctx, ast.Load))
                scope = module.resolve(name, name.id)
                waiting += [(module, load) for load in loads if module.resolve(load, name.id) is scope]
        return True

    def _names_given(self, module: Module, node: ast.expr) -> list[ast.Name] | None:
        """Variables that get what is made of an expression; None where it decides something, or gets out of sight."""
        is_tested = False
        for outer, field in module.around(node):
            if isinstance(outer, ast.BinOp) and isinstance(outer.op, (ast.Div, ast.FloorDiv)) and field == "right":
                return []
            is_tested = is_tested or field in ("test", "ifs", "subject") or isinstance(outer, (ast.Compare, ast.BoolOp))
            if field == "value" and isinstance(outer, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
                targets = outer.targets if isinstance(outer, ast.Assign) else [outer.target]
                names = [target for target in targets if isinstance(target, ast.Name)]
                return names if len(names) == len(targets) and not isinstance(outer, ast.NamedExpr) else None
            if isinstance(outer, (ast.Return, ast.Yield, ast.YieldFrom)):
                return [] if getattr(module.function(node), "name", "") == "__len__" else None
            if isinstance(outer, ast.stmt):
                break
        return None if is_tested and self._facts.places.is_deciding(Use("length", module, node)) else []

    def _is_libraries(self) -> bool:
        """Whether code that is not read may know the container: methods of a library's class among the owner's."""
        is_known = is_one_of(type(self._facts.container), _PLAIN) or is_queue(self._facts.container)
        if not is_known and not self._facts.code.classes(type_name(self._facts.container)):
            return True
        owner, name = self._facts.slot.owner, self._facts.slot.names[0].name
        for attribute in class_attributes_of(owner).values() if owner is not None else ():
            function = attribute.__func__ if type(attribute) in (staticmethod, classmethod) else attribute
            if type(function) is not types.FunctionType or name not in function.__code__.co_names:
                continue
            if function.__code__.co_filename.startswith("<") or self._facts.code.file(function.__code__.co_filename):
                continue
            return True
        return False


def ending_where(code: UserCode, statement: dict[str, Any], called: str) -> Structure | None:
    """The test under which a statement runs that calls something of this name, and which may not hold for ever."""
    module = code.file(statement["file"])
    if module is None or called not in statement["calls"]:
        return None
    runs = Runs(code)
    calls = [call for call in module.calls.get(called, ()) if call.lineno == statement["line"]]
    guards = [place for call in calls for place in runs.guards(Use("fill", module, call))]
    # A loop that tops something up, `while len(blocks) * 50 < rows`, ends with what it asks for.
    topping_up = [(home, guard) for home, guard in guards if guard.is_loop and _asks_for_length(guard.test)]
    ending = next(iter(topping_up), None) or next(_ending_guards(guards, runs, Endings(code, [])), None)
    return None if ending is None else at("conditional", Use("test", ending[0], ending[1].test))


def _ending_guards(
    guards: Iterable[tuple[Module, Guard]], runs: Runs, endings: Endings
) -> Iterator[tuple[Module, Guard]]:
    """Of the tests under which something runs, those that may not hold for ever."""
    return ((module, guard) for module, guard in guards if endings.may_end(module, guard, runs.is_once))


def _asks_for_length(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and any(called_name(node) == "len" for node in ast.walk(test))
