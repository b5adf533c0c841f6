# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Weighs what a container has gained: bytes that came from malloc, and small blocks of Python's own allocator.

Events, streams and graphs of torch, which keep an object of CUDA's, are counted.

An entry weighs what it alone leads to. What an older entry of the same container leads to as well (a model, a
configuration) is not its own. Tensors weigh nothing, since they have a ledger of their own, but for memory that they
have from another library. Runs no code of the user's.
"""

from __future__ import annotations

import _thread
import datetime
import decimal
import gc
import io
import itertools
import sys
import threading
import types
import weakref
from array import array
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, replace
from typing import Any

from stepleak import _tensors
from stepleak._limit import TimeLimit
from stepleak._objects import class_namespace_of, container_kind, is_one_of, mro_of, name_of
from stepleak._unseen import array_type, base_of, own_contents_of

_LARGEST_SMALL = 512
"""What is larger comes from malloc: SMALL_REQUEST_THRESHOLD of CPython's Objects/obmalloc.c."""
_TENSOR = 384
"""What malloc hands out for a tensor of another library's memory beside that: a TensorImpl, a StorageImpl, and what its
deleter needs (measured with torch 2.11)."""
_HEADER = 16
"""What the collector puts before an object that it may track."""
_DICT_HEADER = 16
"""And CPython from 3.11 on before one whose dict it manages: that dict, and where its attributes' values are."""
_CHUNK = 16
"""What malloc and Python's own allocator hand out is a multiple of this, and malloc's has 8 bytes more before it."""
_MOST_ENTRIES = 16
"""Of what was gained: a search has several containers to weigh."""
_MOST_OBJECTS = 20_000
_AT_ONCE = 1_000
"""Objects between two looks at the clock."""

