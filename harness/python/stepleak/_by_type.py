# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What bounds a container by its type, or by that of the object whose container it is: a cache, or a queue."""

from __future__ import annotations

import ast
import collections
import functools
import queue
import sys
import types
from typing import Any

from stepleak._counters import Counters
from stepleak._endings import Endings
from stepleak._keys import AreKeysLost
from stepleak._library_code import of_library_class
from stepleak._loggers import of_loggers
from stepleak._objects import (
    all_class_names,
    attributes_of,
    bound_of,
    cache_info_of,
    full_type_name,
    is_a,
    is_one_of,
    module_namespace,
    namespace_of,
)
from stepleak._runs import Runs
from stepleak._structure import UNKNOWN, Structure
from stepleak._syntax import Module, arguments_of, last_name
from stepleak._use import Use
from stepleak._user_code import UserCode

_UNLIMITED = 2**31 - 1
"""As `multiprocessing.Queue()` has it, whose semaphore counts no further."""
_FULL_QUEUES = ("maxsize", "_maxsize")
CACHES = (functools._lru_cache_wrapper,)
_QUEUES = frozenset(
    {"queue.Queue", "queue.LifoQueue", "queue.PriorityQueue", "_queue.SimpleQueue"}
    | {"asyncio.queues.Queue", "asyncio.queues.LifoQueue", "asyncio.queues.PriorityQueue"}
)
_LIBRARY_CACHES = (("re", "_cache", "_MAXCACHE"), ("re", "_cache2", "_MAXCACHE2"))
"""Module, name and bound of caches of Python's own modules, which make room in a way that no method shows."""
_WEAK = frozenset({"WeakValueDictionary", "WeakKeyDictionary", "WeakSet"})


def is_kept_weakly(objects: list[Any]) -> bool:
    """Whether the last one of a chain is kept by an entry that goes with its key, or by a call of the library's."""
    return any(all_class_names(item) & _WEAK for item in objects[:-1])


def of_type(objects: list[Any], sources: UserCode, are_keys_lost: AreKeysLost) -> Structure | None:
    """Of the last one of a chain of objects; None where its type says nothing."""
    container, owner, cache = objects[-1], owner_of(objects), _cache_of(objects)
    if cache is not None:
        known = of_cache(cache, sources)
        is_in_vain = known.kind == "keyed" and _is_asked_in_vain(objects, sources, are_keys_lost(container))
        return Structure("unbounded") if is_in_vain and _is_never_cleared(sources) else known
    if bound_of(container) >= 0:
        return Structure("bounded", bound_of(container))
    if (size := _library_bound(container)) >= 0:
        return Structure("bounded", size)
    if (loggers := of_loggers(objects, sources)) is not None:
        return loggers
    if all_class_names(owner) & _WEAK:
        return UNKNOWN
    if is_a(owner, queue.Queue) or all_class_names(owner) & {"Queue"}:
        sizes = [v for k, v in attributes_of(owner) if k in _FULL_QUEUES and type(v) is int and v > 0]
        if sizes and sizes[0] < _UNLIMITED:
            return Structure("bounded", sizes[0])
        return None if is_queue(owner) else UNKNOWN
    return of_library_class(owner, container) if is_of_library(owner, sources) else None


def is_of_library(owner: Any, sources: UserCode) -> bool:
    return owner is not None and not sources.defines_class_of(owner)


def owner_of(objects: list[Any]) -> Any:
    """Whose attribute the last one of a chain is, directly or in its namespace."""
    owners = [o for o in objects[-3:-1] if not is_a(o, dict)]
    return owners[-1] if owners else None


def is_queue(item: Any) -> bool:
    """Whether it is a queue of one process, which keeps its items in a container of its own."""
    return full_type_name(item) in _QUEUES


def is_wrapper(owner: Any, container: Any) -> bool:
    """Whether one is a container of Python's own library that another one stands for, and has as its `data`."""
    is_one = is_a(owner, collections.UserDict) or is_a(owner, collections.UserList)
    return is_one and any(name == "data" and held is container for name, held in attributes_of(owner))


def _library_bound(container: Any) -> int:
    """Of a cache of Python's own modules; -1 of everything else."""
    for module, name, bound in _LIBRARY_CACHES:
        namespace = module_namespace(dict.get(sys.modules, module))
        size = dict.get(namespace, bound)
        if container is dict.get(namespace, name) and type(size) is int:
            return size
    return -1


