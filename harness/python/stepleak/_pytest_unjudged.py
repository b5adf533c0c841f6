# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Tests that were to be judged and cannot be: said of each, so that none passes as if it had been."""

from __future__ import annotations

from typing import Any

import pytest

from stepleak import _pytest_judge

VERDICT = "not judged"
CANNOT = "only functions, coroutines and methods of classes can be repeated, and none that judge something themselves"
UNCALLED = "a test that names the fixture no_leak hands it a step, and these have not"
_REASON = f"{_pytest_judge.PROPERTY}.reason"


def note(item: pytest.Item, reason: str) -> None:
    """After a test that was to be judged has passed. Under the marker it fails, since its author asked for it."""
    __tracebackhide__ = True
    if any(name == _pytest_judge.PROPERTY for name, _ in item.user_properties):
        return
    item.user_properties += [(_pytest_judge.PROPERTY, VERDICT), (_REASON, reason)]
    if item.get_closest_marker("no_leak") is not None:
        pytest.fail(f"no_leak cannot judge a {type(item).__name__}: {reason}", pytrace=False)


class Summary:
    """Lists them at the end of the session."""

    def __init__(self) -> None:
        self._tests: dict[str, list[str]] = {CANNOT: [], UNCALLED: []}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = dict(report.user_properties)
        if report.when == "call" and told.get(_pytest_judge.PROPERTY) == VERDICT:
            self._tests[str(told[_REASON])].append(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not any(self._tests.values()):
            return
        terminalreporter.section("not judged by stepleak")
        for reason, tests in self._tests.items():
            for test in tests:
                terminalreporter.line(test)
            if tests:
                terminalreporter.line(reason)
