# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Looks at objects of the user's program without running any of its code.

`getattr`, `isinstance`, `len`, `repr` and `==` ask the object, and the object may answer with a property, an import,
an error or a count of its own. Here only types, `__dict__`s and members of C structures are read, through the
descriptors of Python's own types.
"""

from __future__ import annotations

import functools
import gc
import itertools
import sys
import threading
import types
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

mro_of = type.__dict__["__mro__"].__get__
name_of = type.__dict__["__name__"].__get__
module_name_of = type.__dict__["__module__"].__get__  # type: ignore[attr-defined]
qualname_of = type.__dict__["__qualname__"].__get__
class_namespace_of = type.__dict__["__dict__"].__get__

_LENGTHS: dict[type, Any] = {list: list.__len__, dict: dict.__len__, set: set.__len__, deque: deque.__len__}
_ITERATORS: dict[type, Any] = {list: list.__iter__, dict: dict.values, set: set.__iter__, deque: deque.__iter__}
CONTAINERS = tuple(_LENGTHS)
cache_info_of: Any = functools._lru_cache_wrapper.__dict__["cache_info"]
"""Of what `functools.lru_cache` returns, which keeps its entries where only the collector sees them."""
_maxlen_of: Any = deque.__dict__["maxlen"].__get__
_module_namespace_of: Any = types.ModuleType.__dict__["__dict__"].__get__  # type: ignore[index]
_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)
_PLAIN_KEYS: frozenset[type] = frozenset({str, bytes, int, float, complex, bool, type(None)})
_MOST_BITS = 128
"""Of an integer key that is shown: `repr` of one with thousands of digits raises."""
_MOST_CHARACTERS = 40


def referents_of(*items: Any) -> list[Any]:
    """What objects refer to, as the collector sees it; of the module `_asyncio` its namespace only.

    In Python 3.12 that module also shows the dead iterators that it has ready for later use (module_traverse of
    CPython's Modules/_asynciomodule.c). Whoever takes a reference to one and drops it puts it there a second time, and
    from then on the program that awaits is given one iterator twice, or walks in a circle for ever.
    """
    unsafe = sys.modules.get("_asyncio")
    if unsafe is None:
        return gc.get_referents(*items)
    if len(items) == 1:  # the caller may count its references
        return [module_namespace(unsafe)] if items[0] is unsafe else gc.get_referents(items[0])
    safe = [item for item in items if item is not unsafe]
    namespaces = [module_namespace(unsafe)] if len(safe) < len(items) else []
    return gc.get_referents(*safe) + namespaces


def is_a(item: Any, kind: type) -> bool:
    """As `isinstance`, by type alone. `kind`: one of Python's or torch's own, whose metaclass is known."""
    return issubclass(type(item), kind)


def is_one_of(kind: type, known: Iterable[type]) -> bool:
    """Whether a type is one of these. `in` would ask a metaclass of the user's for its hash, or whether it is equal."""
    return any(kind is each for each in known)


def type_name(item: Any) -> str:
    """The name of an object's type, also where its metaclass has an opinion."""
    name: str = name_of(type(item))
    return name


def full_type_name(item: Any) -> str:
    """The same with the name of its module."""
    return f"{module_name_of(type(item))}.{qualname_of(type(item))}"


def package_of(item: Any) -> str:
    """The outermost package, or the module, of its type: "pandas"."""
    return full_type_name(item).partition(".")[0]


def class_names(item: Any) -> frozenset[str]:
    """The names of all classes that an object is of."""
    return frozenset(name_of(base) for base in mro_of(type(item)))


def all_classes_of(item: Any) -> list[type]:
    """All classes that an object is of; of a class also itself and its bases."""
    return [*mro_of(type(item)), *(mro_of(item) if is_a(item, type) else ())]


def all_class_names(item: Any) -> frozenset[str]:
    """The names of these."""
    return frozenset(map(name_of, all_classes_of(item)))


def defining_class(item: Any, name: str) -> type | None:
    """The nearest of an object's classes that defines an attribute of this name."""
    return next((base for base in mro_of(type(item)) if name in class_namespace_of(base)), None)


def container_kind(item: Any) -> type | None:
    """`list`, `dict`, `set` or `deque` where the object is one, or of a class derived from it."""
    kind = type(item)
    # Asked of every object there is, most of which are none.
    if not issubclass(kind, CONTAINERS):
        return None
    return next(known for known in _LENGTHS if issubclass(kind, known))


def length_of(item: Any) -> int:
    """The true length of a container, whatever its class says; -1 of everything else."""
    if type(item) is functools._lru_cache_wrapper:
        return cache_info_of(item).currsize
    kind = container_kind(item)
    return -1 if kind is None else _LENGTHS[kind](item)


def items_of(item: Any) -> list[Any]:
    """What a container or a tuple holds; of a dict the values. Empty for everything else."""
    if is_a(item, tuple):
        return list(tuple.__iter__(item))
    kind = container_kind(item)
    return [] if kind is None else list(_ITERATORS[kind](item))


def first_items(item: Any, most: int) -> Iterator[Any]:
    """Of what a container holds."""
    kind = container_kind(item)
    return iter(()) if kind is None else itertools.islice(_ITERATORS[kind](item), most)


def holds_a(container: Any, kind: type) -> bool:
    """What a container holds, by its newest item."""
    items = items_of(container)
    return bool(items) and is_a(items[-1], kind)


def free_places_in(entries: list[Any]) -> int:
    """How many entries are what a list or an array was made with, as in `[None] * 400`: as the last one, if that is
    plain.
    """
    if not entries or not is_one_of(type(entries[-1]), _PLAIN_KEYS):
        return 0
    return sum(entry is entries[-1] for entry in entries)


def bound_of(item: Any) -> int:
    """The most that a container can hold; -1 where nothing bounds it."""
    if type(item) is functools._lru_cache_wrapper:
        size = cache_info_of(item).maxsize
        return -1 if size is None else size
    bound = _maxlen_of(item) if is_a(item, deque) else None
    return -1 if bound is None else bound


def is_namespace_of(owner: Any, item: Any) -> bool:
    """Whether it is the dict behind an object's attributes; of a `threading.local`, behind those of one thread."""
    if is_a(owner, threading.local):
        return any(own is item for own in _table_of_threads(owner).values())
    return item is not None and namespace_of(owner) is item


def _table_of_threads(local: Any) -> dict[Any, Any]:
    """The dicts behind its attributes, one of each thread that asked for one."""
    return [d for d in referents_of(local) if type(d) is dict][-1]  # after its class's keyword arguments


def namespace_of(item: Any) -> dict[Any, Any] | None:
    """The dict behind an object's attributes; None where it has none, or where a property hides it.

    Of a `threading.local` that of its one thread: to be asked it would make one for the thread that asks.
    """
    kind = type(item)
    if issubclass(kind, threading.local):
        table = _table_of_threads(item)
        return next(iter(table.values())) if len(table) == 1 else None
    if issubclass(kind, type):
        # A class shows a view of its dict; the view's one referent is the dict itself.
        return next((d for d in referents_of(class_namespace_of(item)) if type(d) is dict), None)
    for base in mro_of(kind):
        entry = class_namespace_of(base).get("__dict__")
        if entry is None:
            continue
        if not is_one_of(type(entry), _DESCRIPTORS):
            return None
        namespace = _read(entry, item)
        return namespace if is_a(namespace, dict) else None
    return None


def module_namespace(item: Any) -> dict[str, Any]:
    """A module's globals, also of one that loads them when it is asked for an attribute; empty of what is no module."""
    return _module_namespace_of(item) if is_a(item, types.ModuleType) else {}


def attributes_of(item: Any) -> list[tuple[str, Any]]:
    """Names and values that an object stores: of its `__dict__`, its slots and its C structure."""
    namespace = namespace_of(item)
    found = [] if namespace is None else [(k, v) for k, v in list(dict.items(namespace)) if type(k) is str]
    for base in mro_of(type(item)):
        for name, entry in list(class_namespace_of(base).items()):
            if type(entry) is types.MemberDescriptorType and type(name) is str:
                found.append((name, _read(entry, item)))
    return found


def class_attributes_of(item: Any) -> dict[str, Any]:
    """What the object's classes store for all of their objects, the nearest class first."""
    kinds = [item, type(item)] if is_a(item, type) else [type(item)]
    found: dict[str, Any] = {}
    for base in (base for kind in kinds for base in mro_of(kind)):
        for name, value in list(class_namespace_of(base).items()):
            if type(name) is str:
                found.setdefault(name, value)
    return found


def _read(descriptor: Any, item: Any) -> Any:
    """The value of a slot or member; None where it is not set."""
    try:
        return descriptor.__get__(item)
    except (AttributeError, TypeError):
        return None


def key_text(key: Any) -> str:
    """A dict's key as the source would write it; of a class of the user's only the class."""
    kind = type(key)
    if kind is tuple and all(is_one_of(type(part), _PLAIN_KEYS) for part in key):
        parts = [key_text(part) for part in key]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"[:_MOST_CHARACTERS]
    if not is_one_of(kind, _PLAIN_KEYS) or (kind is int and key.bit_length() > _MOST_BITS):
        return f"<{type_name(key)}>"
    return repr(key[: 2 * _MOST_CHARACTERS] if kind in (str, bytes) else key)[:_MOST_CHARACTERS]


def callable_name(item: Any) -> str:
    """A step's own name: of a function or class its last part, of an object its class."""
    if is_a(item, types.MethodType):
        return callable_name(item.__func__)
    if is_a(item, (types.FunctionType, types.BuiltinFunctionType)):  # type: ignore[arg-type]
        name = item.__qualname__
    elif is_a(item, type):
        name = qualname_of(item)
    else:
        # Decorators copy it into the objects that they return.
        name = (namespace_of(item) or {}).get("__qualname__")
    return name.rpartition(".")[2] if type(name) is str else type_name(item)


def code_of(item: Any) -> types.CodeType | None:
    """The code that a call of it runs; None where that is not written in Python."""
    function = item.__func__ if is_a(item, types.MethodType) else item
    if type(function) is not types.FunctionType:
        calls = (class_namespace_of(base).get("__call__") for base in mro_of(type(function)))
        function = next((call for call in calls if call is not None), None)
    return function.__code__ if type(function) is types.FunctionType else None


def is_optimizer(item: Any) -> bool:
    """Whether it is one of torch's optimizers."""
    optimizer = dict.get(module_namespace(dict.get(sys.modules, "torch.optim")), "Optimizer")
    return type(optimizer) is type and is_a(item, optimizer)


def optimizers_states(objects: list[Any]) -> Iterator[tuple[Any, int]]:
    """Where a way leads through the states of optimizers: the optimizer's namespace, and the place of its states."""
    for at, owner in enumerate(objects):
        namespace = namespace_of(owner) if is_optimizer(owner) else None
        if namespace is None:
            continue
        state = dict.get(namespace, "state")
        # With the namespace between them, or without.
        yield from ((namespace, i) for i in range(at + 1, min(at + 3, len(objects) - 1)) if objects[i] is state)


def groups_of(namespace: Any) -> Iterator[tuple[Any, list[Any]]]:
    """The groups of an optimizer with this namespace, each with the parameters that it lists."""
    groups = dict.get(namespace, "param_groups")
    for group in groups if type(groups) is list else ():
        listed = dict.get(group, "params") if type(group) is dict else None
        if type(listed) is list:
            yield group, listed
