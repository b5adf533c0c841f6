# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether another object takes the place of one whose container grew: the line that puts it there."""

from __future__ import annotations

import ast

from stepleak._assignments import assigned_value
from stepleak._carried import carried
from stepleak._endings import Endings
from stepleak._latches import Latches
from stepleak._own_removals import undoes_own_set
from stepleak._passed_anew import passed_anew
from stepleak._places import Places
from stepleak._runs import Runs
from stepleak._set_by_name import set_by_name
from stepleak._slots import Slot
from stepleak._structure import UNKNOWN, Structure, at
from stepleak._syntax import called_name
from stepleak._use import TAKING, Use
from stepleak._user_code import UserCode
from stepleak._uses import Uses, uses_of


def owner_replaced(code: UserCode, slots: list[Slot]) -> Structure | None:
    """The line that puts another object in the place of one on the way, or takes it away; None where there is none.

    One that may give the other what its predecessor kept is "conditional", and so is one that may mean any attribute.
    `slots`: those of one chain, the innermost first, which is asked about the latter alone.
    """
    perhaps: Structure | None = None
    uncalled: Structure | None = None
    for slot, below in zip(slots[1:], slots, strict=False):
        uses = uses_of(slot, code)
        if not uses.is_whole:
            return UNKNOWN
        runs = Runs(code, is_closure=slot.is_closure)
        for use in uses.found:
            is_here = use.kind == "reset" or not runs.is_making(use.module, use.node)
            if not is_here or runs.is_at_end(use.module, use.node) or undoes_own_set(use, uses.found, code):
                continue
            is_carried = _is_carried(use, uses, runs, code, below)
            if is_carried == "yes":
                continue
            if runs.is_uncalled(use.module, use.node):
                uncalled = uncalled or (None if code.is_over(use.module, use.node) else at("uncalled", use))
            elif is_carried == "perhaps":
                perhaps = perhaps or at("conditional", use)
            else:
                latches = Latches(code, Endings(code, []), runs)
                return at("conditional" if latches.has(use.module, use.node) else "reset", use)
        perhaps = perhaps or _given_elsewhere(code, uses, runs)
    if perhaps is not None:
        return perhaps
    set_by = set_by_name(code, slots, Runs(code))
    return uncalled if set_by is None else at("conditional", set_by)


def _is_carried(use: Use, uses: Uses, runs: Runs, code: UserCode, below: Slot) -> str:
    """Whether what is there afterwards has what was kept, "yes", "perhaps" or "no"; "yes" where the statement takes
    nothing away."""
    if use.kind == "assign" and isinstance(use.detail, ast.Name) and use.detail in uses.denoting:
        return {"yes": "no", "perhaps": "perhaps", "no": "yes"}[passed_anew(code, runs, use.module, use.detail)]
    assigned = Places(code, uses, runs).assigned(use)[0] if use.kind == "assign" else use.kind
    if assigned not in TAKING:
        return "yes"
    return carried(use, uses.denoting, code, {name.name for name in below.names})


def _given_elsewhere(code: UserCode, uses: Uses, runs: Runs) -> Structure | None:
    """Where a step puts a new object where the one on the way goes by another name, which is asked in its place then:
    `app.trainer = Trainer()`, while a variable still has the first one."""
    for module, node in uses.stores_elsewhere:
        value = assigned_value(module, node) if isinstance(node, ast.Attribute) else None
        is_new = value is not None and bool(code.classes(called_name(value)))
        if is_new and not runs.is_of_set_up(module, node) and runs.is_to_come(module, node):
            return at("conditional", Use("reset", module, node))
    return None
