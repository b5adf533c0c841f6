# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""[tool.stepleak] in the user's pyproject.toml: where the scenarios and baselines of a project are."""

from __future__ import annotations

import json

import pytest
from conftest import CommandLine

SCENARIO = """
    from stepleak.scenario import clean

    @clean(report="")
    def mine_clean(device):
        "Keeps nothing."
        return lambda: None
"""


@pytest.fixture
def project(stepleak: CommandLine) -> CommandLine:
    stepleak.write("leaks/mine.py", SCENARIO)
    stepleak.write("pyproject.toml", '[tool.stepleak]\nscenarios = "leaks"\nbaselines = "accepted"\n')
    return stepleak


def names_listed(out: str) -> list[str]:
    return [line.split()[0] for line in out.splitlines() if not line.startswith("cpp_")]


def test_list_shows_the_scenarios_of_the_project(project: CommandLine) -> None:
    outcome = project("list")
    assert outcome.code == 0, outcome.text
    assert names_listed(outcome.out) == ["mine_clean"]


def test_a_folder_below_belongs_to_the_project(project: CommandLine) -> None:
    (project.folder / "src/deep").mkdir(parents=True)
    below = CommandLine(project.folder / "src/deep")
    assert names_listed(below("list").out) == ["mine_clean"]


def test_a_repository_below_does_not(project: CommandLine) -> None:
    (project.folder / "vendored/.git").mkdir(parents=True)
    (project.folder / "vendored/.git/HEAD").touch()
    below = CommandLine(project.folder / "vendored")
    assert "mine_clean" not in names_listed(below("list").out)


def test_the_option_goes_before_the_table(project: CommandLine) -> None:
    project.write("others/yours.py", SCENARIO.replace("mine_clean", "yours_clean"))
    outcome = project("list", "--scenarios", "others")
    assert names_listed(outcome.out) == ["yours_clean"]


def test_gate_and_baseline_use_the_folders_of_the_project(project: CommandLine) -> None:
    updated = project("baseline", "update", "--suite", "mine_*", "--device", "cpu")
    assert updated.code == 0, updated.text
    stored = json.loads((project.folder / "accepted/cpu/mine_clean.json").read_text(encoding="utf-8"))
    assert stored["verdict"] == "clean"
    shown = project("baseline", "show", "--device", "cpu")
    assert shown.out.split() == ["mine_clean", "clean"]
    gated = project("gate", "--suite", "mine_*", "--device", "cpu")
    assert gated.code == 0, gated.text
    assert "gate green: 1 scenarios · 1 same" in gated.out


def test_a_table_of_another_tool_is_none(stepleak: CommandLine) -> None:
    stepleak.write("pyproject.toml", '[tool.stepleak-other]\nscenarios = "nowhere"\n')
    assert "nowhere" not in stepleak("list").text


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('[tool.stepleak]\nscenario = "leaks"\n', "[tool.stepleak] knows no 'scenario'"),
        ("[tool.stepleak]\nscenarios = 3\n", "scenarios is no text"),
        ('[tool.stepleak]\nscenarios = "missing"\n', "scenarios = 'missing' is no folder"),
        ('[tool.stepleak]\nscenarios = ""\n', "scenarios is empty"),
        ("[tool.stepleak\n", "is no TOML"),
        ("[tool]\nstepleak = 3\n", "tool.stepleak is no table"),
    ],
)
def test_a_wrong_table_is_wrong_use_with_the_remedy(table: str, said: str, stepleak: CommandLine) -> None:
    file = stepleak.write("pyproject.toml", table)
    outcome = stepleak("list")
    assert outcome.code == 64, outcome.text
    assert said in outcome.err
    assert str(file) in outcome.err
    assert "remedy: " in outcome.err
