# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a run attaches to the process: undone afterwards, absent in forked children, in nobody's way."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator

import pytest
import stepleak
import torch
from stepleak import _core  # type: ignore[attr-defined]  # built, not written
from torch import nn

# From Python 3.12 on each fork beside a thread is warned of, and pytest keeps each warning: memory of its own.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

FROZEN_BY_PYTHON = gc.get_freeze_count()
"""CPython 3.12 and later begin with some."""
NOTHING = {"is_observing": False, "has_operator_callback": False, "tensor_references": 0, "holds_cupti": False}


def cpu_check(step: Callable[[], object], **options: object) -> stepleak.Result:
    return stepleak.check(step, device="cpu", **options)  # type: ignore[arg-type]


def assert_nothing_attached() -> None:
    assert _core.attachments() == NOTHING
    assert gc.get_freeze_count() <= FROZEN_BY_PYTHON
    assert torch._C._swap_tensor_impl.__module__ != "stepleak"
    assert type(torch._C._swap_tensor_impl).__name__ == "builtin_function_or_method"


# --- undone on every way out ------------------------------------------------------------------------------------------


@pytest.fixture
def swap_impl() -> Iterator[None]:
    before = torch._C._swap_tensor_impl
    yield
    assert torch._C._swap_tensor_impl is before


@pytest.mark.usefixtures("swap_impl")
def test_a_run_is_attached_while_its_step_runs() -> None:
    seen: list[dict[str, object]] = []

    def step() -> None:
        torch.zeros(4)
        seen[:] = [_core.attachments()]

    cpu_check(step, steps=64)
    assert seen[0]["is_observing"]
    assert seen[0]["has_operator_callback"]
    assert_nothing_attached()


@pytest.mark.usefixtures("swap_impl")
def test_nothing_stays_after_a_leak() -> None:
    kept: list[torch.Tensor] = []
    assert cpu_check(lambda: kept.append(torch.zeros(4))).verdict == "leak"
    assert_nothing_attached()


@pytest.mark.parametrize("failing_step", [3, 150])  # in the screen pass, and past the verdict
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.usefixtures("swap_impl")
def test_nothing_stays_after_a_step_that_raises(failing_step: int, error: type[BaseException]) -> None:
    kept: list[torch.Tensor] = []

    def step() -> None:
        kept.append(torch.zeros(4))
        if len(kept) >= failing_step:
            raise error("out of data")

    with contextlib.suppress(KeyboardInterrupt):
        cpu_check(step)
    assert_nothing_attached()


# --- forked children --------------------------------------------------------------------------------------------------


def in_child(work: Callable[[], None]) -> None:
    """Forks, runs `work` in the child, and raises where it failed or did not end."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    assert wait_for(child) == 0


def wait_for(child: int, seconds: float = 60) -> int:
    """The child's exit status; one that hangs is ended."""
    timer = threading.Timer(seconds, os.kill, (child, 9))
    timer.start()
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        timer.cancel()


def train_a_little() -> None:
    model = nn.Linear(8, 8)
    kept = [model(torch.randn(2, 8)).sum() for _ in range(10)]
    for loss in kept:
        loss.backward()
    torch.utils.swap_tensors(torch.zeros(3), torch.ones(3))


def test_a_child_neither_observes_nor_keeps_anything() -> None:
    weights = torch.zeros(16)
    forked = 0

    def look() -> None:
        assert _core.attachments() | {"has_operator_callback": False} == NOTHING
        assert gc.get_freeze_count() == 0
        train_a_little()
        weights.add_(1)
        assert _core.attachments()["tensor_references"] == 0

    def step() -> None:
        nonlocal forked
        weights.mul_(2)
        forked += 1
        if forked in (5, 40):
            in_child(look)
        assert gc.get_freeze_count() > 0

    result = cpu_check(step, steps=64)
    assert result.verdict == "clean", result.report
    assert forked >= 40


def test_a_child_may_run_a_check_of_its_own() -> None:
    calls = 0

    def check_in_child() -> None:
        kept: list[torch.Tensor] = []
        leaky = cpu_check(lambda: kept.append(torch.zeros(256)))
        assert leaky.verdict == "leak", leaky.report
        assert leaky.findings[0]["bytes_per_step"] == 1024, leaky.report
        clean = cpu_check(train_a_little)
        assert clean.verdict == "clean", clean.report

    def step() -> None:
        nonlocal calls
        torch.zeros(4)
        calls += 1
        if calls == 5:
            in_child(check_in_child)

    assert cpu_check(step, steps=64).verdict == "clean"


