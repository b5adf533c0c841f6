# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""`stepleak.check` in the process of a user's own tests, on a GPU."""

from __future__ import annotations

import ctypes
import faulthandler
import threading
from collections.abc import Callable, Iterator

import pytest
import stepleak
import torch
from stepleak import _core  # type: ignore[attr-defined]  # built, not written

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")

CHUNK = 2 << 20


@pytest.fixture
def takes_raw_memory() -> Iterator[Callable[[], None]]:
    """A step that takes device memory beside torch's allocator and keeps it."""
    runtime = ctypes.CDLL("libcudart.so.13")
    taken: list[ctypes.c_void_p] = []

    def step() -> None:
        memory = ctypes.c_void_p()
        assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(CHUNK)) == 0
        taken.append(memory)

    torch.zeros(1, device="cuda")
    yield step
    for memory in taken:
        runtime.cudaFree(memory)


def test_raw_memory_is_named_where_it_was_asked_for(takes_raw_memory: Callable[[], None]) -> None:
    result = stepleak.check(takes_raw_memory, with_cuda_objects=True)
    assert [finding["kind"] for finding in result.findings] == ["raw_cuda"], result.report
    assert "cudaMalloc(ctypes.byref(memory)" in result.findings[0]["where"][0]["text"]


def test_raw_memory_is_seen_and_not_named_by_default(takes_raw_memory: Callable[[], None]) -> None:
    result = stepleak.check(takes_raw_memory)
    assert [finding["kind"] for finding in result.findings] == ["raw_cuda"], result.report
    assert result.findings[0]["where"] == []


@pytest.mark.parametrize("is_kept", [True, False])
def test_blocks_of_the_devices_pool_are_seen_by_default(is_kept: bool) -> None:
    runtime = ctypes.CDLL("libcudart.so.13")
    taken: list[ctypes.c_void_p] = []

    def step() -> None:
        memory = ctypes.c_void_p()
        # The pool grows by a chunk for a hundred of them.
        assert runtime.cudaMallocAsync(ctypes.byref(memory), ctypes.c_size_t(CHUNK // 8), None) == 0
        taken.append(memory)
        if not is_kept:
            runtime.cudaFreeAsync(taken.pop(), None)

    torch.zeros(1, device="cuda")
    try:
        result = stepleak.check(step)
    finally:
        for memory in taken:
            runtime.cudaFreeAsync(memory, None)
    assert result.verdict == ("leak" if is_kept else "clean"), result.report
    assert [finding["kind"] for finding in result.findings] == ["raw_cuda"] * is_kept, result.report


@pytest.mark.parametrize("with_cuda_objects", [False, True])
def test_cupti_is_held_only_where_objects_are_counted_and_given_back(with_cuda_objects: bool) -> None:
    held: list[bool] = []

    def step() -> None:
        torch.zeros(4, device="cuda")
        held.append(_core.attachments()["holds_cupti"])

    stepleak.check(step, with_cuda_objects=with_cuda_objects, steps=64)
    assert any(held) == with_cuda_objects
    assert not _core.attachments()["holds_cupti"]


@pytest.mark.parametrize("with_cuda_objects", [False, True])
def test_an_event_of_each_step_is_seen_where_objects_are_counted(with_cuda_objects: bool) -> None:
    marks: list[torch.cuda.Event] = []

    def step() -> None:
        mark = torch.cuda.Event()
        mark.record()
        marks.append(mark)

    result = stepleak.check(step, with_cuda_objects=with_cuda_objects, steps=128)
    if with_cuda_objects:
        assert [finding["kind"] for finding in result.findings] == ["raw_cuda"], result.report
        assert "marks.append(mark)" in str(result.findings[0]["kept_by"])
    else:
        assert result.verdict != "clean" or "graphs and small raw allocations were not counted" in result.report


def test_a_watched_loop_names_what_stays_on_the_device() -> None:
    layer = torch.nn.Linear(64, 64, device="cuda")
    kept: list[torch.Tensor] = []

    def run(keep: Callable[[torch.Tensor], None]) -> stepleak.Result:
        with stepleak.watch(device="cuda:0", on_leak=lambda _: None) as w:
            for _ in range(400):
                loss = layer(torch.randn(64, 64, device="cuda")).sum()
                loss.backward()
                keep(loss)
                w.step()
        assert w.result is not None
        return w.result

    healthy = run(lambda loss: None)
    assert healthy.verdict == "clean", healthy.report
    leaky = run(lambda loss: kept.append(loss))
    assert leaky.verdict == "leak", leaky.report
    assert "kept.append(loss)" in str(leaky.findings[0]["kept_by"]), leaky.report


def test_threads_that_prefetch_do_not_hang_a_record_pass() -> None:
    """cudaMalloc comes under the allocator's lock, which a thread that frees a tensor under the GIL waits for."""
    is_over = threading.Event()
    kept: list[torch.Tensor] = []
    counts: list[int] = []

    def prefetch() -> None:
        batches: list[torch.Tensor] = []
        stream = torch.cuda.Stream()
        count = 0
        while not is_over.is_set():
            count += 1
            with torch.cuda.stream(stream):
                # Ever new sizes: the cache has no block for them, so the driver is asked under the lock.
                batches.append(torch.empty((4 << 20) + 4096 * (count % 512), dtype=torch.uint8, device="cuda"))
            torch.cuda.Event().record(stream)
            if len(batches) > 4:
                batches.clear()
                torch.cuda.empty_cache()
        counts.append(count)

    def step() -> None:
        loss = (torch.randn(64, 64, device="cuda", requires_grad=True) @ torch.randn(64, 64, device="cuda")).sum()
        loss.backward()
        kept.append(loss)

    threads = [threading.Thread(target=prefetch, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    faulthandler.dump_traceback_later(240, exit=True)  # a deadlock says where
    try:
        result = stepleak.check(step, with_cuda_objects=True)
    finally:
        faulthandler.cancel_dump_traceback_later()
        is_over.set()
        for thread in threads:
            thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    print(f"{sum(counts)} batches of {len(counts)} threads in {result.steps} steps, {result.json['seconds']:.1f} s")
    assert min(counts) > 100
    assert result.verdict in ("leak", "inconclusive"), result.report


def test_handles_of_a_record_pass_that_failed_are_not_of_the_next_run(takes_raw_memory: Callable[[], None]) -> None:
    calls = 0

    def fails_in_the_record_pass() -> None:
        nonlocal calls
        calls += 1
        for _ in range(4):
            takes_raw_memory()
        if calls == 265:  # a leak is called after 256 steps and then recorded
            raise RuntimeError("out of data")

    stepleak.check(fails_in_the_record_pass, with_cuda_objects=True)
    assert calls == 265
    runtime = ctypes.CDLL("libcudart.so.13")
    later: list[ctypes.c_void_p] = []

    def step() -> None:
        memory = ctypes.c_void_p()
        assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(CHUNK)) == 0  # the later run
        later.append(memory)

    result = stepleak.check(step, with_cuda_objects=True)
    for memory in later:
        runtime.cudaFree(memory)
    assert [finding["kind"] for finding in result.findings] == ["raw_cuda"], result.report
    assert "# the later run" in result.findings[0]["where"][0]["text"]
