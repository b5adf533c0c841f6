# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Unchanged scripts of many kinds, in tests/scripts: each with what is wrong in it, or with nothing. What they declare
is in watched_scripts.py.

STEPLEAK_SCRIPT_RESULTS names a folder that keeps each result, for the table.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import CommandLine
from watched_scripts import ALL, Script, forget, read, store, stored, table_of

RESULTS = os.environ.get("STEPLEAK_SCRIPT_RESULTS")


def parameters(is_leaking: bool) -> list[Any]:
    chosen = [script for script in ALL if script.is_leaking == is_leaking]
    assert len(chosen) >= 12
    marks = {script.name: [pytest.mark.default] if "default" in script.facts else [] for script in chosen}
    return [pytest.param(script, id=script.name, marks=marks[script.name]) for script in chosen]


def watch(script: Script, stepleak: CommandLine) -> dict[str, Any]:
    if RESULTS:
        forget(script, Path(RESULTS))
    if missing := script.missing():
        pytest.skip(f"{missing} is not here: ci/requirements-libraries.txt")
    copy = stepleak.folder / script.path.name
    shutil.copy(script.path, copy)
    arguments = script.facts.get("arguments", "").split()
    # torch takes CXX for one word, and a build's may be "ccache g++".
    switches = {"CXX": script.facts["program"]} if "program" in script.facts else None
    outcome = stepleak("watch", "--json", "result.json", copy.name, *arguments, switches=switches)
    assert outcome.code == 0, outcome.text
    result = stepleak.results("result.json")[copy.name]
    if RESULTS:
        store(script, result, Path(RESULTS))
    assert script.facts["steps"] in result["conditions"]["steps found by"], outcome.text
    result["report"] = outcome.err
    return result


@pytest.mark.parametrize("script", parameters(is_leaking=True))
def test_finds_the_leak_its_line_and_its_holder(script: Script, stepleak: CommandLine) -> None:
    result = watch(script, stepleak)
    assert script.is_verdict_right(result), result["report"]
    assert script.is_holder_right(result), result["report"]
    assert script.is_line_right(result), result["report"]


@pytest.mark.parametrize("script", parameters(is_leaking=False))
def test_calls_a_healthy_script_clean(script: Script, stepleak: CommandLine) -> None:
    result = watch(script, stepleak)
    assert script.is_verdict_right(result), result["report"]


# --- the table --------------------------------------------------------------------------------------------------------


def leaking(folder: Path) -> Script:
    path = folder / "leaking" / "train.py"
    path.parent.mkdir()
    path.write_text(
        "#\n#\n# needs: pytest\n# kind: growth\n# holder: kept\nkept.append(1)  # the leak\n", encoding="utf-8"
    )
    return read(path)


def result_of(kind: str, holder: str, line: int) -> dict[str, Any]:
    finding = {"kind": kind, "holder": holder, "where": [], "kept_by": f"train.py:{line}  kept.append(1)"}
    return {"verdict": "leak", "findings": [finding], "steps": 50, "series": {"live_bytes": [1, 2]}}


@pytest.mark.default
def test_the_table_shows_what_is_right_and_what_is_wrong(tmp_path: Path) -> None:
    script = leaking(tmp_path)
    right = f"| `leaking/train` | leak | growth | 50 | yes | yes | pytest {pytest.__version__} |"
    cases = {
        right: result_of("growth", "__main__.kept (list)", 6),
        right.replace("yes | yes", "no | no"): result_of("growth", "__main__.other", 5),
        right.replace("leak |", "**leak**, wrong |").replace("growth", "raw_cuda"): result_of("raw_cuda", "kept", 6),
    }
    for row, result in cases.items():
        store(script, result, tmp_path)
        kept = stored(script, tmp_path)
        assert kept is not None and "series" not in kept
        assert row in table_of([(script, kept)]).splitlines()


@pytest.mark.default
def test_the_table_says_what_was_not_run(tmp_path: Path) -> None:
    script = leaking(tmp_path)
    table = table_of([(script, stored(script, tmp_path))])
    assert "| `leaking/train` | not run |" in table
    assert "0 of 1 scripts were run" in table
