# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a step or a script raised, as text, whatever its class does where it is asked for one."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from traceback import TracebackException

# Of an exception's text: a batch in its message fills no report.
_MOST_TEXT = 8192
# Of the exceptions that led to one, and of those in a group.
_MOST_OTHERS = 8


def headline_of(error: BaseException) -> str:
    """Its class and the first line of its message."""
    told = _told(error)
    headline = _name_of(error) if told is None else _head_of(told)[0]
    return _as_text(headline.partition("\n")[0])


def format_exception(error: BaseException) -> str:
    """The traceback as a person reads it, without stepleak's own frames; the error's line comes first, its notes next,
    and what led to it last."""
    told = _told(error)
    if told is None:
        lines = [_name_of(error), *_frames_of(traceback.extract_tb(error.__traceback__))]
    else:
        lines = [*_lines_of(told, [_MOST_OTHERS])]
    text = "\n".join(lines)
    if len(text) > _MOST_TEXT:
        text = f"{text[:_MOST_TEXT]} ... ({len(text) - _MOST_TEXT} characters more)"
    return _as_text(text)


def _told(error: BaseException) -> TracebackException | None:
    """None where its class raises when it is asked for more than a message."""
    try:
        told = TracebackException.from_exception(error, compact=True)
        _head_of(told)
    except Exception:
        return None
    return told


def _name_of(error: BaseException) -> str:
    name: str = type.__dict__["__qualname__"].__get__(type(error))
    return name


def _lines_of(told: TracebackException, left: list[int]) -> Iterator[str]:
    """`left`: how many others may still be told."""
    yield from _head_of(told)
    yield from _frames_of(told.stack)
    for word, other in _others(told):
        if left[0] == 0:
            yield "  ..."
            return
        left[0] -= 1
        first, *more = _lines_of(other, left)
        yield f"  {word} {first}"
        yield from (f"  {line}" for line in more)


def _head_of(told: TracebackException) -> list[str]:
    """Its line, and its notes. Of a SyntaxError file and line stand before that in Python's traceback."""
    lines = [line.rstrip() for line in told.format_exception_only()]
    notes, told.__notes__ = getattr(told, "__notes__", None), None  # type: ignore[attr-defined]  # from 3.11 on
    *place, headline = [line.rstrip() for line in told.format_exception_only()]
    told.__notes__ = notes  # type: ignore[attr-defined]
    return [headline.strip(), *lines[len(place) + 1 :], *place]


def _frames_of(stack: Iterable[traceback.FrameSummary]) -> Iterator[str]:
    frames = [
        frame for frame in stack if "/stepleak/_" not in frame.filename and not frame.filename.startswith("<frozen ")
    ]
    return (line.rstrip() for line in traceback.format_list(frames))


def _others(told: TracebackException) -> Iterator[tuple[str, TracebackException]]:
    parts = getattr(told, "exceptions", None) or []  # from 3.11 on
    yield from ((f"{number} of {len(parts)}:", part) for number, part in enumerate(parts, 1))
    if told.__cause__ is not None:
        yield "caused by", told.__cause__
    elif told.__context__ is not None:
        yield "while handling", told.__context__


def _as_text(text: str) -> str:
    """A lone surrogate has no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
