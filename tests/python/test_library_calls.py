# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which call of the user's fills a container that is an attribute of a library's object."""

from __future__ import annotations

import contextlib
import logging
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
import torch
from stepleak._access import Access, Place
from stepleak._library_calls import LibraryCalls
from stepleak._sources import Sources
from watched_program import found_in


class CountedLayer(torch.nn.Module):
    """Fills by a call of the module."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs: list[torch.Tensor] = []

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        self.inputs.append(inputs)
        return inputs


@pytest.mark.parametrize(
    ("owner", "attribute", "names"),
    [
        (logging.getLogger(__name__), "handlers", {"addHandler"}),
        (Future(), "_done_callbacks", {"add_done_callback"}),
        (torch.optim.SGD([torch.zeros(1)], lr=1), "param_groups", {"add_param_group"}),
        (CountedLayer(), "inputs", {"forward", "__call__"}),
        (logging.getLogger(__name__), "level", set()),
        ([], "append", set()),
    ],
)
def test_methods_that_fill_are_found_in_the_sources_of_the_class(owner: Any, attribute: str, names: set[str]) -> None:
    assert names <= LibraryCalls().methods_filling(owner, attribute)
    assert bool(names) == bool(LibraryCalls().methods_filling(owner, attribute))


def test_methods_that_call_one_that_fills_are_among_them() -> None:
    assert {"callback", "push", "enter_context"} <= LibraryCalls().methods_filling(
        contextlib.ExitStack(), "_exit_callbacks"
    )


PROGRAM = """
from concurrent.futures import Future
import functools, torch

class ProgramShutdown:
    def __init__(self):
        self.ended_some_day = Future()
    def note_in_program(self, number):
        self.ended_some_day.done()
        self.ended_some_day.add_done_callback(functools.partial(print, number))

def program_main():
    shutdown = ProgramShutdown()
    for number in range(100):
        shutdown.note_in_program(number)
        program_step()

program_main()
"""


def test_the_call_of_such_a_method_is_what_keeps(tmp_path: Path) -> None:
    holder = next(h for h in found_in(PROGRAM, tmp_path)["holders"] if h["container"] >= 0)
    assert holder["kept_by"]["text"] == "self.ended_some_day.add_done_callback(functools.partial(print, number))"


MODULES = """
import torch

class ProgramTasks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.heads_of_program = torch.nn.ModuleDict()
    def begin_task(self, number):
        head = torch.nn.Linear(2, 2)
        self.heads_of_program[f"task_{number}"] = head

def program_main():
    tasks = ProgramTasks()
    for number in range(100):
        tasks.begin_task(number)
        program_step()

program_main()
"""


# A class of the user's that has the name of one of torch's.
NAMESAKE = """
class Module:
    pass
"""


@pytest.mark.parametrize("program", [MODULES, NAMESAKE + MODULES])
def test_an_item_that_is_set_calls_a_method_too(program: str, tmp_path: Path) -> None:
    holder = next(h for h in found_in(program, tmp_path)["holders"] if h["container"] >= 0)
    assert holder["kept_by"]["text"] == "self.heads_of_program[f'task_{number}'] = head"


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["self.scores.compute()", "self.scores.update(batch)"], 4),
        (["self.scores.update(batch)", "self.others.update(batch)"], 3),
        (["self.scores(batch)", "self.others(batch)"], 3),
        (["self.scores.update(batch)", "self.scores.update(batch[:1])"], 0),
        (["self.scores.update", "update(batch)"], 0),
        (["self.scores[0] = batch", "self.others[0] = batch", "last = self.scores[0]"], 3),
    ],
)
def test_only_one_call_of_such_a_method_is_named(lines: list[str], line: int, tmp_path: Path) -> None:
    file = tmp_path / "board.py"
    body = "".join(f"        {text}\n" for text in lines)
    file.write_text(f"class Board:\n    def note(self, batch):\n{body}", encoding="utf-8")
    place = Place(
        [Access("attribute", "scores", frozenset({"Board"})), Access("attribute", "kept")], [], is_container=True
    )
    statement = Sources({str(file): set()}).statement_calling_method(
        place, {"update", "forward", "__call__", "__setitem__"}
    )
    assert statement["line"] == line
