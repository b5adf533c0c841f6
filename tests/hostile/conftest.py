# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The command line, a sandbox a case, and the marks of the slow and the daily ones."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from cases import tables
from sandbox import Sandbox, Suite


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: run by ci/hostile only")
    config.addinivalue_line("markers", "daily: of what starts many workers, run by a plain ci/test all the same")


@pytest.fixture(scope="session")
def stepleak() -> list[str]:
    command = shlex.split(os.environ.get("STEPLEAK_CLI", ""))
    if not command:
        pytest.skip("STEPLEAK_CLI names no command; run by: ci/test hostile")
    return command


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


@pytest.fixture
def suite(sandbox: Sandbox, stepleak: list[str]) -> Suite:
    """The scenarios of cases/gate.toml with their baselines."""
    case = next(case for case in tables("command") if case["file"] == "gate")
    for name, text in case["files"].items():
        sandbox.write(name, text)
    arguments = ["--scenarios", "s", "--baselines", "b", "--device", "cpu", "--suite", "mine_*", "--effort", "quick"]
    assert sandbox.call([*stepleak, "baseline", "update", *arguments], {}).code == 0
    return Suite(sandbox, arguments)
