# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What CI counts: Meson's tests, GoogleTest's cases, and those of each run of pytest with what it skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]


def count(*files: Path) -> list[str]:
    command = [sys.executable, str(ROOT / "ci/count_tests.py"), *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def log_of_meson(folder: Path, *cases: str) -> Path:
    file = folder / "testlog.junit.xml"
    file.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>", encoding="utf-8")
    return file


def case_of_meson(name: str, printed: str = "", what: str = "") -> str:
    out = f"<system-out>{escape(printed)}</system-out>" if printed else ""
    return f'<testcase name="cli - stepleak:{name}" classname="stepleak">{what}{out}</testcase>'


def run_of_pytest(folder: Path, name: str, tests: str) -> tuple[int, str]:
    """How a test of Meson's that runs pytest ends, and what it prints."""
    (folder / f"test_{name}.py").write_text(f"import pytest\n{tests}", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, str(ROOT / "tests/cli/run_pytest.py"), f"test_{name}.py"],
        cwd=folder, env={**os.environ, "STEPLEAK_TEST_CASES": "cases"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ran.returncode, ran.stdout


SOME_SKIPPED = """
@pytest.mark.parametrize("n", range(4))
def test_needs(n):
    pytest.importorskip("no_module_of_this_name")

@pytest.mark.skipif(True, reason="here is a GPU")
def test_gpu():
    pass

def test_passes():
    pass
"""


def test_what_pytest_skipped_is_counted_and_told_with_its_reason(tmp_path: Path) -> None:
    status, printed = run_of_pytest(tmp_path, "some", SOME_SKIPPED)
    assert status == 0
    log = log_of_meson(tmp_path, case_of_meson("some", printed), case_of_meson("another", "it passed"))
    assert count(log) == [
        "2 0 5",
        "4 x could not import 'no_module_of_this_name': No module named 'no_module_of_this_name': "
        "test_some::test_needs[0], test_some::test_needs[1], test_some::test_needs[2] and 1 more",
        "1 x here is a GPU: test_some::test_gpu",
    ]


def test_a_failing_case_of_pytest_is_one_failure(tmp_path: Path) -> None:
    status, printed = run_of_pytest(tmp_path, "fails", "def test_a(): assert False\ndef test_b(): pass\n")
    assert status == 1
    assert count(log_of_meson(tmp_path, case_of_meson("fails", printed, "<failure/>"))) == ["1 1 0"]


def test_a_run_that_fails_without_a_failing_case_is_one_failure(tmp_path: Path) -> None:
    status, printed = run_of_pytest(tmp_path, "none", "")
    assert status == 5, "no tests were collected"
    assert count(log_of_meson(tmp_path, case_of_meson("none", printed, "<failure/>"))) == ["0 1 0"]
    printed = f"pytest's cases: {tmp_path}/that_a_crash_left_unwritten.xml\n"
    assert count(log_of_meson(tmp_path, case_of_meson("crashed", printed, "<error/>"))) == ["0 1 0"]


def test_what_meson_and_googletest_skip_is_told_too(tmp_path: Path) -> None:
    log = log_of_meson(
        tmp_path,
        case_of_meson("needs", "skipped: python has no pytest; remedy: ci/setup", "<skipped/>"),
        '<testcase name="IsSeen" classname="DeviceTest"><skipped message="a.cpp:4&#10;no GPU"/></testcase>',
        '<testcase name="IsOff" classname="DeviceTest" status="notrun"/>',
        '<testcase name="Is" classname="DeviceTest" status="run"/>',
    )
    assert count(log) == [
        "1 0 3",
        "1 x no GPU: DeviceTest::IsSeen",
        "1 x no reason was given: DeviceTest::IsOff",
        "1 x python has no pytest; remedy: ci/setup: stepleak::cli - stepleak:needs",
    ]


def test_a_file_that_is_missing_is_a_failure(tmp_path: Path) -> None:
    assert count(tmp_path / "missing.xml") == ["0 1 0"]


def test_the_nightly_ci_counts_what_needs_libraries() -> None:
    text = (ROOT / ".ci/run").read_text(encoding="utf-8")
    nightly = text.partition("\nif $is_nightly; then\n  test_stage")[2].partition("\nfi\n")[0]
    assert "libraries librarieslog ci/libraries\n" in nightly
