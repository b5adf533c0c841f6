# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""One watch over all epochs: `for batch in stepleak.watch(loader)` makes one anew in each, which is too short alone."""

from __future__ import annotations

import contextlib
import os
import types
import weakref
from typing import Any

_kept: Any = None
_judged: dict[tuple[int, int], tuple[weakref.ref[Any], types.CodeType, Any]] = {}
"""Results of loops that a verdict stands for, by their loader and the code that loops over it."""


def going_on_over(loader: Any) -> Any:
    """The watch over the same loader, where it has not decided yet; else None, and what was kept has ended."""
    if _kept is not None and _kept.is_over(loader):
        return _kept
    end()
    return None


def keep(watch: Any) -> Any:
    """Until it has decided, another watch begins, or the program ends."""
    global _kept
    _kept = watch
    return watch


def remember(loader: Any, code: types.CodeType, result: Any) -> None:
    """That a verdict stands: the loop's further epochs are not watched. A cell that is run again is another loop."""
    key = (id(loader), id(code))
    with contextlib.suppress(TypeError):  # of a list, say: to know it again would be to keep it alive
        _judged[key] = weakref.ref(loader, lambda _: _judged.pop(key, None)), code, result


def result_of(loader: Any, code: types.CodeType) -> Any:
    """Of the same loop's epochs before; None where no verdict stands."""
    of, _, result = _judged.get((id(loader), id(code)), (None, None, None))
    return result if of is not None and of() is loader else None


def forget(watch: Any) -> None:
    global _kept
    if _kept is watch:
        _kept = None


def end() -> None:
    """Of a loop that is over; one that still runs has its watch."""
    if _kept is not None and not _kept.is_in_loop:
        _kept.headline_at_exit()
        forget(_kept)


def _forget_in_child() -> None:
    global _kept
    _kept = None


os.register_at_fork(after_in_child=_forget_in_child)
