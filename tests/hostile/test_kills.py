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
from collections import Counter
from pathlib import Path

import pytest
from sandbox import Sandbox, Suite
from validators import check_baseline, check_junit

KILLS = int(os.environ.get("STEPLEAK_TEST_KILLS", "2"))
KILLS_A_PART = 25
"""A part is a test of its own, so that pytest-xdist can run several at once."""
PARTS = range(0, KILLS, KILLS_A_PART)
NAMES = [f"small_{number}" for number in range(8)]
WRITING_SECONDS = 0.03
"""What eight baselines take, each with its fsync(), and some more."""

# What is killed is a program that starts, forks and writes: the steps themselves may be as short as there are.
SCENARIO = """

@clean(report="me/small#1")
def {}(device):
    '''Keeps nothing.'''
    return lambda: torch.ones(8).sum().item()
"""


@pytest.fixture
def small_suite(sandbox: Sandbox, stepleak: list[str]) -> Suite:
    imports = "import torch\n\nfrom stepleak.scenario import clean\n"
    sandbox.write("s/small.py", imports + "".join(SCENARIO.format(name) for name in NAMES))
    arguments = ["--scenarios", "s", "--baselines", "b", "--device", "cpu", "--suite", "small_*", "--effort", "quick"]
    assert sandbox.call([*stepleak, "baseline", "update", *arguments], {}).code == 0
    return Suite(sandbox, arguments)


def wait_for_writing(started: subprocess.Popen[bytes], folder: Path) -> None:
    before = folder.stat().st_mtime_ns
    while started.poll() is None and folder.stat().st_mtime_ns == before:
        time.sleep(0.0005)


def make_outdated(baselines: Path) -> None:
    """Of another torch: an update has all of them to write, and a gate fails for none."""
    for file in baselines.glob("*.json"):
        text = file.read_text(encoding="utf-8")
        file.write_text(re.sub('"torch": "[^"]*"', '"torch": "0.1"', text), encoding="utf-8")


def kill(started: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        started.wait(seconds)
    except subprocess.TimeoutExpired:
        started.send_signal(signal.SIGKILL)
    started.communicate(timeout=60)
    assert started.returncode in (0, -signal.SIGKILL)


def check_whole(folder: Path) -> int:
    """How many are those of after."""
    texts = {file.stem: file.read_text(encoding="utf-8") for file in folder.glob("*.json")}
    assert sorted(texts) == NAMES
    for text in texts.values():
        check_baseline(text)
    return sum('"torch": "0.1"' not in text for text in texts.values())


@pytest.mark.parametrize("first", PARTS, ids=str)
@pytest.mark.parametrize("verb", [["gate", "--junit", "g.xml"], ["baseline", "update"]], ids=["gate", "update"])
def test_kill_leaves_all_whole(verb: list[str], first: int, small_suite: Suite, stepleak: list[str]) -> None:
    sandbox = small_suite.sandbox
    baselines = sandbox.folder / "b/cpu"
    command = [*stepleak, *verb, *small_suite.arguments]
    begin = time.monotonic()
    end = sandbox.call(command, {})
    assert end.code == 0, end.text
    whole = time.monotonic() - begin
    instants = random.Random(first)
    ends: Counter[str] = Counter()
    numbers = range(first, min(first + KILLS_A_PART, KILLS))
    for number in numbers:
        make_outdated(baselines)
        sandbox.remember()
        started = sandbox.start(command, {})
        # Half of them anywhere, and of an update half where it writes, which is a hundredth of its time.
        if verb[0] == "baseline" and number % 2 == 0:
            wait_for_writing(started, baselines)
            kill(started, instants.uniform(0, WRITING_SECONDS))
        else:
            kill(started, instants.uniform(0, 1.1) * whole)
        written = check_whole(baselines)
        ends["none" if written == 0 else "all" if written == len(NAMES) else "some"] += 1
        if (sandbox.folder / "g.xml").exists():
            check_junit(sandbox.folder / "g.xml")
        # A file that was not finished has another name, and nobody takes it for a baseline.
        unfinished = [str(file.relative_to(sandbox.folder)) for file in sandbox.folder.rglob("*.unfinished-*")]
        ends["unfinished"] += bool(unfinished)
        names = [f"b/cpu/{name}.json" for name in NAMES]
        sandbox.check_nothing_left([*unfinished, *names, "g.xml"])
        for name in unfinished:
            (sandbox.folder / name).unlink()
    print(f"{len(numbers)} kills of {verb[0]}; baselines written: {dict(ends)}")
