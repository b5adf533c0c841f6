# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What check() and watch() take: told before the core sees it, which would tell of C++ types."""

from __future__ import annotations

import operator
import os
from typing import Any

from stepleak._load import UsageError

# Of a kind, and for numbers between which: what the core can hold. It says itself what makes no sense.
_NUMBERS: dict[str, tuple[type, float, float]] = {
    "steps": (int, -(2**62), 2**62),
    "min_steps": (int, -(2**62), 2**62),
    "threads": (int, -(2**31), 2**31 - 1),
    "period": (int, -(2**62), 2**62),
    "seed": (int, 0, 2**63),
    "budget": (float, float("-inf"), float("inf")),
    "peer_timeout": (float, float("-inf"), float("inf")),
}
_TEXTS = ("target", "device", "effort")
_FILES = ("json", "html", "trace")


def checked(options: dict[str, Any]) -> dict[str, Any]:
    """The same; raises UsageError where one is of another kind, or beyond what the core can hold."""
    for name in _TEXTS:
        value = options[name]
        if not isinstance(value, str):
            raise UsageError(f"{name} is of type {type(value).__name__}", "give a text")
        # A lone surrogate has no UTF-8.
        options[name] = value.encode("utf-8", "backslashreplace").decode("utf-8")
    for name in _FILES:
        try:
            # Where it is now: a loop may go to another folder.
            options[name] = os.fsencode(os.path.abspath(options[name])) if options[name] else b""
        except TypeError:
            raise UsageError(f"{name} is of type {type(options[name]).__name__}", "give a path") from None
    for name, (kind, least, most) in _NUMBERS.items():
        value = options[name]
        try:
            # NumPy's numbers too; but no text that reads as one.
            number = operator.index(value) if kind is int else float(operator.truediv(value, 1))
        except TypeError:
            raise UsageError(f"{name} is of type {type(value).__name__}", "give a number") from None
        if kind is int and not least <= number <= most:
            raise UsageError(f"{name} is {number}", f"give a number from {max(least, 0):.0f} to {most:.0f}")
        options[name] = number
    return options
