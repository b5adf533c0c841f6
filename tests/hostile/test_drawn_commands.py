# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Drawn command lines and target names: each ends soon, with a code of the list, in words that drive no terminal."""

from __future__ import annotations

import random
import shlex
from typing import Any

import pytest
from cases import DATA
from draws import INPUTS, PIECES, command_line, word
from sandbox import End, Sandbox
from validators import check_terminal

CODES = (0, 1, 2, 3, 64)
# CI tries the first ones.
IN_CI = 60
ALL = 1000


def numbers(count: int) -> list[Any]:
    return [pytest.param(n, marks=[] if n < IN_CI else [pytest.mark.slow]) for n in range(count)]


def prepare(sandbox: Sandbox, stepleak: list[str]) -> None:
    sandbox.write("t.trace", (DATA / "cpu_loss_list_attached.trace").read_bytes())
    sandbox.write("plain.py", "def step():\n    pass\n")
    sandbox.write("k.toml", '[[known]]\nwhere = "*"\nreason = "so"\n')
    (sandbox.folder / "folder").mkdir()
    assert sandbox.call([*stepleak, "analyze", "t.trace", "--json", "good.json"], {}).code == 1
    assert set(INPUTS) - {"nothing"} == {path.name for path in sandbox.folder.iterdir()}
    sandbox.remember()


def check(end: End, words: list[str], most_seconds: float) -> None:
    told = f"{shlex.join(words)!r}: {end.text[-2000:]}"
    assert end.code in CODES or (end.code == 125 and "--bisect" in words), told
    for part in ("Traceback", "terminate called", "what():"):
        assert part not in end.text, told
    check_terminal("stdout", end.out, "always" in words)
    check_terminal("stderr", end.err, "always" in words)
    if end.code == 64:
        assert "remedy: " in end.text or "--help" in end.text, told
    if end.code in (3, 64):
        assert end.err, told
    assert end.seconds < most_seconds, f"took {end.seconds:.1f} s: {told}"


@pytest.mark.parametrize("number", numbers(ALL))
def test_command_line(number: int, sandbox: Sandbox, stepleak: list[str]) -> None:
    prepare(sandbox, stepleak)
    words = command_line(random.Random(number))
    check(sandbox.call([*stepleak, *words], {"GITHUB_ACTIONS": ""}), words, 20)
    # The outputs that it was asked for, by whatever name; of ours none.
    sandbox.check_nothing_left(sandbox.new_files())


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(PIECES), 10))
def test_target_names(first: int, sandbox: Sandbox, stepleak: list[str]) -> None:
    """Callables of a file that is there, and files of such names; a worker each."""
    draw = random.Random(first)
    targets = [f"plain.py:{word(draw)}" for _ in range(10)]
    for number, piece in enumerate(PIECES[first : first + 10]):
        name = f"{number}{piece.replace('/', '')[:200]}.py"
        sandbox.write(name, "def step():\n    pass\n")
        targets.append(f"{name}:step")
    sandbox.write("plain.py", "def step():\n    pass\n")
    sandbox.remember()
    words = ["run", *targets, "--effort", "quick", "--device", "cpu", "--progress", "plain"]
    check(sandbox.call([*stepleak, *words], {}, 300), words, 300)
    sandbox.check_nothing_left([])
