# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A file in the memory of the process that started this one, which the user's code may close, and know nothing of."""

from __future__ import annotations

import os


class KeptFile:
    """Opened anew from the parent where its descriptor was closed, or is now another file's."""

    def __init__(self, descriptor: int) -> None:
        """`descriptor`: as it was inherited; children do not inherit it."""
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor
        self._identity = _identity_of(descriptor)
        self._path = f"/proc/{os.getppid()}/fd/{descriptor}"

    @property
    def descriptor(self) -> int | None:
        """None where the parent has ended, too."""
        if _identity_of(self._descriptor) == self._identity:
            return self._descriptor
        try:
            opened = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return None
        if _identity_of(opened) != self._identity:
            os.close(opened)
            return None
        self._descriptor = opened
        return opened


def _identity_of(descriptor: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino
