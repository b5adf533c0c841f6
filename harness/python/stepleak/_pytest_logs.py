# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What pytest keeps of logging: a test's records, until it is over. Of repeated steps it keeps those of the newest."""

from __future__ import annotations

import io
import logging

from _pytest.logging import LogCaptureHandler


class StepLogs:
    """Made before the first step; `forget()` is called before each."""

    def __init__(self) -> None:
        handlers = [h for h in logging.getLogger().handlers if isinstance(h, LogCaptureHandler)]
        self._before = [(handler, len(handler.records), handler.stream.tell()) for handler in handlers]

    def forget(self) -> None:
        """Drops what was logged since it was made. What the step has cleared itself (`caplog.clear()`) is let be."""
        for handler, records, end in self._before:
            del handler.records[records:]
            handler.stream.truncate(end)  # a shorter one stays as it is
            handler.stream.seek(0, io.SEEK_END)
