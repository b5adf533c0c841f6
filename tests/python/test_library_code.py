# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a library's class says of a container of its own."""

from __future__ import annotations

import logging
import logging.handlers
import queue
import random
import urllib.request

import stepleak
import torch
from stepleak._library_code import filled_once_a_key, of_library_class
from torch.package._digraph import DiGraph


def handler_with(records: int) -> logging.handlers.MemoryHandler:
    handler = logging.handlers.MemoryHandler(600)
    handler.buffer.extend(logging.makeLogRecord({"msg": str(at)}) for at in range(records))
    return handler


def test_a_buffer_that_is_flushed_when_it_is_full_is_bounded() -> None:
    handler = handler_with(20)
    structure = of_library_class(handler, handler.buffer)
    assert structure is not None
    assert (structure.kind, structure.bound) == ("bounded", 600)
    assert structure.file.endswith("logging/handlers.py")
    assert "len(self.buffer) >= self.capacity" in structure.text


def test_a_buffer_beyond_its_bound_is_not_bounded_by_it() -> None:
    handler = handler_with(601)
    assert of_library_class(handler, handler.buffer) is None


def test_a_container_of_which_no_length_is_asked_has_no_bound() -> None:
    handler = logging.getLogger("unbounded")
    assert of_library_class(handler, handler.handlers) is None


def test_a_container_of_another_object_says_nothing() -> None:
    handler = handler_with(20)
    assert of_library_class(handler, [1, 2]) is None
    assert of_library_class(queue.Queue(), handler.buffer) is None


# --- filled once a key ------------------------------------------------------------------------------------------------


def test_a_table_that_a_missing_key_is_put_in_is_keyed() -> None:
    passwords = urllib.request.HTTPPasswordMgr()
    structure = filled_once_a_key(passwords, vars(passwords)["passwd"])
    assert structure is not None
    assert (structure.kind, structure.text) == ("keyed", "self.passwd[realm] = {}")


def test_a_table_in_which_no_key_is_looked_for_is_not_keyed() -> None:
    opener = urllib.request.OpenerDirector()
    assert filled_once_a_key(opener, vars(opener)["handle_open"]) is None


def test_a_table_of_another_object_says_nothing_of_keys() -> None:
    assert filled_once_a_key(urllib.request.HTTPPasswordMgr(), {}) is None


def add_to(graph: DiGraph, name: str) -> None:
    graph.add_node(name, values=torch.zeros(16))


def test_a_librarys_table_of_few_keys_that_come_by_chance_is_no_leak() -> None:
    graph, chance = DiGraph(), random.Random(7)
    result = stepleak.check(lambda: add_to(graph, f"n{chance.randrange(150)}"), device="cpu", seed=3)
    assert result.verdict != "leak", result.report


def test_a_librarys_table_of_ever_new_keys_is_a_leak() -> None:
    graph, chance = DiGraph(), random.Random(7)
    result = stepleak.check(lambda: add_to(graph, f"n{chance.random()}"), device="cpu", seed=3)
    assert result.verdict == "leak", result.report
