# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Finds buffers that grow: strings, byte arrays, arrays and files in memory, which hold bytes and no objects.

Most of them the collector does not track, and one that takes the place of a smaller one (`log += text`) is a new object
each time: what grows is what its owner holds. Where the owner is a new object each time as well (`frame =
pd.concat([frame, rows])`), what grew is told by the owners of its type: as many are gone as came.
"""

from __future__ import annotations

import gc
import io
import sys
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from stepleak._frames import ReadLocals, running_frames
from stepleak._heap import slots_holding
from stepleak._limit import TimeLimit
from stepleak._objects import class_namespace_of, container_kind, is_one_of, length_of, mro_of
from stepleak._unseen import array_type, array_types, base_of, is_array, is_own_buffer

_LEAST_BYTES = 4096
"""Of a buffer that is looked at: what a step leaves is a multiple of this by the time a leak is recorded."""

_REFERENCES_TO_BASE = 3
"""To the array whose memory a single other one shows: that one's, and those of the variable and the question here."""

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
_Kind = tuple[int, int]
"""What slots of several objects have in common: the `id` of the objects' type, and which of the referents."""


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
    is_of_new: bool = False
    """Whether its owner took the place of another one while steps were recorded."""


class Buffers:
    """One comparison around one record pass: `begin()` before it, `grown()` after it. Runs no code of the user's."""

    def __init__(self, read_locals: ReadLocals) -> None:
        self._read_locals = read_locals
        self._before: dict[_Slot, tuple[int, int]] = {}
        self._kinds: dict[_Slot, _Kind] = {}

    def begin(self, limit: TimeLimit) -> None:
        """Remembers the size of every large buffer by its slot. Raises OutOfTimeError, and remembers none then."""
        self.forget()
        kinds: dict[_Slot, _Kind] = {}
        self._before = {slot: (buffer.size, buffer.length) for slot, buffer in self._held(limit, kinds).items()}
        self._kinds = kinds

    def grown(self, steps: int, limit: TimeLimit, born: Collection[int] = ()) -> list[Buffer]:
        """Buffers that are at least a byte a step larger than what their slot held before; what grew most first.

        A slot that was not there before has not grown, unless its owner took the place of another one, and an owner
        with more entries than before has got another buffer, and no larger one. `born`: the `id` of each object that
        was made since. Raises OutOfTimeError.
        """
        found: dict[int, Buffer] = {}
        kinds: dict[_Slot, _Kind] = {}
        held = self._held(limit, kinds)
        for slot, buffer in held.items():
            size, length = self._before.get(slot, (buffer.size, buffer.length))
            if slot[0] not in born and buffer.length == length and buffer.size - size >= steps:
                found.setdefault(id(buffer.item), replace(buffer, growth=buffer.size - size))
        for buffer in self._larger_than_gone(held, kinds, born):
            if buffer.growth >= steps:
                found.setdefault(id(buffer.item), buffer)
        return sorted(found.values(), key=lambda buffer: -buffer.growth)

    def forget(self) -> None:
        """Drops what begin() remembered."""
        self._before, self._kinds = {}, {}

    def _larger_than_gone(
        self, held: dict[_Slot, Buffer], kinds: dict[_Slot, _Kind], born: Collection[int]
    ) -> Iterator[Buffer]:
        """Of owners that were born, with what they hold more than those of their type that are gone: the largest took
        the place of the largest. Of none where not as many came as went, since some of them then took no place."""
        came: dict[_Kind, list[Buffer]] = defaultdict(list)
        gone: dict[_Kind, list[int]] = defaultdict(list)
        for slot, kind in kinds.items():
            if slot[0] in born:
                came[kind].append(held[slot])
        for slot, kind in self._kinds.items():
            if slot[0] in born or slot not in kinds:
                gone[kind].append(self._before[slot][0])
        for kind, buffers in came.items():
            if len(buffers) == len(gone[kind]):
                buffers.sort(key=lambda buffer: buffer.size)
                for buffer, size in zip(buffers, sorted(gone[kind]), strict=True):
                    yield replace(buffer, growth=buffer.size - size, is_of_new=True)

    def _held(self, limit: TimeLimit, kinds: dict[_Slot, _Kind]) -> dict[_Slot, Buffer]:
        """`kinds`: is given those of the slots of objects that are no containers."""
        found: dict[_Slot, Buffer] = {}
        for part in limit.parts(gc.get_objects()):
            for owner, place, item in slots_holding(part, (*_SIZES, *array_types()), _LEAST_BYTES):
                sizer = _sizer_of(type(item))
                size = -1 if sizer is None or is_own_buffer(owner, item) else _size(sizer, item)
                if size >= _LEAST_BYTES:
                    is_moving = container_kind(owner) not in (None, dict)
                    buffer = Buffer(item, size, length_of(owner), None if gc.is_tracked(owner) else owner)
                    _add(found, (id(owner), 0 if is_moving else place), buffer)
                    if container_kind(owner) is None and gc.is_tracked(owner):
                        kinds[id(owner), place] = (id(type(owner)), place)
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
    # A view owns nothing, but for what it alone shows.
    return lambda item: bytes_of(item) if _is_its_own(item) else -1


def _is_its_own(array: Any) -> bool:
    """Whether nothing but this array has its memory, or shows that of one to which nobody else refers."""
    base = base_of(array)
    return base is None or (is_array(base) and base_of(base) is None and sys.getrefcount(base) <= _REFERENCES_TO_BASE)


def _size(sizer: Callable[[Any], int], item: Any) -> int:
    try:
        return sizer(item)
    except ValueError:
        return -1
