# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""stepleak in pytest: what a session says and how it ends."""

from __future__ import annotations

import fcntl
import tempfile
from pathlib import Path

import pytest
from stepleak import _pytest_gpu

pytest_plugins = ["pytester"]

COMMON = """
    import pytest, torch
    from torch import nn

    class Trainer:
        def __init__(self):
            self.model = nn.Linear(4, 2)
            self.history = []

        def train(self):
            loss = self.model(torch.ones(3, 4)).sum()
            loss.backward()
            self.model.zero_grad()
            return loss

    @pytest.fixture
    def trainer():
        return Trainer()
"""


def session(pytester: pytest.Pytester, tests: str, *arguments: str) -> pytest.RunResult:
    pytester.makeconftest(COMMON)
    pytester.makepyfile(test_it=tests)
    return pytester.runpytest_subprocess("-p", "stepleak.pytest_plugin", *arguments, timeout=400)


def test_judges_what_is_marked_and_what_a_test_hands_over(pytester: pytest.Pytester) -> None:
    result = session(
        pytester,
        """
        import pytest, torch
        calls, made = [], []

        @pytest.fixture(params=["a", "b"])
        def counted(request):
            made.append(request.param)
            return request.param

        @pytest.mark.no_leak(effort="quick")
        def test_clean(trainer, counted):
            calls.append(counted)
            trainer.history = [trainer.train()]

        @pytest.mark.no_leak(effort="quick")
        class TestInAClass:
            def test_leaks(self, trainer):
                trainer.history.append(trainer.train())

            async def test_awaits(self, trainer):
                trainer.train()

        def test_of_a_step_of_its_own(trainer, no_leak):
            no_leak(trainer.train, effort="quick")

        def test_of_a_leaking_step(trainer, no_leak):
            no_leak(lambda: trainer.history.append(trainer.train()), effort="quick")

        def test_that_nobody_asked_for(trainer):
            trainer.history.append(trainer.train())

        def test_afterwards():
            assert made == ["a", "b"]
            assert calls.count("a") >= 16
        """,
        "-v",
        "--junitxml=out.xml",
    )
    result.assert_outcomes(passed=6, failed=2)
    words = ["*test_clean?a? PASSED (no leak)*", "*test_leaks LEAK*", "*test_awaits PASSED (no leak)*"]
    words += [
        "*test_of_a_step_of_its_own PASSED (no leak)*",
        "*test_of_a_leaking_step LEAK*",
        "*test_that_nobody* PASSED *",
    ]
    result.stdout.fnmatch_lines(words)
    result.stdout.fnmatch_lines(["*holder *test .step .fixtures (dict, len 1) .trainer (Trainer) .history (list*"])
    result.stdout.fnmatch_lines(["*kept by*test_it.py:*trainer.history.append*"])
    # The line of the summary says what leaks, and no frame of ours stands in the failure.
    result.stdout.fnmatch_lines(["LEAK test_it.py::TestInAClass::test_leaks - stepleak.LeakError: test_leaks*"])
    result.stdout.fnmatch_lines(["LEAK test_it.py::test_of_a_leaking_step - *"])
    result.stdout.no_fnmatch_line("*_pytest_judge.py:*")
    result.stdout.no_fnmatch_line("*pytest_plugin.py:*")
    properties = (pytester.path / "out.xml").read_text()
    assert '<property name="stepleak" value="leak"' in properties


