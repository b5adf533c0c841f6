# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of libraries that are known by their names, in files of the user's in which nothing that stays was made."""

from __future__ import annotations

import logging
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from holder_search import STEPS, search
from stepleak._named_loggers import registered

ADDING = "logger.add" + "Handler({})"
"""As one word this file would be one of those that do so: tests are read beside their programs."""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Makes a file one of the user's modules, without the tests that do the same."""

    def load_one(text: str) -> str:
        file = tmp_path / "logs_of_program.py"
        file.write_text(text, encoding="utf-8")
        module = types.ModuleType("logs_of_program")
        module.__file__ = str(file)
        monkeypatch.setitem(sys.modules, "logs_of_program", module)
        for other in [name for name in sys.modules if name.startswith("test_")]:
            monkeypatch.delitem(sys.modules, other)
        return str(file)

    return load_one


def holder_of_handlers() -> dict[str, Any]:
    """Of a logger that only its name leads to, and that gets one more handler in each step."""
    name = "stepleak.tests.of_its_name"
    logging.getLogger(name)  # makes it

    def keep() -> list[int]:
        for _ in range(STEPS):
            logging.getLogger(name).handlers.append(logging.NullHandler())
        return []

    try:
        found = [holder for holder in search(None, keep)["holders"] if ".handlers" in holder["path"]]
    finally:
        logging.getLogger(name).handlers.clear()
    return found[0]


def function(*lines: str) -> str:
    return "def log_to(logger, handler):\n    " + "\n    ".join(lines) + "\n"


def test_handler_is_added_in_a_file_in_which_nothing_was_made(load: Callable[[str], str]) -> None:
    statement = ADDING.format("handler")
    file = load(function("handler.setLevel(0)", statement))
    holder = holder_of_handlers()
    assert (holder["file"], holder["line"], holder["text"]) == (file, 3, statement)


def test_handler_that_is_taken_away_again_is_not_the_one(load: Callable[[str], str]) -> None:
    kept, other = ADDING.format("handler"), ADDING.format("other")
    load(function(other, "logger.removeHandler(other)", kept))
    assert holder_of_handlers()["text"] == kept


def test_of_two_that_are_added_none_is_surely_the_one(load: Callable[[str], str]) -> None:
    both = [function(ADDING.format(name)).replace("log_to", f"log_{name}") for name in ("handler", "logger")]
    load("\n".join(both))
    assert holder_of_handlers()["text"] == ""


def test_group_of_processes_that_is_not_destroyed(load: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("groups_of_processes")
    tables: Any = vars(module)
    tables["_tags_to_pg"] = {"": [object()]}
    monkeypatch.setitem(sys.modules, module.__name__, module)
    making = "dist.new" + "_group([0])"
    lines = [f"once = {making}", "dist.destroy_process_group(once)", f"group = {making}"]
    load(function(*lines))

    def keep() -> list[int]:
        for _ in range(STEPS):
            tables["_tags_to_pg"][f"user:{len(tables['_tags_to_pg'])}"] = [object()]
        return []

    found = search(None, keep)["holders"]
    holder = next(h for h in found if "_tags_to_pg" in h["path"])
    assert (holder["line"], holder["text"]) == (4, lines[-1])


def test_logger_is_told_by_its_name() -> None:
    assert holder_of_handlers()["path"].startswith("logging.getLogger('stepleak.tests.of_its_name') (Logger) .handlers")


def test_logger_of_an_object_is_told_as_its_attribute() -> None:
    root: Any = types.SimpleNamespace(log=logging.Logger("of no table"))

    def keep() -> list[int]:
        for _ in range(STEPS):
            root.log.handlers.append(logging.NullHandler())
        return []

    (holder,) = search(root, keep)["holders"]
    assert holder["path"].startswith("SimpleNamespace (SimpleNamespace) .log (Logger) .handlers")


def test_a_logger_that_has_a_name_lives_on_whatever_takes_its_place() -> None:
    named, own = logging.getLogger("stepleak.tests.of_its_name"), logging.Logger("of no table")
    assert registered([{"logger": named}, named]) == 1
    assert registered([{"logger": own}, own]) == -1
    assert registered([named, own]) == -1
    assert registered([]) == -1
