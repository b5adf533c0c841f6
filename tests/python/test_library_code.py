# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a library's class says of a container of its own."""

from __future__ import annotations

import logging
import logging.handlers
import queue

from stepleak._library_code import of_library_class


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
