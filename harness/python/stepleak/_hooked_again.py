# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Hooks that steps add again and again, where what they gather grows faster than their number."""

from __future__ import annotations

from typing import Any

from stepleak._objects import code_of, container_kind, items_of, namespace_of
from stepleak._runs import Runs
from stepleak._use import Use
from stepleak._user_code import UserCode

_FEWEST = 3
"""Hooks of one function on one object: a second one may be meant."""


def table_of_hooks(objects: list[Any], code: UserCode) -> Any:
    """A table of hooks on a way, which leads through one of several that the same function of the user's is; None where
    the sources show no line that adds such a hook in a step. What one of them gathers goes with it.
    """
    for at in range(2, len(objects) - 1):
        table, hook = objects[at], code_of(objects[at + 1])
        if hook is None or container_kind(table) is not dict:
            continue
        name = _name_in(objects[at - 2], objects[at - 1], table)
        if not name.endswith("_hooks") or sum(code_of(entry) is hook for entry in items_of(table)) < _FEWEST:
            continue
        return table if _is_added_in_steps(name, code) else None
    return None


def _name_in(owner: Any, namespace: Any, held: Any) -> str:
    own = namespace_of(owner)
    names = [] if own is None or own is not namespace else list(dict.items(own))
    return next((str(name) for name, value in names if value is held), "")


def _is_added_in_steps(name: str, code: UserCode) -> bool:
    kind = name.strip("_").removesuffix("s")
    runs = Runs(code)
    adding = [
        (module, call)
        for module in code.mentioning(kind)[0]
        for called, calls in list(module.calls.items())
        if called.startswith("register_") and kind in called
        for call in calls
    ]
    return any(
        not (runs.is_set_up(Use("fill", *call)) or runs.is_once(*call) or runs.is_phase(*call)) for call in adding
    )
