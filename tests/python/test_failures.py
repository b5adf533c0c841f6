# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What is told of an exception: all that Python tells of it, and something where its class refuses."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from stepleak._failure import format_exception, headline_of

with_groups = pytest.mark.skipif(sys.version_info < (3, 11), reason="notes and groups came with Python 3.11")


def told(raises: Callable[[], Any]) -> list[str]:
    try:
        raises()
    except BaseException as error:
        return format_exception(error).splitlines()
    raise AssertionError("nothing was raised")


def fails() -> None:
    raise ValueError("no more batches")


def test_exception_begins_with_its_message_and_has_its_frames() -> None:
    first, *frames = told(fails)
    assert first == "ValueError: no more batches"
    assert any("in fails" in line for line in frames)
    assert not any("caused by" in line or "while handling" in line for line in frames)


def test_of_a_long_message_the_headline_is_the_first_line() -> None:
    error = ValueError("two\nlines")
    assert headline_of(error) == "ValueError: two"
    assert format_exception(error) == "ValueError: two\nlines"


def test_of_a_syntax_error_the_message_comes_first_and_then_its_place() -> None:
    first, *place = told(lambda: compile("x = = 3", "steps.py", "exec"))
    assert first == "SyntaxError: invalid syntax"
    assert place[0] == '  File "steps.py", line 1'


@with_groups
def test_notes_stand_below_the_message() -> None:
    error = ValueError("v")
    error.add_note("a note")  # type: ignore[attr-defined]
    assert headline_of(error) == "ValueError: v"
    assert format_exception(error) == "ValueError: v\na note"


def test_what_led_to_it_is_told_as_far_as_python_tells_it() -> None:
    batches: dict[str, int] = {}

    def chain(words: str) -> None:
        try:
            batches["first"]
        except KeyError as error:
            if words == "caused by":
                raise ValueError("v") from error
            if words == "while handling":
                raise ValueError("v")  # noqa: B904
            raise ValueError("v") from None

    for words in ("caused by", "while handling"):
        lines = told(lambda words=words: chain(words))  # type: ignore[misc]
        assert lines[0] == "ValueError: v"
        cause = lines.index(f"  {words} KeyError: 'first'")
        assert 'batches["first"]' in lines[cause + 2]
    assert not any(line.startswith("  while handling") for line in told(lambda: chain("hidden")))


@with_groups
def test_what_is_in_a_group_is_told_and_of_many_the_first() -> None:
    group = ExceptionGroup("both", [ValueError("a"), ExceptionGroup("inner", [KeyError("b")])])  # type: ignore[name-defined]
    assert format_exception(group).splitlines() == [
        "ExceptionGroup: both (2 sub-exceptions)",
        "  1 of 2: ValueError: a",
        "  2 of 2: ExceptionGroup: inner (1 sub-exception)",
        "    1 of 1: KeyError: 'b'",
    ]
    many = format_exception(ExceptionGroup("many", [ValueError(n) for n in range(50)]))  # type: ignore[name-defined]
    assert len(many.splitlines()) < 12
    assert many.endswith("\n  ...")


class Loud(type):
    def __getattribute__(cls, name: str) -> Any:
        if name in ("__name__", "__qualname__"):
            raise RuntimeError(name)
        return super().__getattribute__(name)


class Nameless(Exception, metaclass=Loud):
    pass


class Raising(Exception):
    def __str__(self) -> str:
        raise ValueError


class Counting(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]


@pytest.mark.parametrize("name", ["Raising", "Counting", "Nameless"])
def test_a_class_that_refuses_to_tell_is_named_with_its_frames(name: str) -> None:
    def refuses() -> None:
        raise globals()[name]("a message")

    try:
        refuses()
    except Exception as error:
        first, *frames = format_exception(error).splitlines()
        assert headline_of(error) == first
    assert name in first
    assert any("in refuses" in line for line in frames)
