# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""In a fresh process that a worker of pytest-xdist has started: its fixtures that name that worker.

`xdist.is_xdist_worker()` still says no: other plugins would talk to a controller that is not there.
"""

from __future__ import annotations

import pytest

HELP = "the worker of pytest-xdist that a fresh process runs for, and the run's id: not for users"


@pytest.fixture(scope="session")
def worker_id(request: pytest.FixtureRequest) -> str:
    return str(request.config.getoption("--stepleak-worker")[0])


@pytest.fixture(scope="session")
def testrun_uid(request: pytest.FixtureRequest) -> str:
    return str(request.config.getoption("--stepleak-worker")[1])
