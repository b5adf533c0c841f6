# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether another object takes the place of one whose container grew: the line that puts it there."""

from __future__ import annotations

import ast

from stepleak._endings import Endings
from stepleak._latches import Latches
from stepleak._places import Places
from stepleak._runs import Runs
from stepleak._slots import Slot
from stepleak._structure import UNKNOWN, Structure, at
from stepleak._syntax import last_name
from stepleak._use import Use
from stepleak._user_code import OwnerClasses, UserCode
from stepleak._uses import Uses


def owner_replaced(code: UserCode, slots: list[Slot]) -> Structure | None:
    """The line that puts another object in the place of one on the way, or takes it away; None where there is none.

    `slots`: those of one chain, the innermost first, which is not asked about.
    """
    uncalled: Structure | None = None
    for slot, below in zip(slots[1:], slots, strict=False):
        uses = Uses(code, OwnerClasses(code, slot.owner), frozenset(), frozenset())
        uses.follow(list(slot.names))
        if not uses.is_whole:
            return UNKNOWN
        runs = Runs(code, is_closure=slot.is_closure)
        places = Places(code, uses, runs)
        for use in uses.found:
            assigned = places.assigned(use)[0] if use.kind == "assign" else use.kind
            is_gone = assigned in ("reset", "remove") and not _is_carried_over(use, uses, below)
            is_here = use.kind == "reset" or not runs.is_making(use.module, use.node)
            if not is_gone or not is_here or runs.is_at_end(use.module, use.node):
                continue
            if runs.is_uncalled(use.module, use.node):
                uncalled = uncalled or (None if code.is_over(use.module, use.node) else at("uncalled", use))
            else:
                latches = Latches(code, Endings(code, []), runs)
                return at("conditional" if latches.has(use.module, use.node) else "reset", use)
    return uncalled


def _is_carried_over(use: Use, uses: Uses, below: Slot) -> bool:
    """Whether what takes an owner's place may have been given the owner, or what it keeps.

    `Epoch(self.epoch.number + 1)` has not; `State(self.state)`, `State(self.state.kept)` and `self.state.next()` may,
    and so may `Probe(self.bus)`, where the owner keeps it as `bus`.
    """
    names = {name.name for name in below.names}
    for node in ast.walk(use.detail) if use.detail is not None else ():
        if isinstance(node, (ast.Attribute, ast.Name)) and last_name(node) in names:
            return True
        if node in uses.denoting:
            part, _ = use.module.parent(node)
            if not isinstance(part, ast.Attribute) or part.attr in names:
                return True
            call, _ = use.module.parent(part)
            if isinstance(call, ast.Call) and call.func is part:
                return True
    return False
