# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The command line, a sandbox a case, and the mark of the slow ones."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from sandbox import Sandbox


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: run by ci/hostile only")


@pytest.fixture(scope="session")
def stepleak() -> list[str]:
    command = shlex.split(os.environ.get("STEPLEAK_CLI", ""))
    if not command:
        pytest.skip("STEPLEAK_CLI names no command; run by: ci/test hostile")
    return command


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)
