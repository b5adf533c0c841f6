# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What containers gained: each kind of entry by its weight, and what is no weight of theirs."""

from __future__ import annotations

import io
import math
import os
import sqlite3
import subprocess
import sys
import threading
import weakref
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from stepleak._limit import OutOfTimeError, TimeLimit
from stepleak._weights import UNKNOWN, Weight, weight_of_gain

GAINED = 4
LARGE = 10_000
SLACK = 200
"""Headers, and what malloc rounds up."""


class Record:
    """An entry with attributes."""

    def __init__(self, payload: Any) -> None:
        self.payload = payload

    def __sizeof__(self) -> int:
        raise AssertionError


def generated(payload: Any) -> Any:
    yield 1
    yield payload


def suspended(payload: Any) -> Any:
    generator = generated(payload)
    next(generator)
    return generator


def closure(payload: Any) -> Any:
    return lambda *_: payload


def raised(payload: Any) -> Exception:
    try:
        raise ValueError(str(len(payload)))
    except ValueError as error:
        return error


def weigh(container: Any, growth: int = GAINED) -> Weight:
    return weight_of_gain(container, growth, TimeLimit(math.inf))


ENTRIES: dict[str, Callable[[], Any]] = {
    "text": lambda: "x" * LARGE,
    "bytes in a tuple": lambda: (1, bytes(LARGE)),
    "array": lambda: np.zeros(LARGE // 8),
    "view of an array of its own": lambda: np.zeros(LARGE // 8).reshape(2, -1),
    "array of objects": lambda: np.array([bytes(LARGE), None], dtype=object),
    "attributes": lambda: Record(bytes(LARGE)),
    "array of the standard library": lambda: array("d", [0.0] * (LARGE // 8)),
    "file in memory": lambda: io.BytesIO(bytes(LARGE)),
    "error": lambda: ValueError("x" * LARGE),
    "closure": lambda: closure(bytes(LARGE)),
    "suspended generator": lambda: suspended(bytes(LARGE)),
    "module": lambda: torch.nn.ParameterDict({"bytes": bytes(LARGE)}),
    "defaultdict": lambda: defaultdict(list, {0: [bytes(LARGE)]}),
    "lock beside it": lambda: [threading.Lock(), bytes(LARGE)],
}


def test_weak_references_weigh_nothing_but_themselves() -> None:
    kept = [Record(bytes(LARGE)) for _ in range(20)]
    weight = weigh([weakref.ref(record) for record in kept])
    assert weight.bytes < GAINED * SLACK
    assert weight.is_complete


def test_weak_reference_weighs_what_it_calls_back() -> None:
    kept = [Record(1) for _ in range(20)]
    weight = weigh([weakref.ref(record, closure(bytes(LARGE + at))) for at, record in enumerate(kept)])
    assert weight.heap_bytes >= GAINED * LARGE


@pytest.mark.parametrize("name", ENTRIES)
def test_entry_weighs_what_it_leads_to(name: str) -> None:
    weight = weigh([ENTRIES[name]() for _ in range(20)])
    assert GAINED * LARGE <= weight.heap_bytes <= GAINED * (LARGE + SLACK)
    assert weight.is_complete


CONTAINERS: dict[str, Callable[[int], Any]] = {
    "list": lambda n: [bytes(LARGE) for _ in range(n)],
    "deque": lambda n: deque(bytes(LARGE) for _ in range(n)),
    "dict": lambda n: {i: bytes(LARGE) for i in range(n)},
    "keys": lambda n: {bytes([i]) * LARGE: i for i in range(n)},
    "OrderedDict": lambda n: OrderedDict((i, bytes(LARGE)) for i in range(n)),
    "set": lambda n: {bytes([i]) * LARGE for i in range(n)},
}


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("growth", [GAINED, 40])
def test_gain_is_that_of_the_newest_entries(name: str, growth: int) -> None:
    weight = weigh(CONTAINERS[name](50), growth)
    assert growth * LARGE <= weight.heap_bytes <= growth * (LARGE + SLACK)


def test_what_older_entries_share_is_no_weight_of_the_newest() -> None:
    shared = [bytes(LARGE) for _ in range(100)]
    assert weigh([(shared, i) for i in range(20)]).heap_bytes < GAINED * SLACK
    chain: Any = None
    chained = [chain := (chain, bytes(LARGE)) for _ in range(20)]
    assert weigh(chained).heap_bytes <= GAINED * (LARGE + SLACK)


def test_entries_that_lead_back_to_their_container_weigh_no_more_than_themselves() -> None:
    records: list[Any] = []
    for _ in range(20):
        records.append((records, bytes(LARGE)))
    assert weigh(records).heap_bytes <= GAINED * (LARGE + SLACK)


def test_tensors_have_a_ledger_of_their_own() -> None:
    assert weigh([torch.zeros(LARGE) for _ in range(20)]).heap_bytes < GAINED * SLACK


def test_events_and_what_else_keeps_an_object_of_cuda_are_counted() -> None:
    assert weigh([(torch.cuda.Event(), torch.Event(), i) for i in range(20)]).cuda_objects == 2 * GAINED
    shared = torch.cuda.Event()
    assert weigh([(shared, i) for i in range(20)]).cuda_objects == 0


def test_small_objects_are_blocks() -> None:
    weight = weigh([(0.5 + i, f"entry {i}") for i in range(20)])
    assert weight == Weight(0, 3 * GAINED, weight.block_bytes, 0, is_complete=True)
    # A tuple of two with the collector's header, a float and a string, in multiples of 16.
    assert weight.block_bytes == GAINED * (64 + 32 + 64)


def test_items_of_a_list_lie_apart_from_it() -> None:
    # A list with the collector's header, room for one item, and the float.
    assert weigh([[0.5 + i] for i in range(20)]) == Weight(0, 3 * GAINED, GAINED * (64 + 16 + 32), 0, is_complete=True)
    assert weigh([[] for _ in range(20)]) == Weight(0, GAINED, GAINED * 64, 0, is_complete=True)


MEASURED = """
import ctypes, dataclasses, gc, math, sys

from stepleak._limit import TimeLimit
from stepleak._weights import weight_of_gain

FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
Counted = type("Counted", (ctypes.Structure,), {"_fields_": [(field, ctypes.c_size_t) for field in FIELDS]})
count = ctypes.CDLL(None).mallinfo2
count.restype = Counted
ENTRIES = 2_000

def measure(make):
    older = [make(index) for index in range(1_000, 1_200)]
    entries = [None] * ENTRIES
    gc.collect()
    before = count().uordblks
    for index in range(ENTRIES):
        entries[index] = make(10_000 + index)
    gc.collect()
    taken = (count().uordblks - before) / ENTRIES
    weighed = weight_of_gain(entries, 16, TimeLimit(math.inf)).heap_bytes / 16
    print(type(entries[0]).__name__, taken, weighed)
"""
SMALL_OBJECTS = """
class Record:
    def __init__(self, index):
        self.index, self.both = index, (index, str(index))

class Slots:
    __slots__ = ("index",)
    def __init__(self, index):
        self.index = float(index)

class Wide:
    def __init__(self, index):
        self.a = self.b = self.c = self.d = self.e = self.f = None
        self.index = float(index)

class Asked(Record):
    def __init__(self, index):
        super().__init__(index)
        self.__dict__

Data = dataclasses.make_dataclass("Data", ["index", "text", "items"])
for make in (
    Record, Slots, Wide, Asked, lambda i: Data(i, str(i), [i]), lambda i: {"index": i}, lambda i: lambda: i,
    lambda i: (i, float(i)), lambda i: ValueError(str(i)), lambda i: [i, [i]],
):
    measure(make)
"""
BORROWED = """
import numpy, torch
measure(lambda i: torch.from_numpy(numpy.zeros(100)))
"""


def measured(makes: str, allocator: str) -> list[tuple[str, float, float]]:
    """What malloc takes for each sort of object, in a process with this allocator of Python's, and what it weighs."""
    environment = {**os.environ, "PYTHONMALLOC": allocator}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED + makes], env=environment, text=True, capture_output=True, check=True
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    return [(name, float(taken), float(weight)) for name, taken, weight in lines]


def test_small_objects_weigh_what_malloc_takes_for_them() -> None:
    weighed = measured(SMALL_OBJECTS, "malloc")
    assert len(weighed) == 10
    for name, taken, weight in weighed:
        assert 0.9 * taken <= weight <= 1.02 * taken, name


def test_tensors_of_numpys_memory_weigh_what_malloc_takes_for_them() -> None:
    ((_, taken, weight),) = measured(BORROWED, "pymalloc")
    assert 0.9 * taken <= weight <= 1.02 * taken


@pytest.mark.parametrize(
    "entry", [lambda: sqlite3.connect(":memory:"), np.random.default_rng, torch.Generator, threading.Thread]
)
def test_what_hides_its_memory_weighs_at_least_what_is_seen(entry: Callable[[], Any]) -> None:
    weight = weigh([(entry(), bytes(LARGE)) for _ in range(20)])
    assert not weight.is_complete
    assert weight.heap_bytes >= GAINED * LARGE


def test_entries_that_lead_everywhere_are_not_weighed() -> None:
    everything = [[float(i)] for i in range(30_000)]
    assert weigh([(everything, i) for i in range(20)]) == UNKNOWN


def test_newest_entries_cannot_be_told_from_others_where_there_are_no_others() -> None:
    assert weigh([(1, bytes(LARGE)) for _ in range(GAINED)]) == UNKNOWN
    assert weigh({(1, bytes([i]) * LARGE) for i in range(20)}) == UNKNOWN


def test_weighing_ends_where_the_time_is_over() -> None:
    with pytest.raises(OutOfTimeError):
        weight_of_gain([[float(i) for i in range(2_000)] for _ in range(20)], GAINED, TimeLimit(0))