def test_what_a_test_raises_or_skips_stays_its_own(pytester: pytest.Pytester) -> None:
    result = session(
        pytester,
        """
        import pytest

        @pytest.mark.no_leak(effort="quick")
        def test_fails(trainer):
            assert len(trainer.history) == 1

        @pytest.mark.no_leak
        def test_skips():
            pytest.skip("not today")

        @pytest.mark.no_leak(speed=3)
        def test_has_a_wrong_option():
            pass

        def test_has_one_written_wrongly(no_leak):
            no_leak(lambda: None, efforts="quick")

        @pytest.mark.no_leak("nightly")
        def test_has_an_option_without_its_name():
            pass
        """,
    )
    result.assert_outcomes(failed=4, skipped=1)
    result.stdout.fnmatch_lines(["*assert 0 == 1*", "no_leak: *unexpected keyword argument 'speed'*"])
    result.stdout.fnmatch_lines(["no_leak: *unexpected keyword argument 'efforts'. Did you mean 'effort'?"])
    result.stdout.no_fnmatch_line("*During handling of*")
    result.stdout.fnmatch_lines(["*no_leak takes its options by name*no 'nightly'*"])


def test_every_selected_test_is_judged_in_a_process_of_its_own(pytester: pytest.Pytester) -> None:
    result = session(
        pytester,
        """
        import os, pytest
        kept = []

        @pytest.mark.parametrize("wide", [False, True])
        def test_train(trainer, wide):
            kept.append(trainer.train())

        def test_train_and_die():
            os.abort()

        def test_other():
            assert not kept
        """,
        "--stepleak",
        "--stepleak-select=*test_train*",
        "-v",
    )
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["*test_train?False? LEAK*", "*test_train?True? LEAK*", "*test_train_and_die FAILED*"])
    result.stdout.fnmatch_lines(["*the test's process was killed by signal 6 before the test had ended*"])


def test_a_selection_that_judges_nothing_is_wrong_use(pytester: pytest.Pytester) -> None:
    result = session(pytester, "def test_train(): pass", "--stepleak", "--stepleak-select=*tset_train*")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--stepleak-select '*tset_train*' matches none*test_train*"])


def test_a_test_is_selected_by_its_very_id(pytester: pytest.Pytester) -> None:
    tests = """
        import pytest

        @pytest.mark.parametrize("n", [1, 2])
        def test_train(n): pass
    """
    by_id = session(pytester, tests, "--stepleak", "--stepleak-select=test_it.py::test_train[2]", "-v")
    by_id.stdout.fnmatch_lines(["*::test_train?1? PASSED  *", "*::test_train?2? PASSED (no leak)*"])
    none = session(pytester, tests, "--stepleak", "--stepleak-select=*::test_train[2]")
    assert none.ret == pytest.ExitCode.USAGE_ERROR
    none.stderr.fnmatch_lines(["*matches none*test_train?1?*in a pattern, [[][[][]] stands for a bracket"])
    above = ["--rootdir", str(pytester.path.parent)]  # ids begin there
    printed = session(pytester, tests, "--stepleak", "--stepleak-select=test_it.py::test_train[2]", "-v", *above)
    printed.stdout.fnmatch_lines(["*::test_train?2? PASSED (no leak)*"])


UNDECIDED_AT_FIRST = """
    import collections, random, torch
    by_number, newest = {}, collections.deque(maxlen=400)

    def test_keys_may_come_again():
        key = random.getrandbits(60)
        if key not in by_number:
            by_number[key] = torch.zeros(64)

    def test_fills_up():
        newest.append(torch.zeros(64))
"""


def test_what_a_quick_look_leaves_undecided_is_judged_at_length(pytester: pytest.Pytester) -> None:
    by_default = session(pytester, UNDECIDED_AT_FIRST, "--stepleak", "-v")
    by_default.stdout.fnmatch_lines(["*::test_keys_may_come_again LEAK*", "*::test_fills_up PASSED (no leak)*"])
    quick = session(pytester, UNDECIDED_AT_FIRST, "--stepleak", "--stepleak-effort=quick", "-v")
    quick.stdout.fnmatch_lines(["*::test_keys_may_come_again INCONCLUSIVE*", "*::test_fills_up INCONCLUSIVE*"])


