# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Tests that --stepleak judges in processes of their own, beside what the user's suite says and does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

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


def test_termination_ends_a_fresh_process_and_leaves_no_files(pytester: pytest.Pytester) -> None:
    started, temporary = pytester.path / "started", pytester.mkdir("tmp")
    pytester.makepyfile(
        test_a=f"""
            import os, pathlib, time

            def test_waits():
                pathlib.Path({str(started)!r}).write_text(str(os.getpid()))
                time.sleep(600)
        """
    )
    command = [sys.executable, "-m", "pytest", "-p", "stepleak.pytest_plugin", "--stepleak"]
    outer = subprocess.Popen(command, cwd=pytester.path, env={**os.environ, "TMPDIR": str(temporary)})
    judged_process = _written_in(started)
    outer.send_signal(signal.SIGTERM)
    assert outer.wait(timeout=60) == -signal.SIGTERM
    assert not _is_alive(judged_process)
    assert [path.name for path in temporary.iterdir() if path.name.startswith("stepleak-")] == []


def _written_in(file: Path) -> int:
    until = time.monotonic() + 120
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return int(file.read_text())


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


WARNING = """
import warnings, torch

class Odd(Warning):
    def __init__(self, text, number):
        super().__init__(text)

def test_step(record_property):
    record_property("loss", 1.5)
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
    result = judged(pytester, "--stepleak-effort=quick", "-W", "error::DeprecationWarning")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*DeprecationWarning: it goes in 2.0"])


def test_properties_of_the_newest_step_are_kept(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_a=WARNING)
    judged(pytester, "--stepleak-effort=quick", "--junitxml=suite.xml")
    told = (pytester.path / "suite.xml").read_text()
    assert told.count('<property name="loss" value="1.5" />') == 1
    assert '<property name="stepleak" value="clean" />' in told


@pytest.mark.parametrize("option", ["--setup-plan", "--setup-only"])
def test_none_is_judged_where_none_is_to_run(pytester: pytest.Pytester, option: str) -> None:
    pytester.makepyfile(test_a="def test_step(tmp_path): print('this ran')\n")
    result = judged(pytester, "-s", option)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*this ran*")
    result.stdout.no_fnmatch_line("*no leak*")
