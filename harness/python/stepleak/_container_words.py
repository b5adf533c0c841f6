# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Names of functions and methods by what they do with a container, wherever they come from."""

ADDING = frozenset(
    {"append", "add", "extend", "insert", "appendleft", "extendleft", "update", "setdefault", "__setitem__"}
    | {"put", "put_nowait"}
)
REMOVING = frozenset(
    {"pop", "popleft", "popitem", "remove", "discard", "difference_update", "intersection_update", "__delitem__"}
    | {"symmetric_difference_update", "__isub__", "__iand__"}
)
"""Methods that put an item in, or take one out; of dictionaries, too."""
OF_QUEUES = frozenset({"get", "get_nowait", "queue", "_queue"})
"""What takes an item out of a queue (a dictionary is only asked), and its own container, from which anybody may."""
SAME_ITEMS = frozenset({"enumerate", "zip", "reversed", "list", "tuple", "iter", "sorted", "chain", "filter", "cast"})
"""Functions that give the items of what they get."""
READING = frozenset(
    {"len", "sum", "max", "min", "sorted", "list", "tuple", "set", "frozenset", "dict", "enumerate", "zip", "print"}
    | {"str", "repr", "any", "all", "iter", "reversed", "map", "filter", "isinstance", "id", "type", "hash", "deque"}
    | {"bool", "heapreplace", "heappushpop", "copy", "deepcopy", "Counter", "OrderedDict", "chain", "islice", "next"}
    | {"fmean", "mean", "median", "stdev", "extend", "update", "join", "info", "debug", "warning", "error", "log"}
    | {"write", "format", "dump", "dumps", "stack", "cat", "concatenate", "array", "tensor", "plot", "union"}
    | {"getsizeof"}
    | {"intersection", "difference", "nlargest", "nsmallest", "bisect", "heapify"}
    | {"choice", "choices", "sample", "shuffle"}
    | {"accumulate", "hasattr", "callable", "cast", "as_tensor", "vstack", "hstack", "savez", "save", "from_iterable"}
)
"""Functions and methods that only read what they get, wherever they come from."""
READING_LIBRARIES = frozenset({"torch", "np", "numpy", "math", "statistics", "json", "pickle", "logging", "warnings"})
FRESH = frozenset({"list", "dict", "set", "deque", "OrderedDict", "defaultdict", "Counter", "field", "sorted", "copy"})
"""Functions that make a new container."""