def test_a_child_does_not_hang_where_other_threads_allocate_at_the_fork() -> None:
    is_over = threading.Event()
    kept: list[torch.Tensor] = []

    def allocate() -> None:
        while not is_over.is_set():
            torch.zeros(64).add_(1)
            torch.UntypedStorage(64)

    def step() -> None:
        kept.append(torch.zeros(16))  # a leak, so that the record pass runs too
        if len(kept) in (2, 64, 130) or len(kept) > 270:
            in_child(train_a_little)

    threads = [threading.Thread(target=allocate) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        cpu_check(step)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def square(value: int) -> float:
    assert not _core.attachments()["is_observing"]
    return float((torch.ones(8) * value).sum())


def test_pools_and_subprocesses_of_a_step_are_not_observed() -> None:
    calls = 0

    def step() -> None:
        nonlocal calls
        torch.zeros(8)
        calls += 1
        if calls in (3, 30):
            with multiprocessing.get_context("fork").Pool(2) as pool:
                assert pool.map(square, range(4)) == [0.0, 8.0, 16.0, 24.0]
            assert subprocess.run([sys.executable, "-c", "print(1)"], check=True, capture_output=True).stdout == b"1\n"

    # The pool's threads unmap their stacks when they come to it.
    result = cpu_check(step)
    assert result.verdict == "clean", result.report


# --- weak references --------------------------------------------------------------------------------------------------


def test_swapped_tensors_are_clean() -> None:
    weights = nn.Parameter(torch.zeros(16))

    def step() -> None:
        with torch.no_grad():
            weights.add_(1)
        torch.utils.swap_tensors(weights, nn.Parameter(weights.detach() * 2))
        torch.utils.swap_tensors(torch.zeros(4), torch.ones(4))

    result = cpu_check(step)
    assert result.verdict == "clean", result.report


def test_a_module_that_is_converted_by_swapping_is_clean() -> None:
    module = nn.Linear(4, 4)

    def step() -> None:
        torch.__future__.set_swap_module_params_on_conversion(True)
        try:
            module.to(torch.float64).to(torch.float32)
        finally:
            torch.__future__.set_swap_module_params_on_conversion(False)

    result = cpu_check(step)
    assert result.verdict == "clean", result.report


def test_swapped_tensors_that_are_kept_are_a_leak() -> None:
    kept: list[torch.Tensor] = []

    def step() -> None:
        first, second = torch.zeros(64), torch.ones(64)
        torch.utils.swap_tensors(first, second)
        kept.append(first)

    result = cpu_check(step)
    assert result.verdict == "leak"
    assert result.findings[0]["bytes_per_step"] == 256
    assert "kept (list, len " in result.findings[0]["holder"]
    assert result.json["series"]["live_tensors@cpu"][40] - result.json["series"]["live_tensors@cpu"][30] == 10


def test_a_swap_that_torch_refuses_is_refused() -> None:
    shared = torch.zeros(4)
    view = shared.view(2, 2)  # noqa: F841  # a second holder of what `shared` shows

    def step() -> None:
        keeper = nn.Parameter(shared)
        output = keeper * 2  # a graph that holds the parameter
        torch.utils.swap_tensors(keeper, torch.ones(4))
        output.sum().backward()

    with pytest.raises(RuntimeError):
        step()
    result = cpu_check(step)
    assert result.verdict == "failure"
    assert_nothing_attached()


# --- locks of others --------------------------------------------------------------------------------------------------


def test_threads_that_prefetch_do_not_hang_a_record_pass() -> None:
    is_over = threading.Event()
    queue: list[torch.Tensor] = []
    kept: list[torch.Tensor] = []
    counts: list[int] = []

    def prefetch() -> None:
        count = 0
        while not is_over.is_set():
            count += 1
            batch = torch.randn(16, 16)
            queue.append(batch.clone())
            torch.UntypedStorage(256)
            if len(queue) > 8:
                queue.clear()
        counts.append(count)

    def step() -> None:
        loss = (torch.randn(16, 16, requires_grad=True) @ torch.randn(16, 16)).sum()
        loss.backward()
        kept.append(loss)

    threads = [threading.Thread(target=prefetch, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        result = cpu_check(step)
    finally:
        is_over.set()
        for thread in threads:
            thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    print(f"{sum(counts)} batches of {len(counts)} threads in {result.steps} steps, {result.json['seconds']:.1f} s")
    assert min(counts) > 100
    assert result.verdict in ("leak", "inconclusive"), result.report


def test_a_storage_made_outside_of_operators_has_its_line() -> None:
    kept: list[torch.UntypedStorage] = []

    def step() -> None:
        kept.append(torch.UntypedStorage(512))

    result = cpu_check(step)
    assert result.verdict == "leak"
    assert result.findings[0]["bytes_per_step"] == 512
    assert "torch.UntypedStorage(512)" in result.findings[0]["where"][0]["text"]


def test_nothing_is_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cpu_check(train_a_little, steps=64).verdict == "clean"
