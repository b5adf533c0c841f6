# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Several checks in one process: one after another, never two at once, and what each leaves behind."""

from __future__ import annotations

import contextlib
import gc
import importlib
import random
import signal
import sys
import threading
import warnings
from typing import Any

import pytest
import stepleak
from small_training import Training, line_of


def test_a_failure_in_the_record_pass_leaves_the_verdict_and_the_next_check_as_it_was() -> None:
    training = Training()

    def fails_late(index: int) -> None:
        training.leaky()
        if index == 260:  # a leak is called after 256 steps and then recorded
            raise RuntimeError("no more batches")

    failed = stepleak.check(fails_late)
    assert failed.verdict == "leak"
    assert failed.json["failure"]["what"].endswith("(in step 261)")
    assert stepleak.check(Training().clean).is_clean
    leak = stepleak.check(Training().leaky)
    assert leak.findings[0]["where"][0]["line"] == line_of("loss = self.model(torch")


def test_survivors_of_an_earlier_check_are_not_blamed() -> None:
    earlier, later = Training(), []

    def keep_another() -> None:
        loss = earlier.loss()
        later.append(loss * 2)

    assert stepleak.check(earlier.leaky).verdict == "leak"
    result = stepleak.check(keep_another)
    assert result.verdict == "leak"
    assert "in leaky" not in result.report
    assert any(frame["function"] == "keep_another" for frame in result.findings[0]["where"]), result.report
    # The earlier tensors are alive and no part of it.
    assert len(result.findings) == 1


def test_clean_after_a_leak_is_clean() -> None:
    training = Training()
    assert stepleak.check(training.leaky).verdict == "leak"
    assert stepleak.check(training.clean).verdict == "clean"


def test_survivors_of_an_earlier_check_may_die() -> None:
    training = Training()
    assert stepleak.check(training.leaky).verdict == "leak"

    def drops_them() -> None:
        if training.losses:
            training.losses.pop()

    assert stepleak.check(drops_them).verdict != "leak"


def fails(index: int) -> None:
    if index > 2:
        raise ValueError("no more batches")


def interrupted(index: int) -> None:
    if index > 2:
        raise KeyboardInterrupt


WAYS_OUT = {
    "clean": lambda: Training().clean,
    "leaking": lambda: Training().leaky,
    "failing": lambda: fails,
    "interrupted": lambda: interrupted,
}


def state_of_process() -> dict[str, Any]:
    return {
        "enabled": gc.isenabled(),
        "thresholds": gc.get_threshold(),
        "debug": gc.get_debug(),
        "callbacks": list(gc.callbacks),
        "handlers": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "trace": (sys.gettrace(), sys.getprofile(), threading.gettrace()),
        "warnings": list(warnings.filters),
    }


@pytest.mark.parametrize("is_enabled", [True, False])
@pytest.mark.parametrize("way_out", list(WAYS_OUT))
def test_process_is_left_as_it_was(way_out: str, is_enabled: bool) -> None:
    # torch's symboliser imports it at its first use: that adds filters of warnings, and holds frames of whoever asked.
    importlib.import_module("torch._inductor")
    step = WAYS_OUT[way_out]()
    was_enabled = gc.isenabled()
    if not is_enabled:
        gc.disable()
    try:
        before, frozen, references = state_of_process(), gc.get_freeze_count(), sys.getrefcount(step)
        with contextlib.suppress(KeyboardInterrupt):
            stepleak.check(step)  # type: ignore[arg-type]
        assert state_of_process() == before
        # From Python 3.12 on some hundreds are Python's own, of which a few may end.
        assert gc.get_freeze_count() <= frozen
        # The step's arguments and our variable: nothing of ours holds it any more.
        assert sys.getrefcount(step) == references
    finally:
        if was_enabled:
            gc.enable()


# --- one run at a time ------------------------------------------------------------------------------------------------


def test_nested_check_is_wrong_use_and_the_outer_one_says_so() -> None:
    inner = Training().clean
    result = stepleak.check(lambda: stepleak.check(inner))
    assert result.verdict == "failure"
    assert "another check or watch is running in this process; end that first" in result.report


def test_check_that_is_refused_leaves_the_generators_to_the_one_that_is_on() -> None:
    drawn: list[float] = []

    def step() -> None:
        with contextlib.suppress(stepleak.UsageError):
            stepleak.check(lambda: None)
        drawn.append(random.random())

    stepleak.check(step, device="cpu", effort="quick")
    assert len(set(drawn)) == len(drawn)


def test_check_from_another_thread_is_wrong_use_at_once() -> None:
    training = Training()
    errors: list[BaseException] = []

    def other() -> None:
        try:
            stepleak.check(lambda: None)
        except stepleak.UsageError as error:
            errors.append(error)

    def step(index: int) -> None:
        training.clean()
        if index == 3:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join(timeout=10)
            assert not thread.is_alive()

    result = stepleak.check(step)
    assert result.is_clean, result.report
    assert len(errors) == 1
    assert "another check or watch is running" in str(errors[0])


def test_check_within_a_watch_is_wrong_use() -> None:
    with stepleak.watch() as watch:
        with pytest.raises(stepleak.UsageError, match="another check or watch is running"):
            stepleak.check(lambda: None)
        watch.step()
    assert stepleak.check(Training().clean).is_clean