def test_known_leaks_are_let_be_and_their_entries_are_looked_after(pytester: pytest.Pytester) -> None:
    tests = """
        import pytest

        @pytest.mark.no_leak(effort="quick")
        def test_known(trainer):
            trainer.history.append(trainer.train())

        other = []

        @pytest.mark.no_leak(effort="quick")
        def test_unknown(trainer):
            other.append(trainer.train())
    """
    entry = '[[known]]\nreason = "so"\nholder = "*.history (*"\n'
    (pytester.path / "known.toml").write_text(entry + '\n[[known]]\nreason = "gone"\nwhere = "*nowhere*"\n')
    result = session(pytester, tests, "-v", "--stepleak-known", "known.toml")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*test_known PASSED (known leak)*", "*test_unknown LEAK*"])
    result.stdout.fnmatch_lines(["an entry that matches nothing here: where [*]nowhere[*]: gone"])
    (pytester.path / "known.toml").write_text(entry.replace('"so"', '"old"') + "expires = 2020-01-31\n")
    expired = session(pytester, "def test_nothing(): pass", "--stepleak-known", "known.toml")
    assert expired.ret == 1
    expired.stdout.fnmatch_lines(["an entry has expired on 2020-01-31, and fails: *: old"])


def test_a_test_says_itself_what_is_let_be(pytester: pytest.Pytester) -> None:
    tests = """
        import pytest, stepleak

        def test_expects(no_leak, trainer):
            with pytest.raises(stepleak.LeakError):
                no_leak(lambda: trainer.history.append(trainer.train()), effort="quick")

        @pytest.mark.no_leak(effort="quick", ignore="*.history (list*")
        def test_marked(trainer):
            trainer.history.append(trainer.train())

        def test_fixture(no_leak, trainer):
            no_leak(lambda: trainer.history.append(trainer.train()), effort="quick", ignore=["*.history (list*"])

        other = []

        @pytest.mark.no_leak(effort="quick", ignore="*.history (list*")
        def test_another(trainer):
            other.append(trainer.train())

        @pytest.mark.no_leak(effort="quick", ignore="*other (list*")
        def test_of_two(trainer):
            other.append(trainer.train())
            trainer.history.append(trainer.train())
    """
    entry = '[[known]]\nreason = "so"\nholder = "*.history (*"\n'
    (pytester.path / "known.toml").write_text(entry)
    result = session(pytester, tests, "-v", "-rP")
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.no_fnmatch_line("*test_expects PASSED (*")
    result.stdout.fnmatch_lines(["*test_marked PASSED (known leak)*", "*test_fixture PASSED (known leak)*"])
    result.stdout.fnmatch_lines(["*test_another LEAK*", "*test_of_two LEAK*", "*known: ignore='[*].history (list[*]'"])
    result.stdout.fnmatch_lines(["*ignore='[*].history (list[*]' matches nothing here*"])
    # What the file knows and what the test ignores count together.
    both = session(pytester, tests, "-v", "--stepleak-known", "known.toml", "-k", "test_of_two")
    both.stdout.fnmatch_lines(["*test_of_two PASSED (known leak)*"])


