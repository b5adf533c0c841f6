# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Tests that were to be judged and cannot be: said of each, so that none passes as if it had been."""

from __future__ import annotations

from typing import Any

import pytest

from stepleak import _pytest_judge

VERDICT = "not judged"
_WHY = "only functions, coroutines and methods of classes can be repeated, and none that judge something themselves"


def note(item: pytest.Item) -> None:
    """After a test that was to be judged has passed. Under the marker it fails, since its author asked for it."""
    __tracebackhide__ = True
    if any(name == _pytest_judge.PROPERTY for name, _ in item.user_properties):
        return
    item.user_properties.append((_pytest_judge.PROPERTY, VERDICT))
    if item.get_closest_marker("no_leak") is not None:
        pytest.fail(f"no_leak cannot judge a {type(item).__name__}: {_WHY}", pytrace=False)


class Summary:
    """Lists them at the end of the session."""

    def __init__(self) -> None:
        self._tests: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and (_pytest_judge.PROPERTY, VERDICT) in map(tuple, report.user_properties):
            self._tests.append(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._tests:
            return
        terminalreporter.section("not judged by stepleak")
        for test in self._tests:
            terminalreporter.line(test)
        terminalreporter.line(_WHY)
