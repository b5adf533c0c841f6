# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Known leaks in pytest: what they let be, and what is said of their entries at the end."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from stepleak import _known

HELP = "leaks that are let be, with their reasons: a TOML file (docs/known-leaks.md)"
_ENTRIES = pytest.StashKey[list[_known.Entry]]()
# Tests of fresh processes tell by this which entries they matched.
_PROPERTY = "stepleak.known"


def configure(config: pytest.Config, is_fresh: bool) -> None:
    name = config.getoption("--stepleak-known")
    if not name:
        return
    try:
        config.stash[_ENTRIES] = _known.read(config.invocation_params.dir / name)
    except _known.KnownError as wrong:
        raise pytest.UsageError(f"{wrong.args[0]}; {wrong.args[1]}") from None
    if not is_fresh:
        config.pluginmanager.register(_Summary(config.stash[_ENTRIES]), "stepleak-known")


def arguments(config: pytest.Config) -> list[str]:
    """For a fresh process, which may run in another folder."""
    name = config.getoption("--stepleak-known")
    return [f"--stepleak-known={Path(config.invocation_params.dir) / name}"] if name else []


def is_known(item: pytest.Item, result: Any, ignored: list[_known.Entry]) -> bool:
    """Whether every finding of a leak is known or ignored; notes in the test's report which entries matched."""
    entries = item.config.stash.get(_ENTRIES, [])
    before = [entry.matches for entry in entries]
    known, reasons = _known.is_known([*entries, *ignored], result.json, date.today())
    for number, (entry, count) in enumerate(zip(entries, before, strict=True)):
        if entry.matches > count:
            item.user_properties.append((_PROPERTY, number))
    for reason in reasons:
        item.add_report_section("call", "stepleak", f"known: {reason}")
    return known


class _Summary:
    """Says of entries that match nothing, and fails where one has expired."""

    def __init__(self, entries: list[_known.Entry]) -> None:
        self._entries = entries
        self._matched: set[int] = set()
        self._expired = [entry for entry in entries if entry.is_expired(date.today())]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._matched.update(int(str(value)) for name, value in report.user_properties if name == _PROPERTY)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._expired and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        unmatched = [entry for number, entry in enumerate(self._entries) if number not in self._matched]
        if not unmatched and not self._expired:
            return
        terminalreporter.section("known leaks")
        for entry in unmatched:
            terminalreporter.line(f"an entry that matches nothing here: {entry.name}: {entry.why}")
        for entry in self._expired:
            terminalreporter.line(f"an entry has expired on {entry.expires}, and fails: {entry.name}: {entry.why}")
