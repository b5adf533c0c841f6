# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a rule of another tool is: a decision over a recording, its source, and what it can see at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from recording import Recording

LEAK, CLEAN, UNDECIDED = "leak", "clean", "undecided"

OUTSIDE_OF_TENSORS = frozenset({"host_heap", "raw_cuda", "pinned_host", "fragmentation_drift", "stuck_free"})
"""Kinds of leaks of which an allocator's count of live bytes shows nothing."""

OFF_THE_HOST = frozenset({"raw_cuda", "pinned_host", "fragmentation_drift", "stuck_free"})


@dataclass(frozen=True)
class Outcome:
    """A verdict, and the steps that it took."""

    verdict: str
    steps: int


class Reach(Enum):
    """What a tool looks at."""

    tensors = "tensors"
    host = "host memory"
    python = "Python's objects"

    def covers(self, kinds: tuple[str, ...], *, is_cpp: bool, device: str) -> bool:
        """Whether a leak of these kinds (none: a healthy step) could be seen at all."""
        if self is Reach.tensors:
            return not kinds or not set(kinds) <= OUTSIDE_OF_TENSORS
        if self is Reach.python and is_cpp:
            return False
        if device != "cpu":
            # The device's memory is not the host's.
            return not kinds or "host_heap" in kinds
        return not kinds or not set(kinds) <= OFF_THE_HOST


@dataclass(frozen=True)
class Rule:
    """One tool's decision as its sources or documents state it."""

    name: str
    reach: Reach
    words: str
    source: str
    judge: Callable[[Recording], Outcome]


def verdict(is_leak: bool) -> str:
    return LEAK if is_leak else CLEAN