_IS_HEAP_TYPE = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: of a class statement, or of an extension that makes its types at run time."""
_IS_COLLECTED = 1 << 14
"""Py_TPFLAGS_HAVE_GC."""
_HAS_MANAGED_DICT = 1 << 4 if sys.version_info >= (3, 11) else 0
"""Py_TPFLAGS_MANAGED_DICT."""
_FROM_STATEMENTS = frozenset(("__dict__", "__weakref__", "__slots__"))
"""One of these is in the namespace of a class that a class statement derives from `object`."""
_basic_size_of: Any = type.__dict__["__basicsize__"].__get__
_base_of: Any = type.__dict__["__base__"].__get__
_flags_of: Any = type.__dict__["__flags__"].__get__
_module_of: Any = type.__dict__["__module__"].__get__
_SIZES: dict[type, Any] = {
    kind: kind.__sizeof__  # type: ignore[attr-defined]
    for kind in (
        *(str, bytes, bytearray, array, int, list, tuple, dict, set, frozenset, deque, OrderedDict),
        *(io.BytesIO, io.StringIO),
        *(types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, type),
    )
}
_ITEMS_APART: frozenset[type] = frozenset(
    (bytearray, array, list, dict, set, frozenset, deque, OrderedDict, io.BytesIO, io.StringIO)
)
_PLAIN_TYPES = frozenset(
    (
        *_SIZES,
        *(object, type(None), defaultdict, bool, float, complex, range, slice, BaseException),
        *(datetime.datetime, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal),
        weakref.ReferenceType,
        *(types.FunctionType, types.MethodType, types.CellType, types.TracebackType, _thread.LockType, _thread.RLock),
    )
)
"""Types written in C whose objects are all that their size and their referents say."""
_SHARED_TYPES = (type, types.ModuleType, types.BuiltinFunctionType, types.CodeType)
_INLINE_TYPES: frozenset[type] = frozenset((str, bytes, int, float, bool, type(None)))


@dataclass(frozen=True)
class Weight:
    """Of what a container gained; at least that much where not all of it could be weighed."""

    heap_bytes: int = 0
    blocks: int = 0
    block_bytes: int = 0
    """Of those blocks."""
    cuda_objects: int = 0
    is_complete: bool = False

    @property
    def bytes(self) -> int:
        return self.heap_bytes + self.block_bytes

    def plus(self, other: Weight) -> Weight:
        """Of both, as far as this one is known."""
        return replace(
            self,
            heap_bytes=self.heap_bytes + other.heap_bytes,
            blocks=self.blocks + other.blocks,
            block_bytes=self.block_bytes + other.block_bytes,
            cuda_objects=self.cuda_objects + other.cuda_objects,
        )

    def times(self, count: int) -> Weight:
        """Of so many that gained as much."""
        return replace(
            self,
            heap_bytes=count * self.heap_bytes,
            blocks=count * self.blocks,
            block_bytes=count * self.block_bytes,
            cuda_objects=count * self.cuda_objects,
        )


UNKNOWN = Weight()


def weight_of_gain(container: Any, growth: int, limit: TimeLimit, born: frozenset[int] = frozenset()) -> Weight:
    """What the newest `growth` entries weigh, by some of them. Raises OutOfTimeError.

    `born`: the `id` of each object that may be one of theirs alone, where that is known; a class is by that only.
    """
    newest, older = _newest_entries(container, min(growth, _MOST_ENTRIES))
    if older is None and not all(is_one_of(type(part), _INLINE_TYPES) for entry in newest for part in entry):
        return UNKNOWN
    scale = _Scale(id(container), limit, born)
    common = scale.add(older or [])
    with_newest = scale.add([part for entry in newest for part in entry])
    if not newest or common is None or with_newest is None:
        return UNKNOWN

    def share(before: int, after: int) -> int:
        return (after - before) * growth // len(newest)

    heap_bytes = share(common.heap_bytes, with_newest.heap_bytes)
    return Weight(
        heap_bytes,
        share(common.blocks, with_newest.blocks),
        share(common.block_bytes, with_newest.block_bytes),
        share(common.cuda_objects, with_newest.cuda_objects),
        with_newest.is_complete,
    )


def weight_of_born(items: list[Any], limit: TimeLimit, born: frozenset[int]) -> Weight:
    """What objects weigh with all that they lead to, of what was born. Raises OutOfTimeError."""
    return _Scale(0, limit, born, is_born_only=True).add(items) or UNKNOWN


def _newest_entries(container: Any, count: int) -> tuple[list[list[Any]], list[Any] | None]:
    """The parts of the last `count` entries, and of the one before them. A set does not tell which is which."""
    kind = container_kind(container)
    if kind is set:
        return [[item] for item in itertools.islice(set.__iter__(container), count)], None
    if kind is dict:
        backwards: Any = reversed(dict.items(container))
    else:
        backwards = ((item,) for item in (list if kind is list else deque).__reversed__(container))  # type: ignore[union-attr]
        # Places that are still free.
        backwards = itertools.dropwhile(lambda entry: entry[0] is None, backwards)
    entries = [list(entry) for entry in itertools.islice(backwards, count + 1)]
    return entries[:count], (entries[count] if len(entries) > count else None)


class _Scale:
    """Weighs each object once, and the container itself not at all."""

    def __init__(self, container: int, limit: TimeLimit, born: frozenset[int], *, is_born_only: bool = False) -> None:
        self._limit = limit
        self._born = born
        self._is_born_only = is_born_only
        self._seen = {container}
        # No such block where PYTHONMALLOC has all of them come from malloc, as the command line does.
        self._largest_small = _LARGEST_SMALL if sys.getallocatedblocks() > 0 else 0
        self._borrowed: set[int] = set()
        self._heap_bytes = 0
        self._blocks = 0
        self._block_bytes = 0
        self._cuda_objects = 0

    def add(self, items: list[Any]) -> Weight | None:
        """The weight of all so far, with these and what they lead to; complete where these were. None: too many."""
        waiting = list(items)
        is_complete = True
        while waiting:
            item = waiting.pop()
            if id(item) in self._seen:
                continue
            self._seen.add(id(item))
            if len(self._seen) > _MOST_OBJECTS:
                return None
            if len(self._seen) % _AT_ONCE == 0:
                self._limit.check()
            kind = type(item)
            is_born = id(item) in self._born
            if not is_born and (issubclass(kind, _SHARED_TYPES) or (self._is_born_only and gc.is_tracked(item))):
                continue
            if _tensors.is_tensor(item):
                self._add_borrowed(item)
                continue
            if kind is types.FrameType:  # an error's: its callers and their variables are not the error's own
                is_complete = False
                continue
            if is_one_of(array_type(), mro_of(kind)):
                self._add_buffers(item)
            self._cuda_objects += _tensors.keeps_cuda_object(kind)
            contents = [] if is_one_of(kind, _INLINE_TYPES) else own_contents_of(item)
            size, apart = _sizes_of(item)
            self._put(size + _size_before(item), self._largest_small)
            self._put(apart, self._largest_small)
            self._put(_size_of_values(item, contents), self._largest_small)
            is_complete = is_complete and (issubclass(kind, type) or _is_known(kind))
            waiting.extend(contents)
        return Weight(self._heap_bytes, self._blocks, self._block_bytes, self._cuda_objects, is_complete)

    def _add_borrowed(self, tensor: Any) -> None:
        address, size = _tensors.borrowed_memory(tensor)
        if size > 0:
            self._heap_bytes += _TENSOR
        if size > 0 and address not in self._borrowed:
            self._borrowed.add(address)
            self._put(size)

    def _add_buffers(self, array: Any) -> None:
        """Its items, where they are its own, and its shape and strides: never of Python's allocator."""
        read = class_namespace_of(array_type())
        if base_of(array) is None:
            self._put(int(read["nbytes"].__get__(array)))
        self._put(2 * 8 * int(read["ndim"].__get__(array)))

    def _put(self, size: int, largest_small: int = 0) -> None:
        if 0 < size <= largest_small:
            self._blocks += 1
            self._block_bytes += -(-size // _CHUNK) * _CHUNK
        elif size > 0:
            self._heap_bytes += max(2, -(-(size + 8) // _CHUNK)) * _CHUNK


def _sizes_of(item: Any) -> tuple[int, int]:
    """Of the object, and of what a container has apart from it, in an allocation of its own."""
    basic = int(_basic_size_of(type(item)))
    base = next((base for base in mro_of(type(item)) if is_one_of(base, _SIZES)), None)
    # object.__sizeof__ would take what is behind the header of any C structure for a number of items.
    if base is None:
        return basic, 0
    size = int(_SIZES[base](item))
    return (basic, size - basic) if is_one_of(base, _ITEMS_APART) else (size, 0)


def _size_before(item: Any) -> int:
    """Of what stands before the object. A tuple or dict that is tracked no more has its header all the same."""
    flags = _flags_of(type(item))
    is_collected = gc.is_tracked(item) or (flags & _IS_COLLECTED and is_one_of(type(item), (tuple, dict)))
    return (_HEADER if is_collected else 0) + (_DICT_HEADER if flags & _HAS_MANAGED_DICT else 0)


def _size_of_values(item: Any, contents: list[Any]) -> int:
    """Of attributes whose dict was never asked for: an array of pointers, with a place or two to spare."""
    if not _flags_of(type(item)) & _HAS_MANAGED_DICT or any(type(held) is dict for held in contents):
        return 0
    count = sum(held is not type(item) for held in contents)
    return (count + 2) * 8 if count > 0 else 0


def _is_known(kind: type) -> bool:
    """Whether objects of this type keep no memory that neither their size nor their referents tell of."""
    for base in mro_of(kind):
        if is_one_of(base, _PLAIN_TYPES) or base is array_type() or _module_of(base) == "numpy":
            return True
        # What is below a class statement's class decides. A binding's class keeps an object of C++, a thread its stack.
        if base is threading.Thread:
            return False
        if not _flags_of(base) & _IS_HEAP_TYPE or name_of(type(base)) == "pybind11_type":
            return issubclass(base, BaseException)
        if _base_of(base) is object and not _FROM_STATEMENTS & class_namespace_of(base).keys():
            return False
    return True
