# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What ends a graph that a variable gathers: `self.total = self.total + loss` keeps the nodes of every step.

As with containers, being unsure is "unknown": "unbounded" is said only where each assignment was found, each makes the
new value of the old one by operators or functions of torch, and none leaves the graph behind.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from stepleak._guards import may_cease
from stepleak._matches import IN_PLACE
from stepleak._replaced import owner_replaced
from stepleak._runs import Runs
from stepleak._slots import Slot, Slots
from stepleak._structure import UNKNOWN, Structure, at
from stepleak._syntax import Module, called_name, first_name
from stepleak._use import Use
from stepleak._user_code import UserCode
from stepleak._uses import Uses, uses_of

_ON = (ast.BinOp, ast.UnaryOp, ast.Tuple, ast.List, ast.Subscript, ast.keyword)
_LIBRARIES = frozenset({"torch", "F"})
_METHODS = frozenset(
    {"add", "sub", "mul", "div", "neg", "mean", "sum", "max", "min", "clamp", "lerp", "maximum", "minimum", "pow"}
    | {"sqrt", "exp", "log", "view", "reshape", "squeeze", "unsqueeze", "flatten", "to", "float", "clone", "contiguous"}
)
"""Of a tensor: what they return leads to it."""
_MAKING = frozenset(
    {"zeros", "ones", "full", "empty", "tensor", "rand", "randn", "zeros_like", "ones_like", "new_zeros", "new_ones"}
)
"""Functions whose tensors have no graph of what was there before."""


def accumulated(objects: list[Any], code: UserCode, variable: str = "", function: str = "") -> Structure:
    """Of the variable that holds a tensor with a graph, which `objects` lead to. Never raises for what the sources
    contain. `variable`, `function`: where the way begins at a variable of a running function."""
    try:
        return _judged(objects, code, variable, function)
    except Exception:
        # Source that nobody thought of must not lose the holder itself.
        return UNKNOWN


def _judged(objects: list[Any], code: UserCode, variable: str, function: str) -> Structure:
    slots = Slots(code, objects, variable, function).all()
    known = [slot for slot in slots if slot is not None]
    if not known or len(known) < len(slots) or any(name.keys for name in known[0].names):
        return UNKNOWN
    slot = known[0]
    uses = uses_of(slot, code)
    runs = Runs(code, is_closure=slot.is_closure)
    if not uses.is_whole or any(runs.entered(name) != "once" for name in slot.names):
        return UNKNOWN
    found: dict[str, list[Use]] = {}
    for use in uses.found:
        found.setdefault(_does(use, uses, runs), []).append(use)
    found.setdefault("add", []).extend(_added_in_place(slot, uses, code, runs))
    ends = [use for use in found.get("end", []) if not runs.is_at_end(use.module, use.node)]
    living = [use for use in ends if not runs.is_uncalled(use.module, use.node)]
    if "unknown" in found or _is_cut_in_place(slot, uses, code):
        return UNKNOWN
    if ends:
        return at("reset", living[0]) if living else at("uncalled", ends[0])
    replaced = owner_replaced(code, known)
    if replaced is not None:
        return replaced
    # What nothing in the sources makes first may be a library's, which may set it anew.
    is_clear = "make" in found and bool(found["add"])
    return Structure("unbounded") if is_clear and all(_is_lasting(use, runs) for use in found["add"]) else UNKNOWN


def _does(use: Use, uses: Uses, runs: Runs) -> str:
    """What a use does to the graph: "make", "add", "end", "unknown", or "" for nothing."""
    parent, field = use.module.parent(use.node)
    if isinstance(parent, ast.AugAssign) and field == "target":
        return "" if runs.is_set_up(use) else "add"
    if use.kind == "reset":
        return "end"
    if use.kind == "escape" and called_name(use.node) == "setattr":
        return "unknown"  # by a name that may be its
    if use.kind != "assign" or isinstance(use.node, ast.Subscript):
        return ""  # what is put into a part of it is told apart
    if runs.is_making(use.module, use.node):
        return "make"
    olds = [] if use.detail is None else [node for node in ast.walk(use.detail) if node in uses.denoting]
    if not olds:
        # What it is computed of may be made of the old value in turn.
        return "end" if use.detail is None or is_fresh(use.detail) else "unknown"
    return "add" if all(_leads_on(use, node) for node in olds) else "unknown"


def _is_lasting(use: Use, runs: Runs) -> bool:
    """Whether it goes on as long as the loop does."""
    is_phase = runs.is_phase(use.module, use.node)
    return not is_phase and not any(may_cease(guard) for _, guard in runs.guards(use))


def is_fresh(value: ast.expr) -> bool:
    """Whether it is made of nothing that was there before."""
    is_empty = isinstance(value, ast.Tuple) and not value.elts
    return is_empty or isinstance(value, ast.Constant) or called_name(value) in _MAKING


def _leads_on(use: Use, node: ast.AST) -> bool:
    """Whether what is assigned is made of an old value with its graph."""
    while node is not use.detail:
        parent, field = use.module.parent(node)
        if isinstance(parent, ast.Attribute):
            call, _ = use.module.parent(parent)
            if parent.attr not in _METHODS or not isinstance(call, ast.Call):
                return False
            parent = call
        elif isinstance(parent, ast.Call):
            name = called_name(parent)
            if field != "args" or first_name(parent.func) not in _LIBRARIES or name in ("tensor", "as_tensor"):
                return False
        elif not isinstance(parent, _ON):
            return False
        node = parent
    return True


def _expressions_of(slot: Slot, uses: Uses, code: UserCode) -> Iterator[tuple[Module, ast.expr]]:
    modules = {module for name in slot.names for module in code.mentioning(name.name)[0]}
    return ((module, node) for module in modules for node in module.nodes if node in uses.denoting)  # type: ignore[misc]


def _added_in_place(slot: Slot, uses: Uses, code: UserCode, runs: Runs) -> list[Use]:
    """Arithmetic of its methods, `self.total.add_(loss)`, and what is put into a part of it, `self.window[i] = hidden`:
    a node of either leads to the one before it."""
    found = []
    for module, node in _expressions_of(slot, uses, code):
        parent, field = module.parent(node)
        above, _ = (None, "") if parent is None else module.parent(parent)
        is_method = isinstance(parent, ast.Attribute) and parent.attr in IN_PLACE and isinstance(above, ast.Call)
        is_put = isinstance(parent, ast.Subscript) and field == "value" and isinstance(parent.ctx, ast.Store)
        use = Use("put", module, node)
        if (is_method or is_put) and not runs.is_set_up(use):
            found.append(use)
    return found


def _is_cut_in_place(slot: Slot, uses: Uses, code: UserCode) -> bool:
    """Whether a method changes it in place in another way than by arithmetic, as `detach_()` does."""
    methods = (module.parent(node) for module, node in _expressions_of(slot, uses, code))
    return any(
        isinstance(method, ast.Attribute) and method.attr.endswith("_") and method.attr not in IN_PLACE
        for method, _ in methods
    )
