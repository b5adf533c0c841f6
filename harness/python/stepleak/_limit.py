# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The time that a search may take: among millions of objects one would outlive the run that it explains."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

_AT_ONCE = 1 << 14


class OutOfTimeError(Exception):
    """The search is to end with what it has."""


class TimeLimit:
    """Begins when it is made."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.is_over = False
        """Whether a search has been cut short by it."""
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        """Raises where the time is over."""
        self.is_over = self.is_over or time.monotonic() >= self._end
        if self.is_over:
            raise OutOfTimeError

    def parts(self, items: list[Any], at_once: int = _AT_ONCE) -> Iterator[tuple[Any, ...]]:
        """A long list in parts, as long as there is time."""
        for begin in range(0, len(items), at_once):
            self.check()
            yield tuple(items[begin : begin + at_once])
