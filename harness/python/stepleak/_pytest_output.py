# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What pytest keeps in memory of a test's output (`--capture=sys`, `capsys`): of repeated steps, the newest's."""

from __future__ import annotations

import sys

from _pytest.capture import CaptureIO


class StepOutput:
    """Made before the first step; `forget()` is called before each."""

    def __init__(self) -> None:
        files = [file for file in (sys.stdout, sys.stderr) if isinstance(file, CaptureIO)]
        self._before = [(file, file.tell()) for file in files]

    def forget(self) -> None:
        """Drops what was written since it was made. What the step has read itself (`capsys.readouterr()`) is gone."""
        for file, end in self._before:
            if file.tell() > end:
                file.seek(end)
                file.truncate()
