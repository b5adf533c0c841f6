# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What CI systems read: SARIF, GitLab's code quality report, and annotations in the log of a job."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import CommandLine, Outcome

SCHEMA = Path(__file__).resolve().parents[1] / "data" / "sarif" / "sarif-2.1.0-rtm.4.json"
KEEPING_LINE = 3
LEAK = """\
import torch
kept = []
def step(): kept.append(torch.ones(64))
def clean(): torch.ones(64)
def undecided():
    kept.append(torch.ones(64)) if len(kept) < 7 else None
"""
FILES = ("--sarif", "out.sarif", "--code-quality", "out.json")
GITHUB = {"GITHUB_ACTIONS": "true"}
ELSEWHERE = {"GITHUB_ACTIONS": ""}


def in_repository(stepleak: CommandLine) -> CommandLine:
    """The same in a folder below the root of a repository."""
    below = CommandLine(stepleak.folder / "below")
    (stepleak.folder / ".git").mkdir()
    below.write("train.py", LEAK)
    return below


def sarif_of(stepleak: CommandLine) -> dict[str, Any]:
    data = json.loads((stepleak.folder / "out.sarif").read_text(encoding="utf-8"))
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft4Validator(schema).validate(data)
    run: dict[str, Any] = data["runs"][0]
    return run


def code_quality_of(stepleak: CommandLine) -> list[dict[str, Any]]:
    issues: list[dict[str, Any]] = json.loads((stepleak.folder / "out.json").read_text(encoding="utf-8"))
    return issues


@pytest.fixture(scope="module")
def project(shared_stepleak: CommandLine) -> CommandLine:
    return in_repository(shared_stepleak)


@pytest.fixture(scope="module")
def leak(project: CommandLine) -> Outcome:
    targets = ("train.py:step", "train.py:clean")
    return project("run", *targets, "--device", "cpu", "--json", "r.json", *FILES, switches=GITHUB)


def test_sarif_leads_to_the_line_that_keeps(project: CommandLine, leak: Outcome) -> None:
    assert leak.code == 1, leak.text
    run = sarif_of(project)
    (result,) = run["results"]  # the clean one is none
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "below/train.py", "uriBaseId": "SRCROOT"}
    assert place["region"]["startLine"] == KEEPING_LINE
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == f"{project.folder.parent.as_uri()}/"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["level"] == "error"
    finding = project.results("r.json")["train.py:step"]["findings"][0]
    assert result["partialFingerprints"] == {"stepleak/v1": finding["fingerprint"]}
    assert finding["what"] in result["message"]["text"]


def test_code_quality_leads_to_the_same_line(project: CommandLine, leak: Outcome) -> None:
    (issue,) = code_quality_of(project)
    assert issue["location"] == {"path": "below/train.py", "lines": {"begin": KEEPING_LINE}}
    assert {"description", "check_name", "fingerprint", "severity"} <= set(issue)


def test_annotations_are_written_for_github_alone(project: CommandLine, leak: Outcome) -> None:
    lines = [line for line in leak.err.splitlines() if line.startswith("::")]
    assert len(lines) == 1
    assert lines[0].startswith(f"::error file=below/train.py,line={KEEPING_LINE},title=stepleak ")
    again = project("report", "r.json", switches=ELSEWHERE)
    assert again.code == 1
    assert "::error" not in again.text


def test_stored_results_give_the_same_files(project: CommandLine, leak: Outcome) -> None:
    before = [(project.folder / name).read_bytes() for name in ("out.sarif", "out.json")]
    assert project("report", "r.json", *FILES, switches=ELSEWHERE).code == 1
    assert [(project.folder / name).read_bytes() for name in ("out.sarif", "out.json")] == before


def test_a_known_leak_is_none(project: CommandLine, leak: Outcome) -> None:
    project.write("known.toml", '[[known]]\nwhere = "*train.py:step"\nreason = "so"\n')
    outcome = project("report", "r.json", "--known", "known.toml", *FILES, switches=GITHUB)
    assert outcome.code == 0, outcome.text
    assert sarif_of(project)["results"] == []
    assert code_quality_of(project) == []
    assert "::error" not in outcome.err


def test_any_bytes_of_a_result_give_valid_files(project: CommandLine, leak: Outcome) -> None:
    result = project.results("r.json")["train.py:step"]
    hostile = "\x1b[31m\x00\x07 %0A,:\n::error::forged\r\n\ud7ff\uffff" + "x" * 300
    finding = result["findings"][0]
    finding.update(what=hostile, fix=hostile, holder=hostile, fingerprint=hostile)
    finding["kept_at"] = {"file": f"/tmp/{hostile}", "line": 3, "text": hostile, "expression": hostile}
    finding["where"][0].update(file=hostile, function=hostile, text=hostile, line=2**31 - 1)
    result["target"] = f"{hostile}.py:step"
    project.write("hostile.json", json.dumps(result))
    outcome = project("report", "hostile.json", *FILES, switches=GITHUB)
    assert outcome.code == 1, outcome.text
    (shown,) = sarif_of(project)["results"]
    assert "\x1b" not in json.dumps(shown, ensure_ascii=False)
    assert len(code_quality_of(project)) == 1
    # What is quoted begins no command of its own.
    assert [line for line in outcome.err.splitlines() if "forged" in line and line.startswith("::error::")] == []


def test_a_folder_whose_name_is_no_text_gives_valid_files(project: CommandLine, leak: Outcome) -> None:
    folder = Path(os.fsdecode(os.fsencode(project.folder.parent) + b"/m\xe9 %,:"))
    folder.mkdir()
    inside = CommandLine(folder)
    outcome = inside("report", str(project.folder / "r.json"), *FILES, switches=GITHUB)
    assert outcome.code == 1, outcome.text
    (result,) = sarif_of(inside)["results"]
    # The file lies beside this folder, whose name the root of the repository has not.
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "below/train.py"
    (folder / ".git").mkdir()
    assert inside("report", str(project.folder / "r.json"), *FILES).code == 1
    assert sarif_of(inside)["originalUriBaseIds"]["SRCROOT"]["uri"].endswith("/m%E9%20%25%2C%3A/")


def test_files_are_written_as_any_other_output(project: CommandLine, leak: Outcome) -> None:
    outcome = project("report", "r.json", "--sarif", "-")
    assert json.loads(outcome.out)["version"] == "2.1.0"
    assert "train.py:step leaks" in outcome.err
    assert project("report", "r.json", "--sarif", "r.json").code == 64
    assert project("report", "r.json", "--sarif", "same", "--code-quality", "same").code == 64
    assert project("report", "r.json", "--sarif", "/proc/no/such").code == 3
