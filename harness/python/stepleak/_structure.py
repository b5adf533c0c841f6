# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What bounds a container that grew, as a value: the kind, the most entries, and the line that bounds it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from stepleak._use import Use


@dataclass(frozen=True)
class Structure:
    """What bounds a container, and the line that does."""

    kind: str
    """As `stepleak::StructureType`: "unbounded", "bounded", "reset" and so on."""
    bound: int = -1
    """The most entries that it can hold; -1 where that is not known. Of what lies in no container, but in an attribute
    of an object that was there before it, 1."""
    file: str = ""
    line: int = 0
    text: str = ""


UNKNOWN = Structure("unknown")


def at(kind: str, use: Use, bound: int = -1) -> Structure:
    """With the line of a use."""
    statement = use.module.statement(use.node)
    is_compound = hasattr(statement, "body") or isinstance(statement, ast.Match)
    line = use.node.lineno if is_compound else getattr(statement, "lineno", use.node.lineno)
    return Structure(kind, bound if bound > 0 else -1, use.module.file, line, use.module.line(line))
