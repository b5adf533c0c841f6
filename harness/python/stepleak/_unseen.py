# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Who refers to an object without `gc.get_referrers` seeing it.

NumPy arrays: the collector knows nothing of them, and `tensor.numpy()` keeps the tensor, as its `base`. Tasks of
asyncio: they tell what they refer to, and drop the collector's answer (`TaskObj_traverse` of CPython's
_asynciomodule.c). Context variables: their values are the thread's, which the collector does not know.
"""

from __future__ import annotations

import contextvars
import gc
import io
import sys
import types
from typing import Any

from stepleak._heap import lengths_of as container_lengths_of
from stepleak._heap import untracked_referents
from stepleak._limit import TimeLimit
from stepleak._objects import class_namespace_of, is_a, module_namespace, referents_of
from stepleak._objects import length_of as container_length_of


def array_type() -> Any:
    """`numpy.ndarray`, from which others may be derived; None where no NumPy is loaded."""
    return module_namespace(sys.modules.get("numpy")).get("ndarray")


def array_types() -> tuple[type, ...]:
    """The same as one of several types; empty where no NumPy is loaded."""
    array = array_type()
    return () if array is None else (array,)


def is_array(item: Any) -> bool:
    """By type: one of a derived class is asked nothing."""
    return type(item) is array_type()


def base_of(array: Any) -> Any:
    """Whose memory the array shows; None where it is the array's own."""
    return class_namespace_of(array_type())["base"].__get__(array)


def is_array_of_objects(item: Any) -> bool:
    """Whose number of items is fixed."""
    return is_array(item) and class_namespace_of(array_type())["dtype"].__get__(item).kind == "O"


def places_of(item: Any) -> list[Any]:
    """The items of an array of objects; empty of everything else."""
    return list(item.flat) if is_array_of_objects(item) else []


def length_of(item: Any) -> int:
    """The true length of a container, or the number of places in an array of objects; -1 of everything else."""
    if not is_array_of_objects(item):
        return container_length_of(item)
    size: int = class_namespace_of(array_type())["size"].__get__(item)
    return size


def lengths_of(items: list[Any]) -> list[int]:
    """The same of many."""
    lengths = container_lengths_of(items)
    return [length_of(item) if length < 0 else length for item, length in zip(items, lengths, strict=True)]


def is_own_buffer(owner: Any, held: Any) -> bool:
    """Whether these are the bytes of a `BytesIO`, in whose own size they are: from Python 3.12 on the collector sees
    them.
    """
    return type(held) is bytes and is_a(owner, io.BytesIO)


def contents_of(item: Any) -> list[Any]:
    """What an object refers to, in its own order; of an array its items where they are objects, and its `base`; of a
    context variable its value on this thread.
    """
    if type(item) is contextvars.ContextVar:
        return [*referents_of(item), item.get(None)]
    if not is_array(item):
        return [held for held in referents_of(item) if not is_own_buffer(item, held)]
    base, items = base_of(item), places_of(item)
    return items if base is None else [*items, base]


def own_contents_of(item: Any) -> list[Any]:
    """The same, but of a function not its module."""
    if type(item) is types.FunctionType:
        shared = (id(item.__globals__), id(item.__builtins__))  # type: ignore[attr-defined]
        return [held for held in contents_of(item) if id(held) not in shared]
    return contents_of(item)


def context_variables() -> dict[int, list[Any]]:
    """Those that have a value on this thread, by its `id`."""
    found: dict[int, list[Any]] = {}
    for variable, value in contextvars.copy_context().items():
        found.setdefault(id(value), []).append(variable)
    return found


def unseen_holders(limit: TimeLimit) -> dict[int, list[Any]]:
    """Tasks, arrays, and tuples and dicts that are not tracked since arrays are all that they hold, by the `id` of what
    each of them holds. Raises OutOfTimeError.
    """
    found: dict[int, list[Any]] = {}
    of_arrays, of_tasks = array_type(), module_namespace(sys.modules.get("_asyncio")).get("Task")
    if of_arrays is None and of_tasks is None:
        return found
    seen: set[int] = set()

    def add(holder: Any, contents: list[Any]) -> None:
        if id(holder) not in seen:
            seen.add(id(holder))
            for item in contents:
                found.setdefault(id(item), []).append(holder)

    def add_array(array: Any) -> None:
        while is_array(array) and id(array) not in seen:  # a view has another array's memory
            add(array, contents_of(array))
            array = base_of(array)

    for part in limit.parts(gc.get_objects()):
        for task in [item for item in part if type(item) is of_tasks]:
            add(task, referents_of(task))
        for item in untracked_referents(part, (tuple, dict, *array_types())):
            if is_array(item):
                add_array(item)
                continue
            arrays = [held for held in referents_of(item) if is_array(held)]
            add(item, arrays)
            for array in arrays:
                add_array(array)
    return found
