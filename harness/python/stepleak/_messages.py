# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a watched script's process tells the command line: lines in a file in memory, which outlives it."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from stepleak._kept_file import KeptFile


def _imported(name: str) -> Any:
    """A module of Python's, left for the script to import: it may have one of its own of that name."""
    is_new = name not in sys.modules
    module = importlib.import_module(name)
    if is_new:
        del sys.modules[name]
    return module


mmap, resource = _imported("mmap"), _imported("resource")

_ROOM = 1 << 24
"""Bytes that may be written whatever limit the script sets; a result with its ledgers has some thousand a step."""


class Messages:
    """The script may limit how large files become (RLIMIT_FSIZE): who writes more gets SIGXFSZ, which ends a process
    that does not ignore it. What is mapped is not limited, so the file has room from before the script on.
    """

    def __init__(self, file: KeptFile) -> None:
        self._file = file
        self._end = 0
        self._room = 0
        descriptor = file.descriptor
        if descriptor is not None:
            self._make_room(descriptor, min(_ROOM, _most_bytes()))

    def write(self, data: bytes) -> None:
        """Raises OSError where there is no room for it, and has written nothing then."""
        descriptor = self._file.descriptor
        if descriptor is None:
            return
        begin, end = self._end, self._end + len(data)
        self._make_room(descriptor, end)
        if end <= _most_bytes():
            while begin < end:
                begin += os.pwrite(descriptor, data[begin - end :], begin)
        else:
            page = begin - begin % mmap.ALLOCATIONGRANULARITY
            with mmap.mmap(descriptor, end - page, offset=page) as mapped:
                mapped[begin - page :] = data
        self._end = end

    def _make_room(self, descriptor: int, size: int) -> None:
        if size <= self._room:
            return
        if size > _most_bytes():
            raise OSError("the script limits how large a file may be")
        os.ftruncate(descriptor, size)
        self._room = size


def _most_bytes() -> int:
    most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return sys.maxsize if most == resource.RLIM_INFINITY else int(most)
