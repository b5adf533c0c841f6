# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What pytest collects of exceptions that nobody catches, of threads and of finalizers, until a test is over.

Of repeated steps it keeps the first, so that what only some raise is told, and those of the newest.
"""

from __future__ import annotations

from typing import Any

import pytest
from _pytest import threadexception, unraisableexception


class StepErrors:
    """Made before the first step; `forget()` is called before each."""

    def __init__(self, config: pytest.Config) -> None:
        keys: list[Any] = [
            getattr(threadexception, "thread_exceptions", None),
            getattr(unraisableexception, "unraisable_exceptions", None),
        ]
        collected = [config.stash.get(key, None) for key in keys if key is not None]
        self._before = [(errors, len(errors)) for errors in collected if errors is not None]

    def forget(self) -> None:
        for errors, before in self._before:
            while len(errors) > before + 1:
                errors.pop()
