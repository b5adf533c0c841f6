# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the command line says about itself, and about what is there."""

from __future__ import annotations

import pytest
from conftest import SCENARIOS, CommandLine

VERBS = [
    ["run"],
    ["watch"],
    ["gate"],
    ["baseline"],
    ["baseline", "update"],
    ["baseline", "show"],
    ["baseline", "diff"],
    ["list"],
    ["doctor"],
    ["init"],
    ["completion"],
]


def test_help_shows_verbs_examples_and_exit_codes(stepleak: CommandLine) -> None:
    outcome = stepleak("--help")
    assert outcome.code == 0
    for verb in ("run", "watch", "gate", "baseline", "list", "doctor"):
        assert f"\n  {verb} " in outcome.out
    assert "Examples:" in outcome.out
    assert "Exit codes: 0 clean" in outcome.out


@pytest.mark.parametrize("verb", VERBS, ids="_".join)
def test_help_of_every_verb_shows_an_example(verb: list[str], stepleak: CommandLine) -> None:
    outcome = stepleak(*verb, "--help")
    assert outcome.code == 0
    assert "Example" in outcome.out
    assert f"stepleak {' '.join(verb)}" in outcome.out.partition("Example")[2]


def test_version_is_said(stepleak: CommandLine) -> None:
    outcome = stepleak("--version")
    assert outcome.code == 0
    assert outcome.out.startswith("stepleak ")


def test_doctor_says_what_is_observed(stepleak: CommandLine) -> None:
    outcome = stepleak("doctor")
    assert outcome.code == 0, outcome.text
    facts = dict(line.strip().split("  ", 1) for line in outcome.out.splitlines() if "  " in line.strip())
    assert facts["torch"].strip().startswith("2.")
    assert facts["threads before a fork"].strip() == "1"
    for observed in ("cpu tensors", "autograd nodes, tensors", "python objects", "host heap", "RSS"):
        assert facts[observed].strip().startswith("yes")
    assert "device memory" in facts
    assert "in the way" not in outcome.out


def test_list_shows_names_truth_kind_and_report(stepleak: CommandLine) -> None:
    outcome = stepleak("list")
    assert outcome.code == 0
    rows = {line.split()[0]: line.split()[1:] for line in outcome.out.splitlines()}
    assert list(rows) == sorted(rows)
    assert rows["loss_sum_attached"] == ["leak", "graph_retention", "google/brax#152"]
    # An installed stepleak has no scenarios in C++.
    assert ("cpp_loss_sum_attached" in rows) == (SCENARIOS is None)
    assert rows["loss_sum_attached_clean"] == ["clean", "google/brax#152"]


def test_list_takes_a_glob_and_stories(stepleak: CommandLine) -> None:
    outcome = stepleak("list", "loss_sum_*", "--stories")
    assert outcome.code == 0
    names = [line.split()[0] for line in outcome.out.splitlines() if line and not line.startswith(" ")]
    stories = [line for line in outcome.out.splitlines() if line.startswith("    ")]
    assert "loss_sum_attached" in names
    assert len(stories) >= len(names)
    # Stories of several paragraphs are indented as a whole.
    assert [name for name in names if not name.startswith("loss_sum_")] == []


def test_list_of_nothing_is_wrong_use(stepleak: CommandLine) -> None:
    outcome = stepleak("list", "no_such_*")
    assert outcome.code == 64
    assert "no scenario matches 'no_such_*'" in outcome.err
    assert "remedy: " in outcome.err
