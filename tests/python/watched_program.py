# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A program of its own file that runs for some steps, and what the search for holders finds while it does."""

from __future__ import annotations

import gc
import sys
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepleak._core import frame_locals
from stepleak._holders import HolderSearch

STEPS = 8
_FIRST = 4


class _Done(BaseException):
    pass


def found_in(program: str, folder: Path, born_in: frozenset[int] = frozenset()) -> dict[str, Any]:
    """The program calls `program_step()` after each step, and `program_tensor(x)` with tensors to search for.

    Or it has a step that it does not call itself, and calls `program_check(step)`, which repeats that. Its names are
    its own: the tests beside it are read as well. `born_in`: lines in which its tensors are made. What a
    search returns, of the tensors that were told of in STEPS steps.
    """
    file = folder / "program.py"
    file.write_text(textwrap.dedent(program), encoding="utf-8")
    search = HolderSearch(None, frame_locals)
    addresses: list[int] = []
    found: dict[str, Any] = {}
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1
        if steps == _FIRST:
            search.begin()
            gc.freeze()
            addresses.clear()
        if steps == _FIRST + STEPS:
            search.end()
            gc.unfreeze()
            found.update(search.search(addresses, {str(file): set(born_in)}, STEPS))
            raise _Done

    def check(repeated: Callable[[], Any]) -> None:
        nonlocal search
        search = HolderSearch(repeated, frame_locals)
        while True:
            repeated()
            step()

    module = types.ModuleType("program")
    module.__file__ = str(file)
    vars(module)["program_step"] = step
    vars(module)["program_check"] = check
    vars(module)["program_tensor"] = lambda tensor: addresses.append(tensor._cdata)
    sys.modules["program"] = module
    try:
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), vars(module))
    except _Done:
        pass
    finally:
        gc.unfreeze()
        del sys.modules["program"]
    return found


def kind_found_in(program: str, folder: Path) -> str:
    """What bounds the first container that is found, by its kind."""
    holder = next(h for h in found_in(program, folder)["holders"] if h["container"] >= 0)
    kind: str = holder["structure"]["kind"]
    return kind
