# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""stepleak: does memory that a training step takes ever stop growing, and if not, who keeps it?

    import stepleak
    stepleak.assert_no_leak(step)          # raises LeakError with the report
    result = stepleak.check(step)          # or look for yourself

One check or watch at a time: the memory that is watched is the whole process's. Another one, in a step or from another
thread, raises UsageError at once.
"""

from __future__ import annotations

# As of `typing`, whose import would take longer than all of this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from stepleak import scenario as scenario
    from stepleak._check import Interrupted, LeakError, Result, Watch, assert_no_leak, check, watch
    from stepleak._declared import bounded
    from stepleak._load import UsageError
    from stepleak._on_leak import LeakWarning

__all__ = [
    "Interrupted",
    "LeakError",
    "LeakWarning",
    "Result",
    "UsageError",
    "Watch",
    "assert_no_leak",
    "bounded",
    "check",
    "watch",
]

# Where they are which are not in `_check`.
_HOMES = {"LeakWarning": "_on_leak", "UsageError": "_load", "bounded": "_declared"}


# Hidden from type checkers, for which a module with it has whatever one asks for.
if not TYPE_CHECKING:

    def __getattr__(name):
        """What is public, once it is asked for: a program that imports stepleak may never judge a step, and the command
        line starts by importing it."""
        import importlib

        if name == "scenario":
            return importlib.import_module("stepleak.scenario")
        if name not in __all__:
            raise AttributeError(f"module 'stepleak' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"stepleak.{_HOMES.get(name, '_check')}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
