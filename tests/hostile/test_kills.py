# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Killed at any instant: the baselines are those of before or those of after, each whole, and nothing runs on."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time

import pytest
from sandbox import Suite
from validators import check_baseline, check_junit

KILLS = int(os.environ.get("STEPLEAK_TEST_KILLS", "2"))


@pytest.mark.parametrize("verb", [["gate", "--junit", "g.xml"], ["baseline", "update"]], ids=["gate", "update"])
def test_kill_leaves_all_whole(verb: list[str], suite: Suite, stepleak: list[str]) -> None:
    begin = time.monotonic()
    end = suite.sandbox.call([*stepleak, *verb, *suite.arguments], {})
    assert end.code == 0, end.text
    whole = time.monotonic() - begin
    instants = random.Random(0)
    for _ in range(KILLS):
        # Of another torch: an update has all of them to write, and a gate fails for none.
        for file in (suite.sandbox.folder / "b/cpu").glob("*.json"):
            text = file.read_text(encoding="utf-8")
            file.write_text(re.sub('"torch": "[^"]*"', '"torch": "0.1"', text), encoding="utf-8")
        suite.sandbox.remember()
        started = suite.sandbox.start([*stepleak, *verb, *suite.arguments], {})
        try:
            # Rather late than early: what comes before the first step has nothing to lose.
            started.wait(instants.triangular(0, 1.1, 0.95) * whole)
        except subprocess.TimeoutExpired:
            started.send_signal(signal.SIGKILL)
        started.communicate(timeout=60)
        assert started.returncode in (0, -signal.SIGKILL)
        baselines = sorted((suite.sandbox.folder / "b/cpu").glob("*.json"))
        assert [file.stem for file in baselines] == ["mine_clean", "mine_leak"]
        for file in baselines:
            check_baseline(file.read_text(encoding="utf-8"))
        if (suite.sandbox.folder / "g.xml").exists():
            check_junit(suite.sandbox.folder / "g.xml")
        # A file that was not finished has another name, and nobody takes it for a baseline.
        unfinished = [
            str(file.relative_to(suite.sandbox.folder)) for file in suite.sandbox.folder.rglob("*.unfinished-*")
        ]
        names = [str(file.relative_to(suite.sandbox.folder)) for file in baselines]
        suite.sandbox.check_nothing_left([*unfinished, *names, "g.xml"])
