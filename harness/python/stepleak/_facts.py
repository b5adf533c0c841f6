# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the sources do with one container: its uses, and all who can be asked about them."""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import Any

from stepleak._bounds import Bounds
from stepleak._counters import Counters
from stepleak._ended_threads import EndedThreads
from stepleak._endings import Endings
from stepleak._flags import Flags
from stepleak._latches import Latches, is_idle
from stepleak._objects import all_class_names, all_classes_of, class_attributes_of, is_a
from stepleak._passed import follow_origins
from stepleak._places import Places
from stepleak._runs import Runs
from stepleak._slots import Slot
from stepleak._structure import UNKNOWN, Structure, at
from stepleak._unseen import length_of
from stepleak._use import Name, Use
from stepleak._used_up import UsedUp
from stepleak._user_code import OwnerClasses, UserCode
from stepleak._uses import Uses
from stepleak._values import Values


class Facts:
    """Of the last one of `objects`, each of which leads to the next. `slots`: of these, the innermost first.
    `is_as_long`: whether it is known to have as many entries as before, though it has got new ones. `container`: the
    last one, or the one that it stands for, as a `UserDict` does."""

    def __init__(self, objects: list[Any], code: UserCode, slots: list[Slot], is_as_long: bool, container: Any) -> None:
        self.container = container
        self._known_as = objects[-1]
        self.is_as_long = is_as_long
        self.code = code
        self.slots = slots
        self.slot = slots[0]
        own, methods = all_class_names(objects[-1]), frozenset(class_attributes_of(objects[-1]))
        self.uses = Uses(code, OwnerClasses(code, self.slot.owner), own, methods)
        self.owner_classes = [OwnerClasses(code, slot.owner) for slot in slots if slot.owner is not None]
        """Of each object on the way that has an attribute leading to the next."""
        within = self.slot.names[0].scope if self.slot.is_suspended else None
        self.runs = Runs(code, is_closure=self.slot.is_closure, within=within)
        self.places = Places(code, self.uses, self.runs)
        self.values = Values(code, objects)
        self.counters = Counters(code, objects, self.places.is_length, self.uses.lengths)
        self.endings = Endings(code, objects, self.counters)
        self.bounds = Bounds(code, objects, self.places.is_length)
        self.latches = Latches(code, self.endings, self.runs)
        self.used_up = UsedUp(code, self.runs)
        self.flags = Flags(code, self.counters, self.endings, self.runs, self.used_up)
        self.threads = EndedThreads(code, objects, self.runs)
        self.is_sequence = not is_a(self.container, (dict, set))  # type: ignore[arg-type]

    def follow(self) -> None:
        """Follows the container under all its names. Before anything else is asked."""
        slot = self.slot
        names = list(slot.names)
        for kind in all_classes_of(self._known_as):
            names += [Name("self", "", (), m, c) for m, c in self.code.definitions(kind)]
        self.uses.follow(names)
        for name in slot.names:
            if name.module is not None and name.scope is not None and self.places.is_parameter(name):
                self.uses.origin_of_parameter(name.module, name.scope, name.name, name.keys)
        for home, keyword in self.places.keywords(slot):
            self.uses.origin(home, keyword, slot.names[0].keys)
        if slot.is_passed:
            follow_origins(self.uses, self.code, slot.names[0])
        self.uses.follow([])
        self.places.find_lengths()

    def resolved(self) -> list[Use]:
        """The uses, with each assignment and each item that is set taken for what it does."""
        found = []
        for use in self.uses.found:
            kind, detail = use.kind, use.detail
            if kind == "assign":
                kind, detail = self.places.assigned(use)
                kept_as = self.uses.kept_as.get(use.node, use.node)
                is_made = self.runs.is_making(use.module, kept_as) or self.places.is_copied(use)
                if kind == "reset" and (is_made or self.places.is_empty_before(use)):
                    kind = "make"
            elif kind == "put" and not self.is_sequence:
                kind = "fill"
            elif kind == "index" and (self.asks_itself() or (not self.is_sequence and self.places.is_tried(use))):
                kind = "ask"
            found.append(Use(kind, use.module, use.node, detail, use.is_sure))
        return found

    def asks_itself(self) -> bool:
        """Whether asking it for an item that is not there makes one."""
        return is_a(self.container, defaultdict) or "__missing__" in class_attributes_of(self.container)

    def is_idle(self, use: Use) -> bool:
        """Whether no step does it."""
        is_shut = is_idle(use, self.runs, self.endings) or self.latches.is_shut(use.module, use.node)
        return is_shut or self.threads.has(use.module, use.node)

    def is_fresh(self, fill: Use) -> bool:
        """Whether each key under which it is filled there is another one."""
        if isinstance(fill.detail, ast.Dict):
            keys = [key for key in fill.detail.keys if key is not None]
            return bool(keys) and all(self.counters.never_repeats(fill.module, k, self.runs.is_once) for k in keys)
        parent, _ = fill.module.parent(fill.node)
        statement = fill.module.statement(fill.node)
        is_merged = isinstance(statement, ast.AugAssign) and statement.target is fill.node
        if is_merged or (isinstance(parent, ast.Attribute) and parent.attr in ("update", "extend")):
            return False
        return self.counters.never_repeats(fill.module, fill.detail, self.runs.is_once)

    def at(self, kind: str, use: Use, bound: int = -1) -> Structure:
        """With the line of a use."""
        if kind == "bounded" and 0 < 2 * bound < length_of(self.container):
            # The line is there, and does not run: what it would leave says nothing.
            return UNKNOWN
        return at(kind, use, bound)
