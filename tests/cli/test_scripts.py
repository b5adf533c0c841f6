# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Unchanged scripts of many kinds, in tests/scripts: each with what is wrong in it, or with nothing.

A script says in comments at its top how it is called (`arguments`), what it needs (`needs`), what ends its steps
(`steps`), which kinds of leak are right (`kind`), and what holds it (`holder`). The line that leaks ends in
"# the leak". `default`: quick enough, and of a kind of its own, for the tests of each day.
"""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import CommandLine

SCRIPTS = Path(__file__).parent.parent / "scripts"


@dataclass(frozen=True)
class Script:
    path: Path
    facts: dict[str, str]
    leaking_line: int

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"


def read(path: Path) -> Script:
    lines = path.read_text(encoding="utf-8").splitlines()
    facts = {}
    for line in lines[2:]:
        if not line.startswith("# "):
            break
        name, _, value = line[2:].partition(": ")
        facts[name] = value
    marked = [number for number, line in enumerate(lines, 1) if line.endswith("# the leak")]
    assert len(marked) == (path.parent.name == "leaking"), f"{path} marks {len(marked)} lines"
    return Script(path, facts, marked[0] if marked else 0)


ALL = [read(path) for path in sorted(SCRIPTS.glob("*/*.py"))]


def parameters(folder: str) -> list[Any]:
    chosen = [script for script in ALL if script.path.parent.name == folder]
    assert len(chosen) >= 12
    marks = {script.name: [pytest.mark.default] if "default" in script.facts else [] for script in chosen}
    return [pytest.param(script, id=script.name, marks=marks[script.name]) for script in chosen]


def watch(script: Script, stepleak: CommandLine) -> dict[str, Any]:
    for module in script.facts.get("needs", "").split():
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    copy = stepleak.folder / script.path.name
    shutil.copy(script.path, copy)
    arguments = script.facts.get("arguments", "").split()
    outcome = stepleak("watch", "--json", "result.json", copy.name, *arguments)
    assert outcome.code == 0, outcome.text
    result = stepleak.results("result.json")[copy.name]
    assert script.facts["steps"] in result["conditions"]["steps found by"], outcome.text
    result["report"] = outcome.err
    return result


@pytest.mark.parametrize("script", parameters("leaking"))
def test_finds_the_leak_its_line_and_its_holder(script: Script, stepleak: CommandLine) -> None:
    result = watch(script, stepleak)
    assert result["verdict"] == "leak", result["report"]
    finding = result["findings"][0]
    assert finding["kind"] in script.facts["kind"].split(), result["report"]
    assert script.facts["holder"] in finding["holder"], result["report"]
    lines = [frame["line"] for frame in finding["where"] if frame["file"].endswith(script.path.name)]
    is_kept_there = f"{script.path.name}:{script.leaking_line} " in finding.get("kept_by", "")
    assert is_kept_there or script.leaking_line in lines, result["report"]


@pytest.mark.parametrize("script", parameters("healthy"))
def test_calls_a_healthy_script_clean(script: Script, stepleak: CommandLine) -> None:
    result = watch(script, stepleak)
    assert result["verdict"] == "clean", result["report"]
