# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Every scenario against its declared truth: one run over all, a score table, and the bars of the project."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from score import Score, Total, scores_of, table_of, totals_of, worse_totals
from truth import Truth, declared_truths

# Of a run of the suite, which takes minutes: ci/score --last reads it again.
RESULTS = Path(os.environ.get("STEPLEAK_SCORE_RESULTS", "scenarios.json")).resolve()
# The results that are there are scored: CI's gate has just run the same scenarios.
IS_LAST = os.environ.get("STEPLEAK_SCORE_LAST") == "1"

LEAST_LEAKS = 14
LEAST_LEAKS_A_LANGUAGE = 7
LEAST_LOOK_ALIKES = 8
NAMED_PART = 0.95
"""The bar of the design: line and holder named for this part of the leaks."""


def executable() -> str:
    name = os.environ.get("STEPLEAK_CLI", "")
    if not name:
        pytest.skip("STEPLEAK_CLI names no executable; run by: ci/test scenarios")
    return name


@pytest.fixture(scope="module")
def truths() -> list[Truth]:
    return declared_truths(executable())


@pytest.fixture(scope="module")
def scores(truths: list[Truth]) -> list[Score]:
    said = "STEPLEAK_SCORE_LAST=1 asks for the results of a run that is over"
    if not IS_LAST:
        RESULTS.unlink(missing_ok=True)
        done = subprocess.run(
            [executable(), "run", "*", "--json", str(RESULTS)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        said = done.stdout + done.stderr
    assert RESULTS.is_file(), said
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    # Without a GPU those that need one are left out.
    names = {result["target"] for result in results}
    assert names == {truth.name for truth in truths if truth.name in names or not truth.needs_gpu}
    scores = scores_of(results, truths)
    print("\n" + table_of(scores))
    return scores


def leaks_of(scores: list[Score]) -> list[Score]:
    return [score for score in scores if score.is_leak]


def described(scores: list[Score]) -> str:
    return "\n".join(
        f"{score.truth.name}: expected {score.truth.expected} {'/'.join(score.truth.kinds)}, got "
        f"{score.result['verdict']} {' '.join(score.found_kinds)} {score.result['reason']} "
        f"{score.result.get('failure', {}).get('what', '')}"
        for score in scores
    )


# --- the corpus -------------------------------------------------------------------------------------------------------


def test_there_are_enough_leaks_in_both_languages(truths: list[Truth]) -> None:
    leaks = [truth for truth in truths if truth.expected == "leak"]
    assert len(leaks) >= LEAST_LEAKS
    assert sum(truth.is_cpp for truth in leaks) >= LEAST_LEAKS_A_LANGUAGE
    assert sum(not truth.is_cpp for truth in leaks) >= LEAST_LEAKS_A_LANGUAGE


def test_every_leak_has_its_clean_twin_in_the_same_file(truths: list[Truth]) -> None:
    by_name = {truth.name: truth for truth in truths}
    for truth in truths:
        if truth.expected != "leak":
            continue
        twin = by_name.get(f"{truth.name}_clean")
        assert twin is not None, f"{truth.name} has no twin"
        assert twin.expected == "clean"
        assert twin.file == truth.file
        assert twin.report == truth.report


def test_there_are_enough_healthy_look_alikes(truths: list[Truth]) -> None:
    leaks = {truth.name for truth in truths if truth.expected == "leak"}
    look_alikes = [t for t in truths if t.expected == "clean" and t.name.removesuffix("_clean") not in leaks]
    assert len(look_alikes) >= LEAST_LOOK_ALIKES


def test_every_scenario_names_its_report_and_every_leak_its_kinds(truths: list[Truth]) -> None:
    for truth in truths:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", truth.report), f"{truth.name}: {truth.report}"
        assert bool(truth.kinds) == (truth.expected == "leak"), truth.name


# --- the verdicts -----------------------------------------------------------------------------------------------------


def test_every_leak_is_found(scores: list[Score]) -> None:
    missed = [score for score in leaks_of(scores) if score.result["verdict"] != "leak"]
    assert not missed, described(missed)


def test_every_leak_is_found_with_a_right_kind(scores: list[Score]) -> None:
    wrong = [score for score in leaks_of(scores) if score.result["verdict"] == "leak" and not score.is_right]
    assert not wrong, described(wrong)


def test_there_is_no_false_alarm(scores: list[Score]) -> None:
    alarms = [score for score in scores if score.is_false_alarm]
    assert not alarms, described(alarms)


def test_there_is_always_a_verdict(scores: list[Score]) -> None:
    without = [score for score in scores if score.result["verdict"] not in ("leak", "clean")]
    assert not without, described(without)


def test_lines_are_named(scores: list[Score]) -> None:
    leaks = leaks_of(scores)
    without = [score for score in leaks if not score.is_line_named]
    assert len(without) <= (1 - NAMED_PART) * len(leaks), described(without)


def test_holders_are_named_where_python_holds(scores: list[Score]) -> None:
    held = [score for score in scores if score.is_to_be_held]
    without = [score for score in held if not score.is_holder_named]
    assert held
    assert len(without) <= (1 - NAMED_PART) * len(held), described(without)


def test_every_finding_tells_what_to_change(scores: list[Score]) -> None:
    for score in leaks_of(scores):
        for finding in score.result["findings"]:
            # What only native code made and holds has no line, no holder, and so nothing to change in the step.
            is_placed = bool(finding["where"] or finding["holder"])
            assert bool(finding["fix"]) == (is_placed or finding["kind"] != "host_heap"), score.truth.name
            assert finding["what"], score.truth.name
            assert re.fullmatch(r"[0-9a-f]{16}", finding["fingerprint"]), score.truth.name


def test_clean_is_cheap(scores: list[Score]) -> None:
    # Most healthy steps settle at the first look that may call them clean.
    clean = [score.result["steps"] for score in scores if score.result["verdict"] == "clean"]
    assert sum(steps <= 96 for steps in clean) >= 0.7 * len(clean), sorted(clean)


def test_no_total_is_worse_than_the_stored_one(scores: list[Score]) -> None:
    worse = worse_totals(scores)
    assert not worse, "\n".join([*worse, "meant to be so? ci/score --store"])


def test_a_total_is_worse_where_one_more_is_wrong(scores: list[Score]) -> None:
    leak = next(score for score in scores if score.is_found)
    missed = Score(leak.truth, {**leak.result, "verdict": "clean", "findings": []})
    now, without = totals_of([leak]), totals_of([missed])
    assert without["leaks found"].is_worse_than(now["leaks found"])
    assert not now["leaks found"].is_worse_than(without["leaks found"])
    assert Total(65, 0, is_better_higher=False).is_worse_than(Total(64, 0, is_better_higher=False))
    assert not Total(99, 100).is_worse_than(Total(98, 99))
