# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Tests that pytest does not run as plain functions: judged, or said not to be; never passed in silence."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]


def session(pytester: pytest.Pytester, tests: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(test_it=tests)
    return pytester.runpytest_subprocess("-p", "stepleak.pytest_plugin", "-v", *arguments, timeout=400)


CASES = """
    import unittest
    import pytest, torch
    kept, calls = [], []

    class TestClass(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            calls.append("class")

        def setUp(self):
            calls.append("up")
            self.store = []

        def tearDown(self):
            calls.append("down")

        @pytest.mark.no_leak(effort="quick")
        def test_clean(self):
            for part in "ab":
                with self.subTest(part=part):
                    self.store.append(torch.ones(64))

        @pytest.mark.no_leak(effort="quick")
        def test_leaks(self):
            kept.append(torch.ones(64))

        @pytest.mark.no_leak(effort="quick")
        def test_fails(self):
            self.assertEqual(self.store, [1])

        @pytest.mark.no_leak(effort="quick")
        def test_fails_in_a_part(self):
            with self.subTest(part="a"):
                self.fail("in a part")

        @pytest.mark.no_leak(effort="quick")
        def test_skips(self):
            self.skipTest("not today")

        @pytest.mark.no_leak(effort="quick")
        @unittest.expectedFailure
        def test_is_expected_to_fail(self):
            self.fail()

    class TestCoroutines(unittest.IsolatedAsyncioTestCase):
        @pytest.mark.no_leak(effort="quick")
        async def test_awaits(self):
            kept.append(torch.ones(64))

    def test_afterwards():
        assert calls.count("class") == 1
        assert calls.count("up") == calls.count("down") > 32
"""


def test_a_step_of_a_test_case_is_one_run_with_set_up_and_tear_down(pytester: pytest.Pytester) -> None:
    result = session(pytester, CASES)
    result.assert_outcomes(passed=2, failed=4, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines_random(
        [
            "*test_clean PASSED (no leak)*",
            "*test_leaks LEAK*",
            "*test_fails FAILED*",
            "*test_fails_in_a_part FAILED*",
            "*test_skips SKIPPED (not today)*",
            "*test_is_expected_to_fail XFAIL*",
            "*TestCoroutines::test_awaits LEAK*",
            "*AssertionError: in a part*",
        ]
    )
    result.stdout.no_fnmatch_line("*_pytest_steps.py:*")


def test_test_cases_of_a_whole_suite_are_judged(pytester: pytest.Pytester) -> None:
    tests = """
    import unittest, torch
    kept = []

    class TestClass(unittest.TestCase):
        def test_leaks(self):
            kept.append(torch.ones(64))
    """
    result = session(pytester, tests, "--stepleak")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*test_leaks LEAK*"])


def test_coroutines_of_anyio_are_judged_in_the_loop_of_their_fixtures(pytester: pytest.Pytester) -> None:
    pytest.importorskip("anyio")
    tests = """
    import asyncio, pytest, torch
    kept = []

    @pytest.fixture
    def anyio_backend():
        return "asyncio"

    @pytest.fixture
    async def loop(anyio_backend):
        yield asyncio.get_running_loop()

    @pytest.mark.anyio
    @pytest.mark.no_leak(effort="quick")
    async def test_clean(loop):
        assert asyncio.get_running_loop() is loop
        await asyncio.sleep(0)
        torch.ones(64)

    @pytest.mark.anyio
    @pytest.mark.no_leak(effort="quick")
    async def test_clean_without_a_loop_of_fixtures():
        torch.ones(64)

    @pytest.mark.anyio
    @pytest.mark.no_leak(effort="quick")
    async def test_leaks():
        kept.append(torch.ones(64))
    """
    result = session(pytester, tests)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*test_leaks LEAK*"])


def test_what_cannot_be_repeated_is_said_and_fails_under_the_marker(pytester: pytest.Pytester) -> None:
    pytester.makefile(".txt", test_shown=">>> 1 + 1\n2\n")
    pytester.makeconftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            for item in items:
                if "marked" in item.name:
                    item.add_marker(pytest.mark.no_leak)
        """
    )
    pytester.makefile(".txt", test_marked=">>> 1 + 1\n2\n")
    result = session(pytester, "", "--stepleak", "--junitxml=out.xml")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*no_leak cannot judge a DoctestItem: only functions*",
            "*= not judged by stepleak =*",
            "test_marked.txt::test_marked.txt",
            "test_shown.txt::test_shown.txt",
        ]
    )
    result.stdout.fnmatch_lines(["*test_shown.txt PASSED (not judged)*"])
    assert '<property name="stepleak" value="not judged"' in (pytester.path / "out.xml").read_text()


def test_a_skip_in_a_fresh_process_has_its_reason_and_no_verdict(pytester: pytest.Pytester) -> None:
    tests = """
    import pytest

    @pytest.mark.skip(reason="never")
    def test_marked():
        pass

    def test_calls():
        pytest.skip("not today")
    """
    result = session(pytester, tests, "--stepleak", "--junitxml=out.xml", "-rs")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines_random(["SKIPPED * never", "SKIPPED * not today"])
    written = (pytester.path / "out.xml").read_text()
    assert written.count("<skipped ") == 2
    assert 'name="stepleak"' not in written


def test_what_is_expected_to_fail_is_what_pytest_calls_so(pytester: pytest.Pytester) -> None:
    tests = """
    import pytest, torch
    kept = []

    @pytest.mark.xfail(reason="known", strict=True)
    @pytest.mark.no_leak(effort="quick")
    def test_leaks():
        kept.append(torch.ones(64))

    @pytest.mark.xfail(reason="known", strict=True)
    @pytest.mark.no_leak(effort="quick")
    def test_no_longer_leaks():
        torch.ones(64)

    @pytest.mark.xfail(reason="known")
    @pytest.mark.no_leak(effort="quick")
    def test_may_leak():
        torch.ones(64)
    """
    result = session(pytester, tests, "--junitxml=out.xml")
    result.assert_outcomes(xfailed=1, failed=1, xpassed=1)
    result.stdout.fnmatch_lines(["*test_leaks XFAIL*", "*test_no_longer_leaks FAILED*", "*test_may_leak XPASS*"])
    result.stdout.no_fnmatch_line("*LEAK*")
    assert 'failures="1" skipped="1"' in (pytester.path / "out.xml").read_text()


def test_subtests_are_not_reported_anew_in_every_step(pytester: pytest.Pytester) -> None:
    pytest.importorskip("_pytest.subtests")
    result = session(
        pytester,
        """
        import pytest, torch
        kept = []

        @pytest.mark.no_leak(effort="quick")
        def test_of_three(subtests):
            for i in range(3):
                with subtests.test(i=i):
                    torch.ones(2)
                    if i == 1:
                        pytest.skip("not this one")

        @pytest.mark.no_leak(effort="quick")
        def test_that_fails(subtests):
            with subtests.test("wrong"):
                assert torch.ones(1).item() == 2

        @pytest.mark.no_leak(effort="quick")
        def test_that_keeps(subtests):
            with subtests.test():
                kept.append(torch.ones(2))
        """,
    )
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*assert 1.0 == 2*", "*LeakError: test_that_keeps leaks*"])


PATCHES = """
    import asyncio, os
    import pytest, torch
    SETTINGS = {"lr": 1.0}
    seen = []

    @pytest.fixture
    def debug(monkeypatch):
        monkeypatch.setenv("STEPLEAK_TEST_DEBUG", "fixture")

    @pytest.mark.no_leak(effort="quick")
    def test_patches(debug, monkeypatch):
        assert SETTINGS["lr"] == 1.0 and os.environ["STEPLEAK_TEST_DEBUG"] == "fixture"
        for rate in range(8):
            monkeypatch.setitem(SETTINGS, "lr", str(rate) * 200)
        monkeypatch.setenv("STEPLEAK_TEST_DEBUG", "body")
        monkeypatch.chdir("/")

    @pytest.mark.no_leak(effort="quick")
    def test_patches_and_leaks(monkeypatch):
        monkeypatch.setitem(SETTINGS, "lr", 2.0)
        seen.append(torch.ones(64))

    @pytest.mark.no_leak(effort="quick")
    async def test_awaits(monkeypatch):
        assert SETTINGS["lr"] == 1.0
        for rate in range(8):
            monkeypatch.setitem(SETTINGS, "lr", str(rate) * 200)
        await asyncio.sleep(0)

    def test_is_left_as_it_was():
        assert SETTINGS == {"lr": 1.0} and "STEPLEAK_TEST_DEBUG" not in os.environ and os.getcwd() != "/"
"""


def test_what_a_step_patches_is_undone_after_it(pytester: pytest.Pytester) -> None:
    result = session(pytester, PATCHES)
    result.stdout.fnmatch_lines_random(["*::test_patches PASSED*", "*::test_patches_and_leaks LEAK*"])
    result.stdout.fnmatch_lines_random(["*::test_awaits PASSED*", "*::test_is_left_as_it_was PASSED*"])


SET_UP = """
    import asyncio
    import stepleak, torch

    calls = []

    class TestSetUp:
        def setup_method(self):
            calls.append("up")
            self.store = []

        def teardown_method(self, method):
            assert method.__name__.startswith("test_")
            calls.append("down")

        def test_keeps_within_a_step(self):
            self.store.append(torch.ones(64))
            assert len(self.store) == 1

        def test_is_set_up_as_often_as_torn_down(self):
            assert calls.count("up") == calls.count("down") + 1

    class TestWithout:
        store = []

        def test_leaks(self):
            self.store.append(torch.ones(64))

    def test_makes_a_folder(tmp_path):
        (tmp_path / "out").mkdir()

    def test_judges_itself():
        stepleak.assert_no_leak(lambda: torch.ones(2), effort="quick")

    def test_watches_itself():
        for _ in stepleak.watch(range(3)):
            torch.ones(2)
"""


def test_methods_are_set_up_in_each_step_and_what_judges_itself_is_let_be(pytester: pytest.Pytester) -> None:
    result = session(pytester, SET_UP, "--stepleak", "--stepleak-effort=quick")
    result.assert_outcomes(passed=4, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*::test_keeps_within_a_step PASSED (no leak)*",
            "*::test_is_set_up_as_often_as_torn_down PASSED (no leak)*",
            "*::test_leaks LEAK*",
            "*::test_makes_a_folder FAILED*",
            "*::test_judges_itself PASSED (not judged)*",
            "*::test_watches_itself PASSED (not judged)*",
        ]
    )
    result.stdout.fnmatch_lines(["It raised in step 2. The test is repeated to be judged*"])


FIXTURES = """
import pytest, torch

@pytest.fixture
def kept():
    return []

@pytest.fixture
def seen():
    return []

@pytest.fixture
def client(seen):
    class Client:
        count = 0
        def call(self):
            self.count += 1
            if self.count % 40 == 0:
                seen.clear()
    return Client()

def test_keeps(kept):
    kept.append(torch.ones(30))

def test_is_rid_of_it(seen, client):
    client.call()
    seen.append(torch.ones(30))
"""


def test_what_a_fixture_is_has_a_line_and_may_be_emptied_by_another_one(pytester: pytest.Pytester) -> None:
    result = session(pytester, FIXTURES, "--stepleak")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*test_is_rid_of_it PASSED (no leak)*"])
    result.stdout.fnmatch_lines(
        ["*kept by test_it.py:22  kept.append(torch.ones(30))", "*bounds  nothing in your sources*"]
    )


UNCALLED = """
    import pytest, torch
    kept = []

    @pytest.fixture
    def step(no_leak):
        return no_leak

    @pytest.mark.usefixtures("no_leak")
    def test_uses():
        kept.append(torch.ones(64))

    def test_names(no_leak):
        kept.append(torch.ones(64))

    def test_has_it_by_another(step):
        kept.append(torch.ones(64))

    def test_calls(no_leak):
        no_leak(lambda: torch.ones(64), effort="quick")

    def test_skips(no_leak):
        pytest.skip("not today")
"""


def test_a_fixture_that_is_not_called_is_not_judged_and_said_so(pytester: pytest.Pytester) -> None:
    result = session(pytester, UNCALLED, "--stepleak")
    result.assert_outcomes(passed=4, skipped=1)
    result.stdout.fnmatch_lines(["*::test_calls PASSED (no leak)*"])
    result.stdout.fnmatch_lines(
        [
            "*= not judged by stepleak =*",
            "test_it.py::test_uses",
            "test_it.py::test_names",
            "test_it.py::test_has_it_by_another",
            "a test that names the fixture no_leak hands it a step, and these have not",
        ],
        consecutive=True,
    )
    asked_of_others = session(pytester, UNCALLED, "--stepleak", "--stepleak-select=*test_calls")
    asked_of_others.assert_outcomes(passed=4, skipped=1)
    asked_of_others.stdout.no_fnmatch_line("*not judged*")


SET_UP_FUNCTION = """
    import torch

    calls, kept = [], []

    def setup_module():
        calls.append("module")

    def setup_function(function):
        assert function.__name__.startswith("test_")
        calls.append("up")
        globals()["store"] = []

    def teardown_function():
        calls.append("down")

    def test_keeps_within_a_step():
        store.append(torch.ones(64))
        assert len(store) == 1
        assert calls.count("up") == calls.count("down") + 1
        assert calls.count("module") == 1

    def test_leaks():
        kept.append(torch.ones(64))

    class TestClass:
        def test_is_none_of_a_function(self):
            assert calls == ["module"]
"""


def test_functions_are_set_up_in_each_step(pytester: pytest.Pytester) -> None:
    result = session(pytester, SET_UP_FUNCTION, "--stepleak", "--stepleak-effort=quick")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*::test_leaks LEAK*"])


UNCAUGHT = """
    import threading
    import pytest, torch
    calls, kept = [], []

    class Finalized:
        def __del__(self):
            raise ValueError("in a finalizer")

    @pytest.mark.no_leak(effort="quick")
    def test_of_a_thread():
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()

    @pytest.mark.no_leak(effort="quick")
    def test_of_a_finalizer():
        Finalized()

    @pytest.mark.no_leak(effort="quick")
    def test_keeps_them():
        def fail():
            try:
                torch.ones(64).view(3)
            except RuntimeError as error:
                kept.append(error)
                raise
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()

    @pytest.mark.no_leak(effort="quick")
    def test_raises_in_the_fifth_step():
        calls.append(1)
        if len(calls) == 5:
            Finalized()
        del calls[6:]
"""


def test_what_nobody_catches_is_told_by_pytest_and_no_leak(pytester: pytest.Pytester) -> None:
    result = session(pytester, UNCAUGHT)
    result.stdout.fnmatch_lines(
        [
            "*::test_of_a_thread PASSED (no leak)*",
            "*::test_of_a_finalizer PASSED (no leak)*",
            "*::test_keeps_them LEAK*",
            "*::test_raises_in_the_fifth_step PASSED (no leak)*",
        ]
    )
    result.stdout.fnmatch_lines(["*ZeroDivisionError: division by zero*"])
    fifth = session(pytester, UNCAUGHT, "-k", "fifth or finalizer", "-W", "error")
    fifth.assert_outcomes(failed=2)


MOCKS = """
    import os
    import pytest, torch
    kept = []

    @pytest.fixture
    def pid(mocker):
        return mocker.patch("os.getpid", return_value=4)

    class TestClass:
        @pytest.fixture(autouse=True)
        def with_mocker(self, mocker):
            self.mocker = mocker

        @pytest.mark.no_leak(effort="quick")
        def test_mocks(self):
            self.mocker.patch("os.getppid", return_value="x" * 999)

    @pytest.mark.no_leak(effort="quick")
    def test_mocks(pid, mocker):
        assert os.getpid() == 4 and os.getppid() != 5
        mocker.patch("os.getppid", return_value=5)
        assert os.getppid() == 5

    @pytest.mark.no_leak(effort="quick")
    def test_mocks_and_leaks(mocker):
        kept.append(mocker.patch("os.getppid", return_value=torch.ones(64)))

    def test_is_left_as_it_was():
        assert os.getpid() != 4 and os.getppid() != 5
"""


def test_what_a_step_mocks_is_undone_after_it(pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_mock")
    result = session(pytester, MOCKS)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*::TestClass::test_mocks PASSED*", "*::test_mocks PASSED*"])
    result.stdout.fnmatch_lines(["*::test_mocks_and_leaks LEAK*"])
