# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which commit brought a leak, by git's own bisection."""

from __future__ import annotations

import subprocess

import pytest
from conftest import CommandLine

CLEAN = """
import torch
from torch import nn
model = nn.Linear(4, 2)
kept = []

def step():
    loss = model(torch.ones(3, 4)).sum()
    loss.backward()
    kept[:] = [loss.item()]
"""
LEAKING = CLEAN.replace("kept[:] = [loss.item()]", "kept.append(loss)")


def git(stepleak: CommandLine, *arguments: str) -> str:
    identity = ["-c", "user.name=tester", "-c", "user.email=tester@localhost"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=stepleak.folder, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def test_git_finds_the_commit_and_skips_what_cannot_be_told(stepleak: CommandLine) -> None:
    git(stepleak, "init", "--quiet")
    commits = []
    for text in [CLEAN, CLEAN + "# more\n", "import no_module_of_this_name\n", LEAKING, LEAKING + "# more\n"]:
        stepleak.write("train.py", text)
        git(stepleak, "add", "train.py")
        git(stepleak, "commit", "--quiet", "-m", "a change")
        commits.append(git(stepleak, "rev-parse", "HEAD"))
    git(stepleak, "bisect", "start", commits[4], commits[0])
    command = [*stepleak._command, "run", "train.py:step", "--effort", "quick", "--bisect"]
    done = subprocess.run(
        ["git", "bisect", "run", *command],
        cwd=stepleak.folder, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    # The broken commit lies between the last good one and the first bad one, so either may be it.
    assert "only 'skip'ped commits left" in done.stdout + done.stderr, done.stdout + done.stderr
    assert commits[3] in done.stdout + done.stderr
    log = git(stepleak, "bisect", "log")
    assert f"git bisect skip {commits[2]}" in log
    assert f"git bisect bad {commits[3]}" in log
    assert f"git bisect good {commits[1]}" in log


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run", "absent.py:step", "--bisect"], 125),
        (["run", "absent.py:step"], 64),
        (["run", "--bisect", "--speed"], 125),
        (["watch", "--bisect", "broken.py"], 125),
        (["watch", "broken.py", "--bisect"], 1),
    ],
    ids=["absent", "absent, not bisecting", "wrong use", "script fails", "script has the option"],
)
def test_what_is_no_verdict_is_skipped(arguments: list[str], code: int, stepleak: CommandLine) -> None:
    stepleak.write("broken.py", "import sys\nassert sys.argv[1:] in ([], ['--bisect'])\nraise ValueError('not mine')\n")
    assert stepleak(*arguments).code == code
