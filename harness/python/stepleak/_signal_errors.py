# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a handler of a signal raises while stepleak's own code runs: a time-out or a stop of the user's program.

Python calls handlers between any two of its instructions, ours included. What such a one raises is the program's, and
is never taken for a mistake of ours.
"""

from __future__ import annotations

import functools
import os
import types
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from stepleak._folders import is_runtime_file, is_typed_in, runtime_folders

_P = ParamSpec("_P")
_T = TypeVar("_T")
_OUR_FOLDER = os.path.join(os.path.dirname(__file__), "")

held_errors: list[BaseException] = []
"""None, or one."""


def is_of_handler(error: Exception) -> bool:
    """Whether the function that raised is neither ours nor one that our code calls, of Python's library or torch's."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename
    return (not file.startswith("<") or is_typed_in(file)) and not is_runtime_file(file, runtime_folders())


def keep(error: BaseException) -> bool:
    """Whether it is the program's, as what is no Exception (Ctrl-C) always is; if so, it is kept for raise_held()."""
    is_program_s = not isinstance(error, Exception) or is_of_handler(error)
    if is_program_s and not held_errors:
        held_errors.append(error)
    return is_program_s


def held(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Of a function whose errors are but noted: keeps what a handler raises in it for raise_held()."""

    @functools.wraps(function)
    def calling(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            keep(error)
            raise

    return calling


def forget() -> None:
    """Of a run before."""
    held_errors.clear()


def raise_held() -> None:
    """Hands it to the program, without the frames that it was raised in, which are ours and hold what was looked at:
    but for those of the handler."""
    if not held_errors:
        return
    error = held_errors.pop()
    raise error.with_traceback(_of_handler(error.__traceback__))


def _of_handler(trace: types.TracebackType | None) -> types.TracebackType | None:
    rest, part = trace, trace
    while part is not None:
        if part.tb_frame.f_code.co_filename.startswith(_OUR_FOLDER):
            rest = part.tb_next
        part = part.tb_next
    # Where ours called another library, the handler came in between.
    runtime = runtime_folders()
    while rest is not None and is_runtime_file(rest.tb_frame.f_code.co_filename, runtime):
        rest = rest.tb_next
    return rest
