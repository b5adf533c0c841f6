# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""In a fresh process of --stepleak: runs its one test, and writes down what is said of it."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import warnings
from pathlib import Path
from typing import Any

import pytest

from stepleak import _pytest_worker

HELP = "where a fresh process of --stepleak writes its reports: not for users"
HELP_PLACE = "the test that it runs: not for users"
HELP_PARENT = "the process that it ends with: not for users"

WARNING = "stepleak.warning"
ENDED = "stepleak.ended"

_PR_SET_PDEATHSIG = 1


def configure(config: pytest.Config) -> None:
    if not config.getoption("--stepleak-reports"):
        return
    _end_with(config.getoption("--stepleak-parent"))
    config.pluginmanager.register(_ReportWriter(config), "stepleak-reports")
    if config.getoption("--stepleak-worker"):
        config.pluginmanager.register(_pytest_worker, "stepleak-worker")


def place_of(item: pytest.Item) -> str:
    """Its id with the whole path: what an id begins with depends on where pytest was called and on what."""
    _, separator, within = item.nodeid.partition("::")
    return f"{item.path}{separator}{within}"


def _end_with(parent: int) -> None:
    """Nobody reads of a test whose session was killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        os.kill(parent, 0)
    except ProcessLookupError:  # before that was asked for
        os._exit(1)


class _ReportWriter:
    """Runs one test, whatever else the ini file names; writes each report, and each warning of the test's that
    differs, as a line of JSON. A process that the test forks writes nothing."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._file = Path(config.getoption("--stepleak-reports"))
        self._place = config.getoption("--stepleak-place")
        self._path = Path(self._place.partition("::")[0])
        self._process = os.getpid()
        self._warned: set[str] = set()

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """All but its file, where a folder above that was named instead."""
        return True if "[" in str(self._path) and not self._path.is_relative_to(collection_path) else None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if place_of(item) == self._place][:1]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        data["user_properties"] = [(name, _plain(value)) for name, value in data["user_properties"]]
        self._write(data)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        error = excinfo.value
        exits, returncode = isinstance(error, pytest.exit.Exception), getattr(error, "returncode", None)
        self._write({ENDED: {"exits": exits, "why": str(error), "returncode": returncode}})

    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage, when: str) -> None:
        """Each step warns anew. What the import of its file warns of, the outer pytest has seen."""
        if when != "runtest":
            return
        category = warning_message.category
        data = {
            "category": [category.__module__, category.__name__],
            "message": str(warning_message.message),
            "filename": warning_message.filename,
            "lineno": warning_message.lineno,
        }
        line = json.dumps(data)
        if line not in self._warned:
            self._warned.add(line)
            self._write({WARNING: data})

    def _write(self, data: dict[str, Any]) -> None:
        if os.getpid() != self._process:
            return
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(data, default=str) + "\n")


def _plain(value: object) -> object:
    """What a test records (`record_property`) need be no JSON; pytest's own reports print it."""
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return str(value)
    return value
