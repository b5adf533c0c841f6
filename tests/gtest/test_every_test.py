# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A real binary of GoogleTest, linked with stepleak's main(): what each repeated test comes to."""

from __future__ import annotations

import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

_SUBJECTS = os.environ.get("STEPLEAK_TEST_SUBJECTS", "")
# That one re-executes the binary in each repeat, which takes half a second.
_NOT_SLOW = "-ThreadsafeDeathTest.*"


class Run:
    """One call of the binary."""

    def __init__(self, *arguments: str, filtered: str = _NOT_SLOW, **environment: str) -> None:
        if not _SUBJECTS:
            pytest.skip("STEPLEAK_TEST_SUBJECTS names no binary; run by: ci/test gtest")
        done = subprocess.run(
            [_SUBJECTS, f"--gtest_filter={filtered}", *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "STEPLEAK_DEVICE": "cpu", **environment},
        )
        self.code = done.returncode
        self.out = done.stdout
        self.words = dict(
            (name, word.strip()) for word, name in re.findall(r"^\[ (.{12}) \] (\S+\.\S+)", self.out, re.MULTILINE)
        )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, ElementTree.Element]:
    file = tmp_path_factory.mktemp("every") / "result.xml"
    run = Run("--gtest_repeat=64", f"--gtest_output=xml:{file}")
    return run, ElementTree.parse(file).getroot()


def test_each_test_comes_to_what_its_name_says(whole: tuple[Run, ElementTree.Element]) -> None:
    run, _ = whole
    expected = {"Clean": "clean", "Leaks": "leak", "NotJudged": "not judged", "Mixed": "inconclusive"}
    assert len(run.words) >= 18, run.out
    for name, word in run.words.items():
        claim = next(claim for claim in expected if f".{claim}" in name)
        if name in ("Sizes/BatchTest.LeaksIfOdd/0", "TypedTest/0.LeaksIfDouble"):
            claim = "Clean"  # an even size; a float
        assert word == expected[claim], f"{name} is {word}:\n{run.out[-6000:]}"


def test_a_leak_fails_its_own_test_with_the_report(whole: tuple[Run, ElementTree.Element]) -> None:
    run, root = whole
    assert run.code == 1
    failed = {
        f"{case.get('classname')}.{case.get('name')}": case.find("failure").get("message", "")
        for case in root.iter("testcase")
        if case.find("failure") is not None and case.get("classname")
    }
    red = {name for name, word in run.words.items() if word in ("leak", "inconclusive")}
    assert set(failed) == red
    report = failed["LossTest.LeaksEachLoss"]
    assert "leaks" in report and "graph_retention" in report
    assert re.search(r"where +\S*every_test_subjects.cpp:\d+", report)


def test_what_the_set_up_of_a_suite_keeps_is_no_tests(whole: tuple[Run, ElementTree.Element]) -> None:
    run, root = whole
    assert run.words["SuiteLeakTest.CleanItself"] == "clean"
    outside = [case.find("failure") for case in root.iter("testcase") if not case.get("classname")]
    text = "".join(failure.get("message", "") for failure in outside if failure is not None)
    assert "SetUpTestSuite" in text and "every_test_subjects.cpp" in text


@pytest.mark.parametrize("name", ["MixedHeapTest.MixedCleanAlone", "StackTest.MixedCleanAlone"])
def test_whose_memory_is_left_is_told_where_a_test_runs_alone(name: str) -> None:
    run = Run("--gtest_repeat=64", filtered=name)
    assert (run.code, run.words) == (0, {name: "clean"})


def test_the_line_is_named_that_keeps_bytes_of_malloc(whole: tuple[Run, ElementTree.Element]) -> None:
    report = re.search(r"^MixedHeapTest.LeaksBytes leaks.*?^$", whole[0].out, re.MULTILINE | re.DOTALL)
    assert report
    assert re.search(r"where .*for_ever\.push_back", report[0]), report[0]


def test_what_one_test_keeps_is_named_where_another_may_have_had_to_make_up_for_it(
    whole: tuple[Run, ElementTree.Element],
) -> None:
    assert re.search(
        r"^StackTest.MixedCleanAlone is inconclusive: .* keep memory in the same process", whole[0].out, re.M
    )


def test_a_shuffled_order_changes_no_verdict(whole: tuple[Run, ElementTree.Element]) -> None:
    filtered = "LossTest.*:TrainerTest.*:QueueTest.*:TypedTest*"
    run = Run("--gtest_repeat=64", "--gtest_shuffle", filtered=filtered)
    assert run.words == {name: whole[0].words[name] for name in run.words}
    assert len(run.words) == 8


def test_too_few_repeats_are_inconclusive_and_say_how_many_it_takes() -> None:
    run = Run("--gtest_repeat=20", filtered="TrainerTest.CleanStep")
    assert (run.code, run.words) == (1, {"TrainerTest.CleanStep": "inconclusive"})
    assert "--gtest_repeat=64" in run.out
    quick = Run("--gtest_repeat=20", filtered="TrainerTest.CleanStep", STEPLEAK_EFFORT="quick")
    assert (quick.code, quick.words) == (0, {"TrainerTest.CleanStep": "clean"})


def test_a_run_without_repeats_is_as_without_us() -> None:
    run = Run(filtered="LossTest.*:AssertionTest.Clean*")
    assert (run.code, run.words) == (0, {})
    off = Run("--gtest_repeat=3", filtered="LossTest.*", STEPLEAK_EVERY_TEST="0")
    assert (off.code, off.words) == (0, {})


def test_a_death_test_that_starts_the_binary_anew_is_judged_here_only() -> None:
    run = Run("--gtest_repeat=16", filtered="ThreadsafeDeathTest.*", STEPLEAK_EFFORT="quick")
    assert (run.code, run.words) == (0, {"ThreadsafeDeathTest.CleanWhereAChildDies": "clean"})


def test_wrong_options_fail_the_run() -> None:
    run = Run("--gtest_repeat=2", filtered="LossTest.*", STEPLEAK_EFFORT="thorough")
    assert run.code == 1
    assert "'thorough' is no effort; use quick, standard or nightly" in run.out