def _cache_of(objects: list[Any]) -> Any:
    """The function whose cache the last one of a chain is, or has its entries in it; None of everything else."""
    if is_one_of(type(objects[-1]), CACHES):
        return objects[-1]
    owner = owner_of(objects)
    return owner if is_one_of(type(owner), CACHES) and namespace_of(owner) is not objects[-1] else None


def of_cache(owner: Any, sources: UserCode) -> Structure:
    """Of `functools.lru_cache` and `functools.cache`."""
    size = cache_info_of(owner).maxsize
    kind, bound = ("bounded", size) if type(size) is int else ("keyed", -1)
    return Structure(kind, bound, *_decorator_of(owner, sources))


def caching_line(objects: list[Any], sources: UserCode) -> tuple[str, int, str]:
    """File, number and text of the line that gives a function its cache, where the chain's container is of one."""
    cache = _cache_of(objects)
    return ("", 0, "") if cache is None else _decorator_of(cache, sources)


def _decorator_of(owner: Any, sources: UserCode) -> tuple[str, int, str]:
    wrapped = _wrapped_by(owner)
    if wrapped is not None and (assigning := _assigning(wrapped, sources)) is not None:
        home, assigned = assigning
        return home.file, assigned.lineno, home.line(assigned.lineno)
    module = None if wrapped is None else sources.file(wrapped.__code__.co_filename)
    if module is None or wrapped is None:
        return "", 0, ""
    line = wrapped.__code__.co_firstlineno
    return module.file, line, module.line(line)


def _wrapped_by(owner: Any) -> types.FunctionType | None:
    wrapped = next((v for k, v in attributes_of(owner) if k == "__wrapped__"), None)
    wrapped = wrapped.__func__ if type(wrapped) is types.MethodType else wrapped
    return wrapped if type(wrapped) is types.FunctionType else None


def _assigning(wrapped: types.FunctionType, sources: UserCode) -> tuple[Module, ast.Assign] | None:
    """The only statement that gives a function its cache under another name: `self.encode = cache(self._encode)`."""
    modules, _ = sources.mentioning(wrapped.__name__)
    found = [
        (module, node)
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and [last_name(passed) for passed in node.value.args] == [wrapped.__name__]
        and _makes_cache(node.value.func)
    ]
    return found[0] if len(found) == 1 else None


def _makes_cache(function: ast.expr) -> bool:
    """`cache`, `lru_cache(maxsize=None)`, and the same of `functools`."""
    function = function.func if isinstance(function, ast.Call) else function
    return last_name(function) in ("cache", "lru_cache")


def _is_asked_in_vain(objects: list[Any], sources: UserCode, are_keys_lost: bool) -> bool:
    """Whether a function that has a cache, to which a chain of objects leads, is called for ever, and not for what is
    in it.

    Each call hands it something that never comes again, or what it was handed is lost.
    """
    wrapped = _wrapped_by(_cache_of(objects))
    assigning = None if wrapped is None else _assigning(wrapped, sources)
    name = "" if wrapped is None else wrapped.__name__ if assigning is None else last_name(assigning[1].targets[0])
    _, is_whole = sources.mentioning(name) if name else ([], False)
    calls = sources.calls(name) if is_whole else []
    runs = Runs(sources)
    counters = Counters(sources, objects)
    endings = Endings(sources, objects, counters)

    def goes_on(module: Module, call: ast.Call) -> bool:
        return not endings.may_end_any(runs.guards(Use("ask", module, call)), runs.is_once)

    def is_afresh(module: Module, call: ast.Call) -> bool:
        return any(counters.never_repeats(module, passed, runs.is_once) for passed in arguments_of(call))

    return bool(calls) and all(goes_on(*call) and (are_keys_lost or is_afresh(*call)) for call in calls)


def _is_never_cleared(sources: UserCode) -> bool:
    """Whether no cache of a function is emptied anywhere."""
    modules, is_whole = sources.mentioning("cache_clear")
    clearing = (isinstance(n, ast.Attribute) and n.attr == "cache_clear" for module in modules for n in module.nodes)
    return is_whole and not any(clearing)
