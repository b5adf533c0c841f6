# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Lines that keep a container to a length: they cut it, take items out of a long one, or fill only a short one."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator

from stepleak._amount_tests import AmountTests
from stepleak._facts import Facts
from stepleak._fixed_values import FixedValues
from stepleak._guards import is_of_equals, parts_of, sides_where
from stepleak._objects import bound_of, container_kind
from stepleak._reach import MOST_CALLERS, MOST_LEVELS
from stepleak._structure import UNKNOWN, Structure
from stepleak._syntax import Guard, Module, called_name
from stepleak._unseen import length_of
from stepleak._use import Use


class Capacity:
    """Asks the uses of one container, each time the first line that does it; None where there is none."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._amount_tests = AmountTests(facts)
        self._fixed = FixedValues(facts)

    def trimmed(self, uses: list[Use], fills: list[Use]) -> Structure | None:
        """What is cut to a length, or is a ring, whose places are counted round."""
        for use in uses:
            if use.kind == "trim":
                number = self._cut(use)
                if number != 0 and not self._is_unlimited(use, number):
                    return self._kept_to(use, max(number, self._allowed_before(use)), fills)
            key = use.detail
            if use.kind in ("put", "fill") and isinstance(key, ast.BinOp) and isinstance(key.op, ast.Mod):
                module, parent = use.module, use.module.parent(use.node)[0]
                if not isinstance(parent, ast.Subscript):
                    continue
                found = self._facts.at("bounded", use, self._number_of_slots(module, key.right))
                # Of one that is longer only some places are counted round, where something else makes it longer.
                if found != UNKNOWN or all(f is use or self._facts.runs.is_set_up(f) for f in fills):
                    return found
        return None

    def removed_when_long(self, removing: list[Use], fills: list[Use]) -> Structure | None:
        """What loses items where a test of its length says so."""
        for use in removing:
            for lets_short, number, _ in self._tests_of_length(use):
                if number != 0 and not (use.kind == "remove" and lets_short):
                    return self._kept_to(use, number, fills)
        return None

    def _kept_to(self, use: Use, number: int, fills: list[Use]) -> Structure:
        """That a container is far longer says that the line does not run where the steps come by it as they fill it;
        one of an epoch's end, or of each 500th step, is yet to come."""
        found = self._facts.at("bounded", use, number)
        ways = [
            way for fill in fills if not self._facts.runs.is_set_up(fill) for way in self._facts.runs.leading_to(fill)
        ]
        is_to_come = found == UNKNOWN and not self._is_come_by(use.module, use.node, ways)
        return self._facts.at("conditional", use) if is_to_come else found

    def _is_come_by(self, module: Module, node: ast.AST, ways: list[tuple[Module, ast.AST]], depth: int = 0) -> bool:
        """Whether what fills a container, by one of these ways, comes by a line as often as it does, and but for tests
        of the length nothing is asked that is not asked there, too."""
        scope, loops = module.scope(node), module.loops(module.statement(node))
        beside = [at for home, at in ways if home is module and module.scope(at) is scope]
        shared = [at for at in beside if module.loops(module.statement(at)) == loops]
        for at in shared or [node]:
            known = [(guard.test, guard.holds) for guard in module.guards(at)] if shared else []
            others = [guard for guard in module.guards(node) if (guard.test, guard.holds) not in known]
            if all(self._is_of_length(module, part) for guard in others for part in parts_of(guard)):
                break
        else:
            return False
        function = module.function(node)
        if shared or function is None or depth == MOST_LEVELS:
            return bool(shared)
        calls = self._facts.code.calls(function.name)
        return any(self._is_come_by(home, call, ways, depth + 1) for home, call in calls[:MOST_CALLERS])

    def _is_of_length(self, module: Module, guard: Guard) -> bool:
        is_compound = isinstance(guard.test, ast.BoolOp)
        return not is_compound and self._facts.bounds.allowed(module, guard.test, guard.holds) is not None

    def removed_when_large(self, removing: list[Use], fills: list[Use]) -> Structure | None:
        """What loses items where more bytes or elements are in it than there may be, or whatever is counted so."""
        fills = [f for f in fills if not self._facts.runs.is_set_up(f)]
        for use in removing if fills else ():
            number = self._amount_tests.most_kept(use, fills)
            if number is not None:
                return self._facts.at("bounded", use, number)
        return None

    def passed_tests(self, removal: Use) -> Iterator[ast.expr]:
        """Tests under which it is to run at lengths alone that are behind, by a number that nothing changes: `if len(x)
        == n` where two are put in at once, `if len(x) < n`. What only grows from there comes back to none of them."""
        for module, guard in self._facts.runs.guards(removal):
            for part in [] if guard.is_loop else parts_of(guard):
                if self._is_behind(module, part):
                    yield part.test

    def _is_behind(self, module: Module, part: Guard) -> bool:
        test = part.test
        allowed = self._facts.bounds.allowed(module, test, part.holds)
        if allowed is None or not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return False
        lets_short, number = allowed
        sides = [test.left, *test.comparators]
        others = [side for side in sides if not self._facts.places.is_length(module, side)]
        return (
            (lets_short or is_of_equals(part))
            and 0 < 2 * number < length_of(self._facts.container)
            and len(others) == 1
            and self._fixed.is_fixed(module, others[0])
        )

    def filled_when_short(self, fills: list[Use]) -> Structure | None:
        """What is filled only under a test of its length, wherever a step fills it."""
        fills = [f for f in fills if not self._facts.runs.is_set_up(f)]
        limits = [self._limit(fill) for fill in fills]
        if not fills or None in limits:
            return None
        known = [limit for limit in limits if limit is not None]
        return self._facts.at("bounded", fills[0], -1 if -1 in known else max(known))

    def is_over(self, fill: Use) -> bool:
        """Whether it is filled there only while it is shorter than it is by now."""
        return 0 < (self._limit(fill) or 0) < length_of(self._facts.container)

    def laid_out(self, uses: list[Use]) -> Structure | None:
        """What was made with all its places, and is filled by their numbers, whatever counts these."""
        late = [u for u in uses if not self._facts.runs.is_set_up(u)]
        puts = [u for u in late if u.kind == "put"]
        if not self._facts.is_as_long or not self._facts.is_sequence or not puts or any(u.kind == "fill" for u in late):
            return None
        return self._facts.at("bounded", puts[0], length_of(self._facts.container))

    def expiring(self, removing: list[Use], fills: list[Use]) -> Structure | None:
        """What drops what has been in it for long enough: by a key that many counts ago, or by a test of each item."""
        for use in removing:
            if use.kind != "remove":
                continue
            key = use.detail
            if (
                isinstance(key, ast.BinOp)
                and isinstance(key.op, ast.Sub)
                and any(self._facts.is_fresh(f) for f in fills)
            ):
                bound = self._facts.values.number(use.module, key.right)
                return self._facts.at("bounded" if bound > 0 else "expiring", use, bound)
            if self._facts.places.is_of_old(use):
                return self._facts.at("expiring", use)
        return None

    def _allowed_before(self, use: Use) -> int:
        """The length up to which nothing is removed there, where that is tested: what is cut to 60 once it has 120
        holds 120; -1 where none is."""
        return max((number for lets_short, number, _ in self._tests_of_length(use) if not lets_short), default=-1)

    def _tests_of_length(self, use: Use) -> Iterator[tuple[bool, int, Guard]]:
        """Those under which it is done: whether each lets short ones through, the length that it names, and itself."""
        for module, guard in self._facts.runs.guards(use):
            if guard.is_loop and self._is_of_what_is_left(module, guard.test):
                continue
            allowed = self._facts.bounds.allowed(module, guard.test, guard.holds)
            if allowed is not None and not self._facts.endings.is_on(module, guard):
                yield *allowed, guard

    def _is_of_what_is_left(self, module: Module, rounds: ast.expr) -> bool:
        """Whether a loop runs for each, or for some, of however many there are: `while len(x)`, `range(len(x))`."""
        loop, _ = module.parent(rounds)
        if isinstance(loop, ast.While):
            return self._facts.places.is_length(module, rounds)
        return not any(isinstance(part, (ast.Sub, ast.Compare)) for part in ast.walk(rounds))

    def _number_of_slots(self, module: Module, number: ast.expr) -> int:
        """Of a ring: `slots[i % len(slots)]` stays as long as it was made."""
        is_own = self._facts.is_sequence and self._facts.places.is_length(module, number)
        return length_of(self._facts.container) if is_own else self._facts.values.number(module, number)

    def _cut(self, use: Use) -> int:
        """What a trim leaves; 0: less than there was by a fixed number."""
        parent, _ = use.module.parent(use.node)
        is_emptied = isinstance(use.node, ast.Subscript) and use.node.slice is use.detail
        is_deleting = is_emptied or (isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Del))
        if not isinstance(use.detail, ast.Slice):
            return self._facts.values.number(use.module, use.detail)
        if not is_deleting:
            return self._facts.bounds.kept_by_slice(use.module, use.detail)
        # What `del x[:-n]` leaves is `x[-n:]`.
        left = ast.Slice(lower=use.detail.upper, upper=use.detail.lower)
        return self._facts.bounds.kept_by_slice(use.module, left)

    def _is_unlimited(self, trim: Use, number: int) -> bool:
        """Whether it makes a deque of a length that is not known, and this one has none: `maxlen=settings.get("n")`."""
        if number >= 0 or trim.detail is None or container_kind(self._facts.container) is not deque:
            return False
        calls = (outer for outer, _ in trim.module.around(trim.detail) if isinstance(outer, ast.Call))
        return any(called_name(call) == "deque" for call in calls) and bound_of(self._facts.container) < 0

    def _limit(self, fill: Use) -> int | None:
        for lets_short, number, guard in self._tests_of_length(fill):
            if lets_short and not guard.is_loop:
                return number
        for guard in fill.module.guards(fill.node):
            if not guard.is_loop and self._facts.places.is_where_empty(guard):
                return 1
        by_count = self._limit_of_count(fill)
        return by_count if by_count is not None else self._amount_tests.most_filled(fill)

    def _limit_of_count(self, fill: Use) -> int | None:
        """Under a test of something that is only ever counted up: the number of entries, where it counts these."""
        for module, guard in self._facts.runs.guards(fill):
            number = self._facts.endings.ends(module, guard, self._facts.runs.is_once)
            sides = sides_where(guard)
            if number is not None and sides is not None and self._fixed.is_fixed(module, sides[1]):
                each = self._facts.places.counted_beside(fill, guard)
                is_inclusive = isinstance(guard.test.ops[0], (ast.LtE, ast.GtE)) == guard.holds  # type: ignore[attr-defined]
                return (number - 1 + is_inclusive) // each + 1 if each > 0 else -1
        return None
