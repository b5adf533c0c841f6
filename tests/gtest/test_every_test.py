# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A real binary of GoogleTest, linked with stepleak's main(): what each repeated test comes to."""

from __future__ import annotations

import os
import re
import subprocess
import threading
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
        self.words = words_of(done.stdout)


def words_of(out: str) -> dict[str, str]:
    found = re.findall(r"^\[ (.{12}) \] (\S+\.\S+)", out, re.MULTILINE)
    return {name: word.strip() for word, name in found}


def listed_by_an_endless_run(filtered: str, seconds: float) -> str:
    """What a run that repeats for ever printed up to the repeat behind its list, or until the time is over."""
    if not _SUBJECTS:
        pytest.skip("STEPLEAK_TEST_SUBJECTS names no binary; run by: ci/test gtest")
    with subprocess.Popen(
        [_SUBJECTS, f"--gtest_filter={filtered}", "--gtest_repeat=-1"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "STEPLEAK_DEVICE": "cpu", "STEPLEAK_EFFORT": "quick"},
    ) as process:
        watchdog = threading.Timer(seconds, process.kill)
        watchdog.start()
        assert process.stdout is not None
        out = ""
        for line in process.stdout:
            out += line
            if "[ stepleak ]" in out and line.startswith("Repeating all tests"):
                break
        watchdog.cancel()
        process.kill()
    return out


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
    # One seed's order: of fifty, one leaves a level open after 64 repeats, that comes and goes with who tears down.
    run = Run("--gtest_repeat=64", "--gtest_shuffle", "--gtest_random_seed=1", filtered=filtered)
    assert run.words == {name: whole[0].words[name] for name in run.words}
    assert len(run.words) == 8


def test_too_few_repeats_are_inconclusive_and_say_how_many_it_takes() -> None:
    run = Run("--gtest_repeat=20", filtered="TrainerTest.CleanStep")
    assert (run.code, run.words) == (1, {"TrainerTest.CleanStep": "inconclusive"})
    assert "--gtest_repeat=64" in run.out
    quick = Run("--gtest_repeat=20", filtered="TrainerTest.CleanStep", STEPLEAK_EFFORT="quick")
    assert (quick.code, quick.words) == (0, {"TrainerTest.CleanStep": "clean"})


_BREAKS = "--gtest_break_on_failure"


def test_without_a_last_repeat_a_leak_fails_in_the_one_that_decides_it() -> None:
    run = Run("--gtest_repeat=-1", _BREAKS, filtered="LossTest.*:TrainerTest.CleanStep", STEPLEAK_EFFORT="quick")
    assert run.code < 0  # GoogleTest's break
    assert "LossTest.LeaksEachLoss leaks" in run.out and "graph_retention" in run.out
    steps = re.search(r"^LossTest.LeaksEachLoss leaks .* (\d+) steps", run.out, re.MULTILINE)
    alone = re.search(r"--gtest_filter=LossTest.LeaksEachLoss --gtest_repeat=(\d+)\)", run.out)
    assert steps and alone and int(alone[1]) >= int(steps[1]) >= 34
    assert run.out.count("[ RUN      ] LossTest.LeaksEachLoss") == int(alone[1])


def test_without_a_last_repeat_the_outcomes_are_listed_once_all_are_decided() -> None:
    filtered = "TrainerTest.Clean*:SkippedTest.*:AssertionTest.NotJudged*"
    out = listed_by_an_endless_run(filtered, seconds=60)
    words = words_of(out)
    assert len(words) == 5, out[-3000:]
    for name, word in words.items():
        assert word == ("clean" if ".Clean" in name else "not judged")
    assert "[  FAILED  ]" not in out


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
