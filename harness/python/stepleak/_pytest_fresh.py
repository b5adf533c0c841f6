# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a test in a process of its own, and hands its reports on as if it had run here.

What a quick look leaves undecided is judged again in another process, at length, unless the user chose an effort.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepleak import _pytest_judge, _pytest_known

HELP = "where a fresh process of --stepleak writes its reports: not for users"
HELP_PLACE = "the test that it runs: not for users"


_WARNING = "stepleak.warning"


class ReportWriter:
    """In the fresh process: runs one test, whatever else the ini file names; writes each report, and each warning of
    the test's that differs, as a line of JSON."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._file = Path(config.getoption("--stepleak-reports"))
        self._place = config.getoption("--stepleak-place")
        self._warned: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if _place_of(item) == self._place][:1]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._write(json.dumps(self._config.hook.pytest_report_to_serializable(config=self._config, report=report)))

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
        line = json.dumps({_WARNING: data})
        if line not in self._warned:
            self._warned.add(line)
            self._write(line)

    def _write(self, line: str) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def run(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """With all that pytest says of a test to other plugins. What the test before it left set up for this one, and the
    next one does not need, is torn down."""
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports, warned = _reports_of(item)
    for report in reports:
        hook.pytest_runtest_logreport(report=report)
    for message in warned:
        told = {"warning_message": message, "when": "runtest", "nodeid": item.nodeid, "location": None}
        hook.pytest_warning_recorded.call_historic(kwargs=told)
    torn_down = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(nextitem), "teardown")
    if torn_down.excinfo is not None:
        hook.pytest_runtest_logreport(report=pytest.TestReport.from_item_and_call(item, torn_down))
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


_Told = tuple[list[pytest.TestReport], list[warnings.WarningMessage]]


def _reports_of(item: pytest.Item) -> _Told:
    effort = item.config.getoption("--stepleak-effort")
    if effort is not None:
        return _judged(item, effort)
    told = _judged(item, "quick")
    return _judged(item, "standard") if any(map(_is_undecided, told[0])) else told


def _is_undecided(report: pytest.TestReport) -> bool:
    return dict(report.user_properties).get(_pytest_judge.PROPERTY) == "inconclusive"


def _judged(item: pytest.Item, effort: str) -> _Told:
    with _terminated_after(), tempfile.TemporaryDirectory(prefix="stepleak-") as folder:
        file = Path(folder) / "reports"
        file.touch()
        done = subprocess.run(
            _command(item.config, _place_of(item), file, effort, Path(folder) / "cache"),
            cwd=item.config.rootpath,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        lines = file.read_text(encoding="utf-8").splitlines()
    told = [json.loads(line) for line in lines]
    reports = [_report_from(item, data) for data in told if _WARNING not in data]
    if not any(report.when == "teardown" for report in reports):
        reports.append(_died(item, done))
    return reports, [_warning_from(data[_WARNING]) for data in told if _WARNING in data]


class _Terminated(BaseException):
    pass


@contextlib.contextmanager
def _terminated_after() -> Iterator[None]:
    """SIGTERM, which would end this process at once, ends what is below first: its process, and its files."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:  # another's handler knows what it does
        yield
        return

    def end(*_: object) -> None:
        raise _Terminated

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    except _Terminated:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _place_of(item: pytest.Item) -> str:
    """Its id with the whole path: what an id begins with depends on where pytest was called and on what."""
    _, separator, within = item.nodeid.partition("::")
    return f"{item.path}{separator}{within}"


def _report_from(item: pytest.Item, data: dict[str, Any]) -> pytest.TestReport:
    data["nodeid"] = item.nodeid
    # JSON has no tuples, which pytest insists on for the reason of a skip.
    for name in ("location", "longrepr"):
        if isinstance(data[name], list):
            data[name] = tuple(data[name])
    report: pytest.TestReport = item.config.hook.pytest_report_from_serializable(config=item.config, data=data)
    return report


def _warning_from(data: dict[str, Any]) -> warnings.WarningMessage:
    module, name = data["category"]
    try:
        category: Any = getattr(importlib.import_module(module), name)
        message = category(data["message"])
    except Exception:  # of a class within a function, or one that is made of something else
        category, message = UserWarning, UserWarning(f"{name}: {data['message']}")
    return warnings.WarningMessage(message, category, data["filename"], data["lineno"])


def _command(config: pytest.Config, place: str, file: Path, effort: str, cache: Path) -> list[str]:
    command = [sys.executable, "-m", "pytest", place, "--stepleak", f"--stepleak-reports={file}"]
    command.append(f"--stepleak-place={place}")
    command += [f"--stepleak-effort={effort}", f"--rootdir={config.rootpath}"]
    command += _pytest_known.arguments(config)
    for filtered in config.getoption("pythonwarnings") or []:
        command += ["-W", filtered]
    command.append(f"--import-mode={config.getoption('importmode')}")
    if config.pluginmanager.hasplugin("xdist"):
        command += ["-n", "0"]  # whatever the ini file says: this is one test
    if config.inipath is not None:
        command += ["-c", str(config.inipath)]
    for plugin in dict.fromkeys([*(config.getoption("plugins") or []), "stepleak.pytest_plugin"]):
        command += ["-p", plugin]
    for setting in config.getoption("override_ini") or []:
        command += ["-o", setting]
    if config.pluginmanager.hasplugin("cacheprovider"):
        # Tests and the ini file (`--ff`) may use it; what failed last is for the outer pytest to remember.
        command += ["-o", f"cache_dir={cache}"]
    return command


def _died(item: pytest.Item, done: subprocess.CompletedProcess[str]) -> pytest.TestReport:
    how = f"was killed by signal {-done.returncode}" if done.returncode < 0 else f"exited with {done.returncode}"
    output: Any = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome="failed",
        longrepr=f"the test's process {how} before the test had ended\n{output}",
        when="call",
        sections=[],
        duration=0,
    )
