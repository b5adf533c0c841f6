# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""How far a run is: one line of a terminal, plain lines of a log, and nothing in the way of a script."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest
from conftest import CommandLine

STEP = """
import time
import torch
kept = []

def step():
    kept.append(torch.zeros(256))
    kept[:-3] = []
    time.sleep(0.02)
"""
# A locale that says that the terminal has the characters of a spark line, and what else must not come from outside.
TERMINAL = {"TERM": "xterm", "LC_ALL": "C.UTF-8", "CI": "", "NO_COLOR": ""}


def on_a_terminal(stepleak: CommandLine, *arguments: str, columns: int = 120, code: int = 0, **variables: str) -> str:
    """Everything that a terminal is sent."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [*stepleak._command, *arguments],
        cwd=stepleak.folder,
        env={**os.environ, **TERMINAL, **variables},
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    seen = b""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if not select.select([leader], [], [], 0.1)[0]:
            continue
        try:
            part = os.read(leader, 1 << 16)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        seen += part
    os.close(leader)
    assert process.wait(timeout=60) == code, seen
    return seen.decode()


@pytest.fixture(name="folder")
def write_step(stepleak: CommandLine) -> CommandLine:
    stepleak.write("slow.py", STEP)
    return stepleak


def lines_over(text: str) -> list[str]:
    """What was written over and over, without the blanks in between."""
    return [part for part in text.split("\r") if "slow.py:step · step" in part]


def test_a_terminal_has_one_line_with_steps_rate_bytes_and_what_is_awaited(folder: CommandLine) -> None:
    text = on_a_terminal(folder, "run", "slow.py:step")
    shown = lines_over(text)
    assert len(shown) >= 2, text
    assert all(len(line) < 120 for line in shown)
    assert re.search(r"step \d+ · \d+ steps/s · cpu [\d.]+ KiB [▁-█]+ · awaiting step 64 for clean$", shown[-1]), text
    # It is gone once the verdict is there.
    assert re.search(r"\r +\r\x1b?[^\n]*slow.py:step is clean|\r +\rslow.py:step is clean", text), text


def test_a_narrow_terminal_without_colours_is_written_over_without_escapes(folder: CommandLine) -> None:
    text = on_a_terminal(folder, "run", "slow.py:step", columns=40, NO_COLOR="1")
    shown = lines_over(text)
    assert shown, text
    assert all(len(line) < 40 for line in shown)
    assert "\x1b" not in text


def report_on_a_terminal(stepleak: CommandLine, columns: int, **variables: str) -> str:
    stepleak.write("leak.py", "import torch\nkept = []\n\ndef step():\n    kept.append(torch.ones(64))\n")
    text = on_a_terminal(stepleak, "run", "leak.py:step", "--progress", "never", columns=columns, code=1, **variables)
    return text.replace("\r\n", "\n")


TWIN = '''"""Scenarios of ours."""

import torch
from stepleak.scenario import clean


@clean(report="somebody-with-a-long-name/of-a-repository-that-has-one-too#12345")
def what_a_scenario_with_a_long_name_keeps_is_nothing(device):
    """A story that is longer than a narrow terminal is wide, so that it has to be broken between two of its words."""
    return lambda: torch.ones(4)
'''


@pytest.mark.parametrize("verb", ["list", "gate", "doctor"])
def test_tables_fit_a_narrow_terminal(stepleak: CommandLine, verb: str) -> None:
    stepleak.write("mine/scenarios.py", TWIN)
    arguments = {
        "list": ["*nothing", "--stories", "--scenarios", "mine"],
        "gate": ["--suite", "*nothing", "--scenarios", "mine", "--baselines", "none", "--progress", "never"],
        "doctor": [],
    }[verb]
    code = 1 if verb == "gate" else 0  # a scenario without a baseline
    narrow = on_a_terminal(stepleak, verb, *arguments, columns=60, code=code, NO_COLOR="1").replace("\r\n", "\n")
    assert "\x1b" not in narrow
    too_long = [line for line in narrow.splitlines() if len(line) > 60]
    # But for a word that alone is longer than its column, such as a path.
    assert all(len(line.split()[-1]) > 30 for line in too_long), too_long
    wide = on_a_terminal(stepleak, verb, *arguments, columns=200, code=code, NO_COLOR="1").replace("\r\n", "\n")
    assert len(wide.splitlines()) < len(narrow.splitlines())


@pytest.mark.parametrize("columns", [40, 60])
def test_a_report_fits_a_narrow_terminal(stepleak: CommandLine, columns: int) -> None:
    text = report_on_a_terminal(stepleak, columns, NO_COLOR="1")
    assert "\x1b" not in text
    assert all(len(line) <= columns for line in text.splitlines()), text
    assert re.search(r"\n  where   leak.py:5 in step", text), text
    assert re.search(r"\n  limit   .*\n {10}\S", text), text


def test_the_source_line_is_underlined_where_the_terminal_takes_it(stepleak: CommandLine) -> None:
    assert "\x1b[4mkept.append(torch.ones(64))\x1b[0m" in report_on_a_terminal(stepleak, 120)
    assert "\x1b" not in report_on_a_terminal(stepleak, 120, TERM="dumb")
    assert "\x1b" not in report_on_a_terminal(stepleak, 120, NO_COLOR="1")


@pytest.mark.parametrize(
    ("choice", "variables"),
    [("auto", {"TERM": "dumb"}), ("auto", {"CI": "true"}), ("never", {})],
    ids=["dumb", "ci", "never"],
)
def test_no_line_is_written_over_where_that_makes_a_mess(
    choice: str, variables: dict[str, str], folder: CommandLine
) -> None:
    text = on_a_terminal(folder, "run", "slow.py:step", "--progress", choice, **variables)
    assert lines_over(text.replace("\r\n", "\n")) == []
    assert "slow.py:step is clean" in text


def test_a_log_gets_plain_lines(folder: CommandLine) -> None:
    folder.write("slow.py", STEP.replace("0.02", "0") + "time.sleep(11)  # longer than between two lines\n")
    outcome = folder("run", "slow.py:step")
    assert outcome.err.splitlines()[0] == "stepleak: slow.py:step · awaiting the first step"
    assert "slow.py:step is clean" in outcome.out


def test_a_watched_scripts_terminal_is_its_own_unless_lines_are_asked_for(folder: CommandLine) -> None:
    script = Path(folder.folder / "train.py")
    script.write_text(
        STEP + "w = torch.zeros(2, requires_grad=True)\no = torch.optim.SGD([w], lr=0.1)\n"
        "for _ in range(70):\n    step()\n    w.sum().backward()\n    o.step()\nprint('the end')\n",
        encoding="utf-8",
    )
    text = on_a_terminal(folder, "watch", "train.py")
    assert text.startswith("the end"), text
    shown = on_a_terminal(folder, "watch", "--progress", "line", "train.py")
    assert "train.py · step" in shown, shown
