# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Killed at any instant: the baselines are those of before or those of after, each whole, and nothing runs on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time

import pytest
from cases import tables
from sandbox import Sandbox
from validators import check_baseline, check_junit

KILLS = int(os.environ.get("STEPLEAK_TEST_KILLS", "2"))


@pytest.fixture
def suite(sandbox: Sandbox, stepleak: list[str]) -> Sandbox:
    case = next(case for case in tables("command") if case["file"] == "gate")
    for name, text in case["files"].items():
        sandbox.write(name, text)
    assert sandbox.call([*stepleak, "baseline", "update", *FOLDERS], {}).code == 0
    return sandbox


FOLDERS = ["--scenarios", "s", "--baselines", "b", "--device", "cpu", "--suite", "mine_*", "--effort", "quick"]


@pytest.mark.parametrize("verb", [["gate", "--junit", "g.xml"], ["baseline", "update"]], ids=["gate", "update"])
def test_kill_leaves_all_whole(verb: list[str], suite: Sandbox, stepleak: list[str]) -> None:
    begin = time.monotonic()
    end = suite.call([*stepleak, *verb, *FOLDERS], {})
    assert end.code == 0, end.text
    whole = time.monotonic() - begin
    instants = random.Random(0)
    for _ in range(KILLS):
        # An update that has all of them to write.
        for file in (suite.folder / "b/cpu").glob("*.json"):
            file.write_text(file.read_text(encoding="utf-8").replace('"0.1', '"0.0'), encoding="utf-8")
        suite.remember()
        started = suite.start([*stepleak, *verb, *FOLDERS], {})
        try:
            # Rather late than early: what comes before the first step has nothing to lose.
            started.wait(instants.triangular(0, 1.1, 0.95) * whole)
        except subprocess.TimeoutExpired:
            started.send_signal(signal.SIGKILL)
        started.communicate(timeout=60)
        assert started.returncode in (0, -signal.SIGKILL)
        baselines = sorted((suite.folder / "b/cpu").glob("*.json"))
        assert [file.stem for file in baselines] == ["mine_clean", "mine_leak"]
        for file in baselines:
            check_baseline(file.read_text(encoding="utf-8"))
        if (suite.folder / "g.xml").exists():
            check_junit(suite.folder / "g.xml")
        # A file that was not finished has another name, and nobody takes it for a baseline.
        unfinished = [str(file.relative_to(suite.folder)) for file in suite.folder.rglob("*.unfinished-*")]
        names = [str(file.relative_to(suite.folder)) for file in baselines]
        suite.check_nothing_left([*unfinished, *names, "g.xml"])
