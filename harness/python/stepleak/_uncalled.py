# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a step may return in place of running it: a function whose parentheses are missing, an iterator or a context
manager at rest."""

from __future__ import annotations

import functools
import inspect
import itertools
import types
from typing import Any

from stepleak._objects import qualname_of, type_name

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)
_CALLABLES = (*_FUNCTIONS, types.MethodType, functools.partial)
_ITERATORS = (
    map,
    filter,
    zip,
    enumerate,
    type(iter(int, 1)),  # calls a function until it gives that
    itertools.accumulate,
    itertools.chain,
    itertools.dropwhile,
    itertools.filterfalse,
    itertools.groupby,
    itertools.islice,
    itertools.starmap,
    itertools.takewhile,
)

# Exactly these: a module, a class or an object with __call__ may be the outcome of a step.
TYPES = (*_CALLABLES, *_ITERATORS)


def is_entered(kind: type) -> bool:
    """Whether it is for `with`; asks none of its code."""
    return any(inspect.getattr_static(kind, name, None) is not None for name in ("__enter__", "__aenter__"))


def note_on(returned: Any) -> str:
    """Of steps that each returned something like it, and of which nothing was seen."""
    if is_entered(type(returned)):
        what = (
            f"a context manager ({qualname_of(type(returned))[:200]}), and stepleak does not enter what a step returns"
        )
        remedy = "use it in the step: `with ...: pass`"
    elif isinstance(returned, _CALLABLES):
        what = f"{_name(returned)}, and stepleak does not call what a step returns"
        remedy = "are its parentheses missing?"
    else:
        what = f"a {type_name(returned)} iterator, which runs nothing until something takes from it"
        remedy = "run it in the step: for example `for _ in batches(): pass`"
    return f"each step made no tensor and returned {what}, so perhaps nothing was judged: {remedy}"


def _name(function: Any) -> str:
    """Asks only functions: any object may be in a partial, and its attributes may be code."""
    if type(function) is functools.partial:
        function = function.func
    if type(function) is types.MethodType:
        function = function.__func__
    name = function.__qualname__ if type(function) in _FUNCTIONS else qualname_of(type(function))
    return str(name)[:200]
