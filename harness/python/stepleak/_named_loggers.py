# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Loggers as a program reaches them: by their names, and not over another one, through which all can be found."""

from __future__ import annotations

import logging
from typing import Any

from stepleak._objects import is_a, key_text, namespace_of

TABLE = "loggerDict"
"""Logging's table of all loggers, by their names."""


def asked_for(objects: list[Any]) -> tuple[int, str]:
    """Where on a way the last logger lies to which logging's table leads, and what returns it; -1 where there is none.

    Whatever that way begins with: the first module that has some logger leads there.
    """
    for at in range(len(objects) - 1, 0, -1):
        if is_a(objects[at], logging.Logger) and is_table(objects[:at]):
            found = (name for name, logger in list(dict.items(objects[at - 1])) if logger is objects[at])
            return at, f"logging.getLogger({key_text(next(found, ''))})"
    return -1, ""


def registered(objects: list[Any]) -> int:
    """Where in a chain of objects the last logger lies that logging's table has: this keeps it, whatever takes its
    place in a variable. -1 where there is none."""
    for at in range(len(objects) - 1, -1, -1):
        if is_a(objects[at], logging.Logger):
            known = dict.values(logging.Logger.manager.loggerDict)
            return at if any(logger is objects[at] for logger in list(known)) else -1
    return -1


def is_table(objects: list[Any]) -> bool:
    """Whether a chain of objects leads to logging's table of all loggers, which lives as long as the program."""
    managers = (item for item in objects[-3:-1] if is_a(item, logging.Manager))
    return any(dict.get(namespace_of(manager) or {}, TABLE) is objects[-1] for manager in managers)
