# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which of several events ends a step: two optimizers of a GAN, five steps of a critic to one of a generator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

# A longer pattern than half of these is none: each event of the most frequent kind then ends a step.
_MOST_EVENTS = 128


class StepCycle:
    """Finds the shortest repeating pattern in a stream of events, while they come.

    The rarest event of the pattern ends a step, of several as rare the last one. A new kind of event, or a closing one
    that stays away, has the pattern searched anew; until another is found the old one holds.
    """

    def __init__(self) -> None:
        self.closing: Hashable = None
        """The event that ends a step; None until a pattern was found."""
        self.pattern: tuple[Hashable, ...] = ()
        self.is_regular = True
        """False where no pattern was found, and the most frequent event was taken."""
        self._recent: list[Hashable] = []
        self._known: set[Hashable] = set()
        self._newest_at = 0  # where in the recent events the newest kind came first
        self._is_searching = True
        self._since_closing = 0

    def ends_step(self, event: Hashable) -> bool:
        """Takes the next event; whether it ends a step. The first that does is the one that completes the pattern."""
        if event not in self._known:
            self._known.add(event)
            if not self._is_searching:
                self._search_from([])
            self._newest_at = len(self._recent)
        self._since_closing = 0 if event == self.closing else self._since_closing + 1
        if not self._is_searching and self._since_closing > 4 * len(self.pattern) + 8:
            self._search_from([])
        if self._is_searching:
            self._recent.append(event)
            self._search()
        return self.closing is not None and event == self.closing

    def _search_from(self, recent: list[Hashable]) -> None:
        self._is_searching, self._recent, self._newest_at = True, recent, 0

    def _search(self) -> None:
        events = self._recent
        for length in range(1, len(events) // 2 + 1):
            window = events[-max(2 * length, len(events) - self._newest_at) :]
            if all(a == b for a, b in zip(window, window[length:], strict=False)):
                self._take(tuple(events[-length:]), is_regular=True)
                return
        if len(events) >= _MOST_EVENTS:
            self._take(tuple(events), is_regular=False)

    def _take(self, pattern: tuple[Hashable, ...], *, is_regular: bool) -> None:
        counts = Counter(pattern)
        wanted = min(counts.values()) if is_regular else max(counts.values())
        self.closing = next(event for event in reversed(pattern) if counts[event] == wanted)
        self.pattern, self.is_regular = pattern, is_regular
        self._is_searching, self._recent, self._since_closing = False, [], 0
