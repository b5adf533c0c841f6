# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a test in a process of its own, and hands its reports on as if it had run here.

What a quick look leaves undecided is judged again in another process, at length, unless the user chose an effort.
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass, field
from typing import Any

import pytest

from stepleak import _pytest_judge, _pytest_process, _pytest_writer

_ENDING = (KeyboardInterrupt, pytest.exit.Exception)
"""What ends a session in pytest, and is no outcome of a test."""


def run(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """With all that pytest says of a test to other plugins. What the test before it left set up for this one, and the
    next one does not need, is torn down."""
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    told = _told_of(item)
    for report in told.reports:
        hook.pytest_runtest_logreport(report=report)
    for message in told.warned:
        arguments = {"warning_message": message, "when": "runtest", "nodeid": item.nodeid, "location": None}
        hook.pytest_warning_recorded.call_historic(kwargs=arguments)
    if told.ended is not None:
        raise told.ended
    if item.session.shouldfail or item.session.shouldstop:
        nextitem = None
    torn_down = pytest.CallInfo.from_call(
        lambda: item.session._setupstate.teardown_exact(nextitem), "teardown", reraise=_ENDING
    )
    if torn_down.excinfo is not None:
        hook.pytest_runtest_logreport(report=pytest.TestReport.from_item_and_call(item, torn_down))
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


@dataclass
class _Told:
    """Of a test, by its fresh process; `ended`: what is to end the session."""

    reports: list[pytest.TestReport] = field(default_factory=list)
    warned: list[warnings.WarningMessage] = field(default_factory=list)
    ended: BaseException | None = None


def _told_of(item: pytest.Item) -> _Told:
    """What other plugins raise meanwhile, as pytest-timeout does, is the test's outcome."""
    try:
        return _judged(item)
    except _ENDING:
        raise
    except BaseException as error:
        raised = error.with_traceback(None)  # where we waited is no news

    def again() -> None:
        __tracebackhide__ = True
        raise raised

    call = pytest.CallInfo.from_call(again, "call")
    return _Told([pytest.TestReport.from_item_and_call(item, call)])


def _judged(item: pytest.Item) -> _Told:
    effort = item.config.getoption("--stepleak-effort")
    if effort is not None:
        return _told_by(item, effort)
    told = _told_by(item, "quick")
    return _told_by(item, "standard") if any(map(_is_undecided, told.reports)) else told


def _is_undecided(report: pytest.TestReport) -> bool:
    return dict(report.user_properties).get(_pytest_judge.PROPERTY) == "inconclusive"


def _told_by(item: pytest.Item, effort: str) -> _Told:
    process, told = _pytest_process.run(item, effort), _Told()
    for data in process.told:
        if _pytest_writer.WARNING in data:
            told.warned.append(_warning_from(data[_pytest_writer.WARNING]))
        elif _pytest_writer.ENDED in data:
            told.ended = _ending_from(item, data[_pytest_writer.ENDED])
        else:
            told.reports.append(_report_from(item, data))
    if told.ended is None and not any(report.when == "teardown" for report in told.reports):
        told.reports.append(_died(item, process))
    return told


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


def _ending_from(item: pytest.Item, data: dict[str, Any]) -> BaseException:
    if not data["exits"]:
        return KeyboardInterrupt(f"in {item.nodeid}")
    return pytest.exit.Exception(data["why"], returncode=data["returncode"])


def _died(item: pytest.Item, process: _pytest_process.Ended) -> pytest.TestReport:
    how = f"was killed by signal {-process.status}" if process.status < 0 else f"exited with {process.status}"
    longrepr: Any = f"the test's process {how} before the test had ended\n{process.output}"
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome="failed",
        longrepr=longrepr,
        when="call",
        sections=[],
        duration=0,
    )
