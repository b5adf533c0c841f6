# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""`stepleak.check` and `stepleak.assert_no_leak` in the process of a user's own tests."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import inspect
import itertools
import random
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import stepleak
import torch
from stepleak import _core  # type: ignore[attr-defined]  # built, not written

HERE = Path(__file__).name


class Training:
    """A small training; what it keeps is up to its steps."""

    def __init__(self) -> None:
        self.model = torch.nn.Linear(16, 16)
        self.losses: list[torch.Tensor] = []
        self.total = 0.0
        self.ring: deque[torch.Tensor] = deque(maxlen=300)

    def loss(self) -> torch.Tensor:
        loss = self.model(torch.randn(4, 16)).square().mean()
        self.model.zero_grad()
        loss.backward()
        return loss

    def clean(self) -> None:
        self.total += self.loss().item()

    def leaky(self) -> None:
        self.losses.append(self.loss())

    def rings(self) -> None:
        self.ring.append(torch.zeros(64))


def line_of(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_clean_step_is_clean() -> None:
    result = stepleak.check(Training().clean)
    assert result.verdict == "clean"
    assert result.is_clean
    assert result.findings == []
    assert result.steps >= 64
    assert str(result).startswith("Training.clean is clean on c")  # cpu, or cuda:0
    assert len(str(result).strip().splitlines()) == 1


def test_leak_is_found_with_line_holder_and_fix() -> None:
    result = stepleak.check(Training().leaky, name="my training", device="cpu")
    assert result.verdict == "leak"
    assert not result.is_clean
    finding = result.findings[0]
    assert finding["kind"] == "graph_retention"
    frames = [(Path(frame["file"]).name, frame["line"]) for frame in finding["where"]]
    assert (HERE, line_of("self.model(torch.randn(4, 16)).square()")) in frames
    assert ".losses (list, len " in finding["holder"]
    assert f"{HERE}:{line_of('self.losses.append(self.loss())')}  self.losses.append(self.loss())" in finding["kept_by"]
    assert finding["fix"]
    assert result.report.startswith("my training leaks ")
    assert result.json["target"] == "my training"
    assert len(result.json["series"]["live_nodes@cpu"]) == result.steps


def test_leak_in_a_closure_is_found() -> None:
    kept: list[torch.Tensor] = []

    def step() -> None:
        kept.append(torch.zeros(256))

    result = stepleak.check(step)
    assert result.verdict == "leak"
    assert result.findings[0]["kind"] == "growth"
    assert result.findings[0]["bytes_per_step"] == 1024
    assert "kept (list, len " in result.findings[0]["holder"]


def test_step_that_takes_the_index_gets_it() -> None:
    indices: deque[int] = deque(maxlen=8)
    first: list[int] = []

    def step(index: int) -> None:
        if not first:
            first.append(index)
        assert not indices or index == indices[-1] + 1
        indices.append(index)

    result = stepleak.check(step)
    assert result.verdict == "clean", result.report
    assert first == [0]


def test_step_with_a_default_gets_none() -> None:
    seen: set[str] = set()

    def step(mode: str = "train") -> None:
        seen.add(mode)

    assert stepleak.check(step).is_clean
    assert seen == {"train"}


def test_container_with_a_bound_is_run_until_it_is_full() -> None:
    # Linear for 300 steps, which is more than the 256 after which a leak is called.
    result = stepleak.check(Training().rings)
    assert result.verdict == "clean", result.report
    assert result.steps > 300
    assert any("bounded at 300" in note for note in result.json["notes"])


def adapters_of_tasks(kept_optimizers: list[torch.optim.Optimizer] | None = None) -> Iterator[None]:
    """Tasks of 20 steps, each with an optimizer of its own; the leak is an adapter a task."""
    adapters = torch.nn.ModuleDict()
    for task in itertools.count():
        layer = adapters[f"task{task}"] = torch.nn.Linear(16, 16, bias=False)  # the adapter
        optimizer = torch.optim.AdamW(layer.parameters())
        if kept_optimizers is not None:
            kept_optimizers.append(optimizer)
        for _ in range(20):
            layer(torch.randn(4, 16)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            yield


class TwoLogs:
    """Keeps attached losses, and records of the host's."""

    def __init__(self) -> None:
        self.training = Training()
        self.records: list[list[str]] = []

    def step(self) -> None:
        self.training.leaky()
        self.records.append([f"{len(self.records)}: {number}" for number in range(40)])


def test_two_leaks_in_one_step_are_two_findings() -> None:
    result = stepleak.check(TwoLogs().step, device="cpu")
    assert [finding["kind"] for finding in result.findings] == ["graph_retention", "host_heap"], result.report
    assert ".losses (list" in result.findings[0]["holder"]
    assert ".records (list" in result.findings[1]["holder"]


def test_what_the_task_that_runs_holds_is_not_blamed() -> None:
    result = stepleak.check(adapters_of_tasks().__next__)
    assert result.verdict == "leak", result
    finding = result.findings[0]
    assert finding["kind"] in ("growth", "detached_activation"), result.report
    assert ".adapters (ModuleDict)" in finding["holder"]
    assert finding["where"][0]["line"] == line_of("# the adapter")
    assert finding["kept_count"] >= 1


def test_optimizers_that_are_kept_after_their_tasks_are_named() -> None:
    optimizers: list[torch.optim.Optimizer] = []
    result = stepleak.check(adapters_of_tasks(optimizers).__next__)
    assert result.findings[0]["kind"] == "optimizer_state", result


class Trial:
    """A model and what trains it."""

    def __init__(self) -> None:
        self.model = torch.nn.Sequential(torch.nn.Linear(5, 16), torch.nn.ReLU())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def train(self) -> None:
        self.model(torch.rand(2, 5)).sum().backward()
        self.optimizer.step()


def test_trials_that_are_kept_are_no_optimizers_state() -> None:
    finished: list[Trial] = []

    def step() -> None:
        trial = Trial()
        trial.train()
        finished.append(trial)

    finding = stepleak.check(step, device="cpu").findings[0]
    assert finding["kind"] in ("growth", "detached_activation"), finding
    assert finding["kept_count"] == finding["explained_steps"]


def models_of_trials(models: list[torch.nn.Module]) -> Iterator[None]:
    """Trials of random length and width; the leak is a model a trial."""
    draw = random.Random(0)
    while True:
        model = torch.nn.Linear(20, draw.choice([16, 32, 64]))
        optimizer = draw.choice([torch.optim.SGD, torch.optim.Adam])(model.parameters(), lr=0.01)
        for _ in range(draw.choice([10, 20, 30])):
            loss = model(torch.randn(8, 20)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield
        models.append(model)


def test_models_of_trials_that_are_kept_are_no_growing_buffer() -> None:
    models: list[torch.nn.Module] = []
    result = stepleak.check(models_of_trials(models).__next__)
    assert result.verdict == "leak", result
    assert {finding["kind"] for finding in result.findings} <= {"growth", "detached_activation"}, result
    assert "models (list, len " in result.findings[0]["holder"]


def test_callable_object_is_named_by_its_class() -> None:
    class Step:
        def __call__(self) -> None:
            torch.zeros(4)

    assert "Step is clean" in stepleak.check(Step()).report


def test_quick_effort_needs_fewer_steps() -> None:
    assert 16 <= stepleak.check(Training().clean, effort="quick").steps < 64


def test_steps_bounds_the_run() -> None:
    assert stepleak.check(Training().clean, steps=16).steps == 16


def test_seed_makes_runs_repeat() -> None:
    def values(seed: int) -> list[float]:
        drawn: list[float] = []

        def step() -> None:
            if len(drawn) < 4:
                drawn.append(torch.rand(()).item())

        stepleak.check(step, seed=seed, steps=16)
        return drawn

    assert values(7) == values(7)
    assert values(7) != values(8)


# --- steps that only promise to run -----------------------------------------------------------------------------------


class AsyncTraining(Training):
    """A training whose steps are coroutines, and whose objects are callables that give one."""

    def __init__(self) -> None:
        super().__init__()
        self.loops: set[int] = set()

    async def __call__(self) -> None:
        await asyncio.sleep(0)
        self.loops.add(id(asyncio.get_running_loop()))
        self.leaky()

    async def healthy(self) -> None:
        await self.nothing()
        self.clean()

    async def nothing(self) -> None:
        await asyncio.sleep(0)

    def batches(self) -> Iterator[None]:
        self.leaky()
        yield

    async def async_batches(self) -> AsyncIterator[None]:
        self.leaky()
        yield

    def takes_one_batch(self) -> Iterator[None]:
        batches = self.batches()
        next(batches)
        return batches


def test_coroutine_that_leaks_leaks() -> None:
    training = AsyncTraining()
    result = stepleak.check(training, steps=600)
    assert result.verdict == "leak", result.report
    assert "self.losses.append(self.loss())" in result.report
    assert len(training.losses) == result.steps
    assert len(training.loops) == 1


def test_coroutine_of_a_lambda_is_awaited_too() -> None:
    training = AsyncTraining()
    result = stepleak.check(lambda: training(), effort="quick", steps=64)
    assert len(training.losses) == result.steps


def test_coroutine_that_keeps_nothing_is_clean() -> None:
    result = stepleak.check(AsyncTraining().healthy)
    assert result.is_clean, result.report
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()


def test_coroutine_that_raises_fails_the_run() -> None:
    async def step() -> None:
        raise ValueError("no more batches")

    result = stepleak.check(step)
    assert result.verdict == "failure"
    assert "ValueError: no more batches" in result.report


def test_task_that_a_step_leaves_behind_ends_with_the_run() -> None:
    left: list[asyncio.Task[None]] = []

    async def step() -> None:
        left.append(asyncio.ensure_future(asyncio.sleep(1000)))

    stepleak.check(step, effort="quick", steps=16)
    assert all(task.cancelled() for task in left)


@pytest.mark.parametrize("step", ["batches", "async_batches"])
def test_generator_is_wrong_use(step: str) -> None:
    training = AsyncTraining()
    with pytest.raises(stepleak.UsageError, match=r"a generator that nobody runs.*; run it in the step"):
        stepleak.check(getattr(training, step))
    assert training.losses == []


def test_generator_that_the_step_took_from_is_no_wrong_use() -> None:
    assert stepleak.check(AsyncTraining().takes_one_batch, effort="quick", steps=600).verdict == "leak"


def test_coroutine_within_a_running_loop_is_wrong_use() -> None:
    async def test() -> None:
        stepleak.check(AsyncTraining().healthy)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(stepleak.UsageError, match="an event loop runs in this thread already"):
            asyncio.run(test())
    assert not _core.attachments()["is_observing"]


# --- one check after another ------------------------------------------------------------------------------------------


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


# --- what the first steps bring along ---------------------------------------------------------------------------------


class Imports:
    """A step that brings thousands of objects along at first, as the import of a library does."""

    def __init__(self, per_step: int) -> None:
        self.modules: list[list[Any]] = []
        self.records: list[list[int]] = []
        self.per_step = per_step
        self.seen: list[int] = []

    def __call__(self) -> None:
        if not self.modules:
            self.modules = [[self] for _ in range(20_000)]
        self.records.extend([self] for _ in range(self.per_step))  # type: ignore[list-item]
        if len(self.seen) < 16:
            self.seen.append(len(gc.get_objects()))


def test_old_objects_of_the_first_steps_are_set_apart() -> None:
    step = Imports(per_step=0)
    result = stepleak.check(step, steps=16)
    ledger = result.json["series"]["python_objects@cpu"]
    assert step.seen[1] > 20_000  # the second step still shares the collector with them
    assert step.seen[5] < 2_000
    # They are counted on, and the ledger neither falls nor rises where they are set apart.
    assert ledger[-1] >= 20_000
    assert len(set(ledger[4:])) == 1, ledger


def test_growth_is_counted_on_after_old_objects_are_set_apart() -> None:
    result = stepleak.check(Imports(per_step=3), steps=16)
    ledger = result.json["series"]["python_objects@cpu"]
    rises = [later - earlier for earlier, later in itertools.pairwise(ledger[3:])]
    assert rises == [3] * len(rises), ledger


# --- Python's own allocator -------------------------------------------------------------------------------------------


class Log:
    """Keeps so many new strings a step: no object of the collector's, and too small for malloc."""

    def __init__(self, per_step: int) -> None:
        self.training = Training()
        self.lines: list[str] = []
        self.per_step = per_step

    def __call__(self) -> None:
        self.training.clean()
        self.lines.extend(f"sample {len(self.lines)} {i}" for i in range(self.per_step))


def test_strings_that_stay_are_a_leak() -> None:
    result = stepleak.check(Log(20))
    assert result.verdict == "leak", result.report
    assert [finding["kind"] for finding in result.findings] == ["host_heap"]
    assert result.findings[0]["counted"] == "python blocks"
    assert 20 <= result.findings[0]["count_per_step"] < 22


@pytest.mark.parametrize("per_step", [0, 2])
def test_log_of_few_strings_is_clean_at_once(per_step: int) -> None:
    result = stepleak.check(Log(per_step))
    assert result.is_clean, result.report
    assert result.steps == 64


class Records:
    """Keeps of each step objects that Python's collector tracks."""

    def __init__(self, per_step: int) -> None:
        self.training = Training()
        self.records: list[list[str]] = []
        self.per_step = per_step

    def __call__(self) -> None:
        self.training.clean()
        self.records.extend([f"{len(self.records)}", "b"] for _ in range(self.per_step))


def test_log_of_few_records_is_clean_and_said() -> None:
    result = stepleak.check(Records(2))
    assert result.is_clean, result.report
    notes: list[str] = result.json["notes"]
    assert [note.partition(",")[0] for note in notes if "python object" in note] == [
        "2 python objects stay of every step"
    ]


def test_as_many_empty_records_as_blocks_are_noise_are_a_leak() -> None:
    """Eight a step: each has one block, and eight blocks a step are the most that may be chance."""
    kept: list[list[str]] = []
    result = stepleak.check(lambda: kept.extend([[], [], [], [], [], [], [], []]), effort="quick")
    assert result.verdict == "leak", result.report


def test_step_that_logs_nothing_has_no_such_note() -> None:
    assert not any("python object" in note for note in stepleak.check(Records(0)).json["notes"])


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


# --- assert_no_leak ---------------------------------------------------------------------------------------------------


def test_assert_no_leak_is_silent_on_a_clean_step(capfd: pytest.CaptureFixture[str]) -> None:
    stepleak.assert_no_leak(Training().clean)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == ""


def test_assert_no_leak_raises_with_the_report() -> None:
    with pytest.raises(stepleak.LeakError) as caught:
        stepleak.assert_no_leak(Training().leaky, name="train_step")
    message = str(caught.value)
    assert issubclass(stepleak.LeakError, AssertionError)
    assert "train_step leaks " in message
    assert "graph_retention" in message
    assert f"{HERE}:" in message
    assert caught.value.result.verdict == "leak"
    assert caught.value.result.report in message


def test_assert_no_leak_raises_where_the_step_fails() -> None:
    def step() -> None:
        raise ValueError("no more batches")

    with pytest.raises(stepleak.LeakError, match="no more batches") as caught:
        stepleak.assert_no_leak(step)
    assert caught.value.result.verdict == "failure"


# --- leaks that are let be --------------------------------------------------------------------------------------------


def test_what_is_ignored_stays_a_leak_and_is_let_be() -> None:
    training = Training()
    result = stepleak.check(training.leaky, effort="quick", ignore="*.losses (list*")
    assert (result.verdict, result.is_clean, result.is_known, result.is_let_be) == ("leak", False, True, True)
    assert "  known   let be: ignore='*.losses (list*'\n" in result.report
    stepleak.assert_no_leak(Training().leaky, effort="quick", ignore=result.findings[0]["fingerprint"])
    stepleak.assert_no_leak(Training().leaky, effort="quick", ignore=["*nowhere*", f"*/{HERE}:leaky"])


def test_one_more_leak_than_is_ignored_fails() -> None:
    training, more = Training(), []

    def step() -> None:
        training.leaky()
        more.append(torch.zeros(4096))

    with pytest.raises(stepleak.LeakError) as raised:
        stepleak.assert_no_leak(step, ignore="*.losses (list*")
    assert not raised.value.result.is_known
    assert "  known   one of several: ignore='*.losses (list*'\n" in str(raised.value)


def test_what_is_ignored_and_is_not_there_is_said() -> None:
    result = stepleak.check(Training().clean, effort="quick", ignore="*.losses (list*")
    assert result.is_clean and not result.is_known
    assert "  known   ignore='*.losses (list*' matches nothing here\n" in result.report
    with pytest.raises(stepleak.LeakError, match="matches nothing here"):
        stepleak.assert_no_leak(Training().leaky, effort="quick", ignore="0123456789abcdef")


@pytest.mark.parametrize("ignore", [3, "", [""], [b"bytes"], {"where": "*"}, None])
def test_what_is_no_pattern_is_wrong_use(ignore: Any) -> None:
    with pytest.raises(stepleak.UsageError, match="give fingerprints or patterns"):
        stepleak.check(Training().clean, ignore=ignore)


# --- steps that fail --------------------------------------------------------------------------------------------------


def test_exception_is_a_failure_with_its_step_and_line() -> None:
    def step(index: int) -> None:
        if index == 3:
            raise ValueError("no more batches")  # in step 4

    result = stepleak.check(step)
    assert result.verdict == "failure"
    assert result.steps == 3
    assert "ValueError: no more batches" in result.json["failure"]["what"]
    assert "(in step 4)" in result.json["failure"]["what"]
    line = line_of("# in step 4")
    assert f'{HERE}", line {line}' in result.report
    assert len(result.json["series"]["live_bytes@cpu"]) == 3


def test_sys_exit_does_not_end_the_process() -> None:
    result = stepleak.check(lambda: sys.exit(3))
    assert result.verdict == "failure"
    assert "SystemExit: 3" in result.report


def test_keyboard_interrupt_reaches_the_user() -> None:
    def step() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stepleak.check(step)


# --- wrong use --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effort": "nonsense"}, "'nonsense' is no effort; use quick, standard or nightly"),
        ({"steps": 8}, "8 steps are too few to judge; give 16 steps at least"),
        ({"steps": -32}, "steps"),
        ({"period": -1}, "must not be negative"),
        ({"device": "toaster"}, "toaster"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_option_is_a_usage_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(stepleak.UsageError, match=message):
        stepleak.check(lambda: None, **options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="here the device can be used")
def test_device_that_cannot_be_used_is_told_with_the_reason() -> None:
    with pytest.raises(RuntimeError, match=r"cuda:0 cannot be used: .*; .*--device cpu"):
        stepleak.check(lambda: None, device="cuda:0")


def test_step_with_arguments_is_a_usage_error() -> None:
    def train(batch: torch.Tensor, labels: torch.Tensor) -> None:
        """Never called."""

    with pytest.raises(stepleak.UsageError, match="needs arguments: batch, labels"):
        stepleak.check(train)


def test_what_is_no_callable_is_a_usage_error() -> None:
    with pytest.raises((stepleak.UsageError, TypeError)):
        stepleak.check(3)  # type: ignore[arg-type]


def test_help_shows_the_options_of_each_front_door() -> None:
    for function in (stepleak.check, stepleak.watch, stepleak.assert_no_leak):
        shown = inspect.signature(function).parameters
        assert shown["effort"].default == "standard" and shown["peer_timeout"].default == 300.0
        assert "options" not in shown


def test_unknown_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="vigour"):
        stepleak.assert_no_leak(lambda: None, vigour="quick")  # type: ignore[call-arg]
