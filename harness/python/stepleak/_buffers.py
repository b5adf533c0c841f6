# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Finds buffers that grow: strings, byte arrays, arrays and files in memory, which hold bytes and no objects.

Most of them the collector does not track, and one that takes the place of a smaller one (`log += text`) is a new object
each time: what grows is what its owner holds.
"""

from __future__ import annotations

import gc
import io
from array import array
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from stepleak._frames import ReadLocals, running_frames
from stepleak._heap import slots_holding
from stepleak._limit import TimeLimit
from stepleak._objects import class_namespace_of, container_kind, is_one_of, length_of, mro_of
from stepleak._unseen import array_type, array_types, base_of, is_own_buffer

_LEAST_BYTES = 4096
"""Of a buffer that is looked at: what a step leaves is a multiple of this by the time a leak is recorded."""

_itemsize_of: Callable[[Any], int] = array.__dict__["itemsize"].__get__
_SIZES: dict[type, Callable[[Any], int]] = {
    bytearray: bytearray.__len__,
    bytes: bytes.__len__,
    str: str.__len__,
    array: lambda item: array.__len__(item) * _itemsize_of(item),
    # The position, behind what was written last; that of a closed file raises.
    io.BytesIO: io.BytesIO.tell,
    io.StringIO: io.StringIO.tell,
}

_Slot = tuple[int, int | str]
"""What holds a buffer: the `id` of an object and which of its referents, or of a frame and the name of its variable."""


@dataclass(frozen=True)
class Buffer:
    """What a slot holds; of a list, a deque or a set the largest in it, since items move."""

    item: Any
    size: int
    length: int = -1
    """Entries of the owner, where that is a container."""
    owner: Any = None
    """The owner, where the collector does not track it: a dict of plain values. Else None."""
    growth: int = 0


class Buffers:
    """One comparison around one record pass: `begin()` before it, `grown()` after it. Runs no code of the user's."""

    def __init__(self, read_locals: ReadLocals) -> None:
        self._read_locals = read_locals
        self._before: dict[_Slot, tuple[int, int]] = {}

    def begin(self, limit: TimeLimit) -> None:
        """Remembers the size of every large buffer by its slot. Raises OutOfTimeError, and remembers none then."""
        self._before = {}
        self._before = {slot: (buffer.size, buffer.length) for slot, buffer in self._held(limit).items()}

    def grown(self, steps: int, limit: TimeLimit) -> list[Buffer]:
        """Buffers that are at least a byte a step larger than what their slot held before; what grew most first.

        A slot that was not there before has not grown, and an owner with more entries than before has got another
        buffer, and no larger one. Raises OutOfTimeError.
        """
        found: dict[int, Buffer] = {}
        for slot, buffer in self._held(limit).items():
            size, length = self._before.get(slot, (buffer.size, buffer.length))
            if buffer.length == length and buffer.size - size >= steps:
                found.setdefault(id(buffer.item), replace(buffer, growth=buffer.size - size))
        return sorted(found.values(), key=lambda buffer: -buffer.growth)

    def forget(self) -> None:
        """Drops what begin() remembered."""
        self._before = {}

    def _held(self, limit: TimeLimit) -> dict[_Slot, Buffer]:
        found: dict[_Slot, Buffer] = {}
        for part in limit.parts(gc.get_objects()):
            for owner, place, item in slots_holding(part, (*_SIZES, *array_types()), _LEAST_BYTES):
                sizer = _sizer_of(type(item))
                size = -1 if sizer is None or is_own_buffer(owner, item) else _size(sizer, item)
                if size >= _LEAST_BYTES:
                    is_moving = container_kind(owner) not in (None, dict)
                    buffer = Buffer(item, size, length_of(owner), None if gc.is_tracked(owner) else owner)
                    _add(found, (id(owner), 0 if is_moving else place), buffer)
        for frame in running_frames():
            for name, value in self._read_locals(frame):
                sizer = _sizer_of(type(value))
                if sizer is not None and _size(sizer, value) >= _LEAST_BYTES:
                    _add(found, (id(frame), name), Buffer(value, _size(sizer, value)))
        return found


def _add(found: dict[_Slot, Buffer], slot: _Slot, buffer: Buffer) -> None:
    if slot not in found or found[slot].size < buffer.size:
        found[slot] = buffer


def _sizer_of(kind: type) -> Callable[[Any], int] | None:
    """What tells the bytes (of text: the characters) in a buffer of this type; None of other types."""
    bases = mro_of(kind)
    known = next((base for base in bases if is_one_of(base, _SIZES)), None)
    if known is not None:
        return _SIZES[known]
    of_numpy = array_type()
    if not is_one_of(of_numpy, bases):
        return None
    bytes_of = class_namespace_of(of_numpy)["nbytes"].__get__
    return lambda item: -1 if base_of(item) is not None else bytes_of(item)  # a view owns nothing


def _size(sizer: Callable[[Any], int], item: Any) -> int:
    try:
        return sizer(item)
    except ValueError:
        return -1