def test_what_pytest_keeps_of_logging_is_no_leak_and_what_a_handler_keeps_is_one(pytester: pytest.Pytester) -> None:
    result = session(
        pytester,
        """
        import logging, pytest, torch
        logger = logging.getLogger("train")
        logger.setLevel("INFO")

        class Keeping(logging.Handler):
            def __init__(self):
                super().__init__()
                self.kept = []

            def emit(self, record):
                self.kept.append(record)

        def log_loss():
            logger.info("loss %s, %s", torch.ones(500), "x" * 600)

        @pytest.mark.no_leak(effort="quick")
        def test_captured():
            log_loss()

        @pytest.mark.no_leak(effort="quick")
        def test_asked_for_in_each_step(caplog):
            log_loss()
            assert len(caplog.records) == 1
            caplog.clear()

        def test_said_before_is_still_there(no_leak, caplog):
            logger.warning("before")
            no_leak(log_loss, effort="quick")
            assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
            assert caplog.text.count("loss") == 1 and "before" in caplog.text

        @pytest.mark.no_leak(effort="quick")
        def test_kept(keeping):
            log_loss()

        @pytest.fixture
        def keeping():
            handler = Keeping()
            logger.addHandler(handler)
            yield handler
            logger.removeHandler(handler)
        """,
    )

    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*LeakError: test_kept leaks*", "*.kept (list, len*"])


def test_what_pytest_keeps_of_output_is_no_leak_and_what_a_step_keeps_of_it_is_one(pytester: pytest.Pytester) -> None:
    result = session(
        pytester,
        """
        import pytest, torch
        kept = []

        @pytest.mark.no_leak(effort="quick")
        def test_said():
            print("x" * 1000, torch.ones(3))

        @pytest.mark.no_leak(effort="quick")
        def test_not_read(capsys):
            print("x" * 1000, torch.ones(3))

        @pytest.mark.no_leak(effort="quick")
        def test_read_in_each_step(capsys):
            print("loss", torch.ones(1).item())
            assert capsys.readouterr().out == "loss 1.0\\n"

        @pytest.mark.no_leak(effort="quick")
        def test_kept(capsys):
            print("x" * 5000, torch.ones(3))
            kept.append(capsys.readouterr())
        """,
        "--capture=sys",
    )
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["*LeakError: test_kept leaks*"])


def test_a_gpu_is_judged_by_one_process_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(_pytest_gpu, "_gpu_of", lambda device: "" if device == "cpu" else f"GPU-{device}")
    with _pytest_gpu.alone_on("cuda:0"):
        for device, is_free in [("cuda:0", False), ("cuda:1", True)]:
            with _pytest_gpu.lock_file(f"GPU-{device}").open("a") as file:
                # As another process would find it.
                if is_free:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                else:
                    with pytest.raises(BlockingIOError):
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with _pytest_gpu.lock_file("GPU-cuda:0").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with _pytest_gpu.alone_on("cpu"):
        assert not _pytest_gpu.lock_file("").exists()


def test_workers_of_xdist_judge_in_processes_of_their_own(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    pytester.makeini("[pytest]\naddopts = -n 2\n")
    result = session(
        pytester,
        """
        import os, pytest

        @pytest.mark.parametrize("n", [1, 2])
        class TestInAClass:
            def test_train(self, trainer, n, worker_id, testrun_uid):
                assert worker_id == os.environ["PYTEST_XDIST_WORKER"] != "master"
                assert testrun_uid == os.environ["PYTEST_XDIST_TESTRUNUID"]
                trainer.history = trainer.history * (n == 2) + [trainer.train()]

        @pytest.mark.no_leak(effort="quick")
        def test_marked(trainer):
            trainer.train()
        """,
        "-v",
        "--stepleak",
        "--stepleak-select=*TestInAClass*",
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines_random(["*PASSED (no leak)*test_marked*", "*LEAK*test_train?2?*"])
    result.stdout.no_fnmatch_line("*LEAK*test_train?1?*")
    without = session(pytester, "def test_step(worker_id): assert worker_id == 'master'", "-n", "0", "--stepleak", "-v")
    without.stdout.fnmatch_lines(["*::test_step PASSED (no leak)*"])


def test_coroutines_of_pytest_asyncio_are_judged_in_its_loop(pytester: pytest.Pytester) -> None:
    pytest.importorskip("pytest_asyncio")
    result = session(
        pytester,
        """
        import asyncio, pytest, pytest_asyncio

        @pytest_asyncio.fixture
        async def loop_of_the_fixture():
            yield asyncio.get_running_loop()

        @pytest.mark.asyncio
        @pytest.mark.no_leak(effort="quick")
        async def test_clean(trainer, loop_of_the_fixture):
            assert asyncio.get_running_loop() is loop_of_the_fixture
            await asyncio.sleep(0)
            trainer.train()

        @pytest.mark.asyncio
        @pytest.mark.no_leak(effort="quick")
        async def test_leaks(trainer):
            trainer.history.append(trainer.train())
        """,
    )
    result.assert_outcomes(passed=1, failed=1)
