# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Tests that --stepleak judges in processes of their own, beside what the user's suite says and does."""

from __future__ import annotations

import sys
import time

import pytest

pytest_plugins = ["pytester"]

STEP = "import torch\ndef test_step(): torch.ones(3)\n"


def judged(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess("-p", "stepleak.pytest_plugin", "--stepleak", "-v", *arguments, timeout=400)


def test_what_a_test_left_for_a_judged_one_is_torn_down_before_the_next_module(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_a="""
            import pytest, torch

            @pytest.fixture(scope="module")
            def server():
                yield
                print("the server has ended")

            def test_plain(server): pass
            def test_judged(): torch.ones(3)
        """,
        test_b="def test_other(): pass",
    )
    result = judged(pytester, "-s", "--stepleak-select=*judged*")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*test_judged*the server has ended*", "*test_other*"])


def test_what_raises_in_a_tear_down_after_a_judged_test_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_a="""
            import pytest, torch

            @pytest.fixture(scope="module")
            def server():
                yield
                raise OSError("the server had died")

            def test_plain(server): pass
            def test_judged(): torch.ones(3)
        """,
        test_b="def test_other(): pass",
    )
    result = judged(pytester, "--stepleak-select=*judged*")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*the server had died*"])


@pytest.mark.parametrize("option", ["--ff", "tests", "--strict-config"])
def test_options_of_the_ini_file_are_for_a_fresh_process_as_well(pytester: pytest.Pytester, option: str) -> None:
    pytester.makeini(f"[pytest]\naddopts = {option}\ncache_dir = .kept")
    folder = pytester.mkdir("tests")
    (folder / "test_a.py").write_text(STEP)
    (folder / "test_b.py").write_text("import torch\ndef test_cache(cache): cache.set('a/b', 1)\n")
    result = judged(pytester)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_step PASSED (no leak)*", "*test_cache PASSED (no leak)*"])


def test_tests_may_lie_outside_of_the_folder_of_the_ini_file(pytester: pytest.Pytester) -> None:
    (pytester.mkdir("settings") / "pytest.ini").write_text("[pytest]\n")
    (pytester.mkdir("tests") / "test_a.py").write_text(STEP)
    result = judged(pytester, "-c", "settings/pytest.ini", "tests")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*test_step PASSED (no leak)*"])


WARNING = """
import warnings, torch

class Odd(Warning):
    def __init__(self, text, number):
        super().__init__(text)

def test_step(record_property):
    record_property("loss", 1.5)
    record_property("shape", torch.Size([3]))
    record_property("model", Odd("no JSON", 1))
    record_property("by key", {(1, 2): 3})
    warnings.warn("it goes in 2.0", DeprecationWarning)
    warnings.warn(Odd("it is odd", 3))
    torch.ones(3)
"""


def test_warnings_of_a_judged_test_are_told_once(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_a=WARNING)
    result = judged(pytester, "--stepleak-effort=quick")
    result.assert_outcomes(passed=1, warnings=2)
    result.stdout.fnmatch_lines(["*test_a.py:*: DeprecationWarning: it goes in 2.0", "*UserWarning: Odd: it is odd"])


def test_warnings_are_errors_where_pytest_is_told_so(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_a=WARNING)
    result = judged(pytester, "--stepleak-effort=quick", "-W", "error:it goes:DeprecationWarning")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*DeprecationWarning: it goes in 2.0"])


def test_properties_of_the_newest_step_are_kept(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_a=WARNING)
    judged(pytester, "--stepleak-effort=quick", "--junitxml=suite.xml")
    told = (pytester.path / "suite.xml").read_text()
    assert told.count('<property name="loss" value="1.5" />') == 1
    assert '<property name="model" value="no JSON" />' in told
    assert '<property name="by key" value="{(1, 2): 3}" />' in told
    assert '<property name="stepleak" value="clean" />' in told


@pytest.mark.parametrize("option", ["--setup-plan", "--setup-only"])
def test_none_is_judged_where_none_is_to_run(pytester: pytest.Pytester, option: str) -> None:
    pytester.makepyfile(test_a="def test_step(tmp_path): print('this ran')\n")
    result = judged(pytester, "-s", option)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*this ran*")
    result.stdout.no_fnmatch_line("*no leak*")


def test_the_session_s_temporary_files_and_its_log_are_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\naddopts = --basetemp=temporary\nlog_file = run.log\nlog_file_level = INFO\n")
    pytester.makepyfile(
        test_a="""
            import logging, pytest

            @pytest.fixture(scope="session")
            def shared(tmp_path_factory):
                file = tmp_path_factory.mktemp("shared") / "file"
                file.write_text("x")
                return file

            def test_first(shared): logging.getLogger().info("from the first")

            def test_judged(tmp_path):
                (tmp_path / "made").write_text("x")
                logging.getLogger().info("from the judged")

            def test_last(shared):
                assert shared.read_text() == "x"
                logging.getLogger().info("from the last")
        """
    )
    # Not as `judged` does, which names a folder for temporary files itself.
    command = [sys.executable, "-m", "pytest", "-p", "stepleak.pytest_plugin", "--stepleak", "-v"]
    result = pytester.run(*command, "--stepleak-select=*judged*", timeout=400)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*test_judged PASSED (no leak)*"])
    logged = (pytester.path / "run.log").read_text()
    assert "from the first" in logged and "from the last" in logged
    assert [path.name for path in pytester.path.glob("temporary/stepleak0/*")] == ["tmp"]
    assert len(list(pytester.path.glob("temporary/stepleak0/tmp/test_judged0/made"))) == 1


def test_a_fresh_process_runs_where_pytest_was_called(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\n")
    folder = pytester.mkdir("below")
    (folder / "data.txt").write_text("3")
    (folder / "test_a.py").write_text("import torch\ndef test_step(): torch.ones(int(open('data.txt').read()))\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        below = judged(pytester)
    below.assert_outcomes(passed=1)
    below.stdout.fnmatch_lines(["*test_a.py::test_step PASSED (no leak)*"])


def test_folders_may_have_brackets_in_their_names(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\n")
    folder = pytester.mkdir("part[0]")
    (folder / "test_a.py").write_text(STEP)
    imported = pytester.mkdir("other") / "imported"
    (pytester.path / "other" / "test_b.py").write_text(f"open({str(imported)!r}, 'a').write('x')\n")
    above = judged(pytester)
    above.assert_outcomes(passed=1)
    above.stdout.fnmatch_lines(["part?0?/test_a.py::test_step PASSED (no leak)*"])
    assert imported.read_text() == "x"  # by the session only
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        within = judged(pytester, "test_a.py")
    within.assert_outcomes(passed=1)


def test_a_process_that_a_test_leaves_behind_is_not_waited_for(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\naddopts = -s\n")
    pytester.makepyfile(
        test_a="""
            import subprocess
            left = []

            def test_leaves_a_process():
                if not left:
                    left.append(subprocess.Popen(["sleep", "60"]).pid)
        """
    )
    begun = time.monotonic()
    judged(pytester, "--stepleak-effort=quick").assert_outcomes(passed=1)
    assert time.monotonic() - begun < 45
