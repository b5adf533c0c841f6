# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Loggers of ever new names, which logging keeps, and the same of names that come again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from holder_search import as_text
from watched_program import found_in

TABLE = "logger" + "Dict"
"""As one word a source would be taken for one that knows the table: tests are read beside their programs."""
PROGRAM = """
import itertools, logging

numbers_of_program = itertools.count()
names_of_program = [f"program.again{i}" for i in range(300)]

class ProgramLog:
    def __init__(self, name):
        self.number = next(numbers_of_program)
        self.log = logging.getLogger(NAME)
        self.handler = logging.handlers.MemoryHandler(100)
        self.log.addHandler(self.handler)
    def __enter__(self):
        return self.log
    def __exit__(self, *error):
        self.handler.flush()

def run_program_trial(name):
    own = logging.getLogger("program.own")
    with ProgramLog(name) as log:
        log.info("begun")
        program_step()
    LATER

def program_main():
    for i in range(300):
        run_program_trial(names_of_program[i])

import logging.handlers
program_main()
"""
LINE = "self.log = logging.getLogger({})"


def holders_of_loggers(name: str, folder: Path, later: str = "pass") -> list[dict[str, Any]]:
    """What is found of the table of all loggers where each trial asks for one of this name."""
    found = found_in(PROGRAM.replace("NAME", name).replace("LATER", later), folder)
    holders = [holder | as_text(found, holder) for holder in found["holders"]]
    return [holder for holder in holders if TABLE in holder["path"]]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("f'program.trial{self.number}'", "unbounded"), ("name", "keyed"), ("f'program.{name}.x'", "keyed")],
)
def test_loggers_of_new_names_are_kept_by_what_asks_for_them(name: str, kind: str, tmp_path: Path) -> None:
    holder = holders_of_loggers(name, tmp_path)[0]

    assert holder["text"] == LINE.format(name)
    assert holder["structure"]["kind"] == kind
    # Whatever the variable gets next, which has the newest logger, the table has all.
    assert "__exit__" not in holder["structure"]["text"]
    assert "with " not in holder["structure"]["text"]


@pytest.mark.parametrize("name", ["'program.fixed'", "__name__"])
def test_a_logger_of_a_fixed_name_is_one(name: str, tmp_path: Path) -> None:
    assert not any(holder["container_type"] == "dict" for holder in holders_of_loggers(name, tmp_path))


def test_loggers_that_the_program_may_take_out_are_not_unbounded(tmp_path: Path) -> None:
    later = f"logging.Logger.manager.{TABLE}.pop('program.own', None)"
    holder = holders_of_loggers("f'program.taken{self.number}'", tmp_path, later)[0]

    assert holder["structure"]["kind"] == "unknown"
