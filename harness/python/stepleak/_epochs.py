# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""One watch over all epochs: `for batch in stepleak.watch(loader)` makes one anew in each, which is too short alone."""

from __future__ import annotations

import os
from typing import Any

_kept: Any = None


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
