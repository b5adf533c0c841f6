# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""How a session with --stepleak ends: a test's process with what started it, and the session as without us."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]


def judged(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess(
        "-p", "stepleak.pytest_plugin", "--stepleak", "--stepleak-effort=quick", "-v", *arguments, timeout=400
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_ends_a_fresh_process_and_leaves_no_files(pytester: pytest.Pytester, number: signal.Signals) -> None:
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
    env = {**os.environ, "TMPDIR": str(temporary)}
    with _as_by_default(number):  # below nohup a process is begun with SIGHUP ignored
        outer = subprocess.Popen(command, cwd=pytester.path, env=env)
    judged_process = _written_in(started)
    outer.send_signal(number)
    assert outer.wait(timeout=60) == -number
    _wait_for_end(judged_process)
    assert [path.name for path in temporary.iterdir() if path.name.startswith("stepleak-")] == []


@contextlib.contextmanager
def _as_by_default(number: signal.Signals) -> Iterator[None]:
    before = None if number is signal.SIGKILL else signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(number, before)


def _written_in(file: Path) -> int:
    until = time.monotonic() + 120
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return int(file.read_text())


def _wait_for_end(process: int) -> None:
    until = time.monotonic() + 20
    while _is_alive(process):
        assert time.monotonic() < until
        time.sleep(0.05)


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_what_another_plugin_raises_meanwhile_is_the_test_s_failure(pytester: pytest.Pytester) -> None:
    """As pytest-timeout does, from a signal's handler."""
    started = pytester.path / "started"
    pytester.makeconftest(
        """
        import signal, pytest

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(item):
            if item.config.getoption("--stepleak-reports") or "slow" not in item.name:
                return (yield)
            signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it took too long"))
            signal.setitimer(signal.ITIMER_REAL, 15)
            try:
                return (yield)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        """
    )
    pytester.makepyfile(
        test_a=f"""
            import os, pathlib, time

            def test_slow():
                pathlib.Path({str(started)!r}).write_text(str(os.getpid()))
                time.sleep(600)

            def test_after(): pass
        """
    )
    result = judged(pytester)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*::test_slow FAILED*", "*::test_after PASSED (no leak)*"])
    result.stdout.fnmatch_lines(["E *Failed: it took too long"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    _wait_for_end(_written_in(started))


@pytest.mark.parametrize(
    ("statement", "status", "said"),
    [
        ("pytest.exit('enough', returncode=7)", 7, "*Exit: enough*"),
        ("pytest.exit('enough')", 2, "*Exit: enough*"),
        ("raise KeyboardInterrupt", 2, "*KeyboardInterrupt: in test_a.py::test_ends*"),
    ],
)
def test_what_ends_a_session_ends_it_from_a_judged_test(
    pytester: pytest.Pytester, statement: str, status: int, said: str
) -> None:
    pytester.makepyfile(test_a=f"import pytest\ndef test_ends(): {statement}\ndef test_after(): print('this ran')\n")
    result = judged(pytester, "-s")
    assert result.ret == status
    result.stdout.fnmatch_lines([said])
    result.stdout.no_fnmatch_line("*test_after*")


FORKS = """
    import asyncio, os

    def test_forks_and_comes_back():
        if os.fork() == 0:
            return
        assert os.wait()[1] == 0

    def test_forks_and_raises():
        if os.fork() == 0:
            raise ValueError("in the child")
        assert os.waitstatus_to_exitcode(os.wait()[1]) == 1

    def test_forks_and_awaits():
        async def come_back():
            if os.fork() == 0:
                return
            assert os.wait()[1] == 0
        asyncio.run(come_back())

    async def test_forks_within_a_coroutine():
        if os.fork() == 0:
            return
        assert os.wait()[1] == 0
"""


def test_a_child_that_comes_back_from_a_step_says_nothing_of_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_a=FORKS)
    result = judged(pytester, "--junitxml=suite.xml")
    result.assert_outcomes(passed=4)
    assert 'tests="4"' in (pytester.path / "suite.xml").read_text()
    result.stdout.fnmatch_lines(["*::test_forks_and_comes_back PASSED (no leak)*"])
