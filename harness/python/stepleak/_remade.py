# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that steps make anew out of the ones before, `self.jobs = [job for job in self.jobs if job.runs]`: which
one took the place of which."""

from __future__ import annotations

from typing import Any

from stepleak._objects import first_items

_BEGIN = 3
"""Items by which a container is known again: those that it begins with."""
_FEWEST = 8
"""Of shorter ones too many begin alike: with names, with None, with small numbers."""


class Remade:
    """Of the containers that were there when a pass began, how long each was, by what it began with."""

    def __init__(self) -> None:
        self._lengths: dict[tuple[int, ...], int] = {}

    def see(self, container: Any, length: int) -> None:
        """Before the pass."""
        if length >= _FEWEST:
            begin = _begin_of(container)
            # Of several that begin alike, no other is known to be the successor.
            self._lengths[begin] = length if begin not in self._lengths else -1

    def length_before(self, container: Any) -> int | None:
        """Of the one whose place a container took that was made since; None where that is not known."""
        length = self._lengths.get(_begin_of(container), -1)
        return length if length >= 0 else None


def _begin_of(container: Any) -> tuple[int, ...]:
    return (id(type(container)), *map(id, first_items(container, _BEGIN)))
