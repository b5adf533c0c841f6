# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What only a GPU can show: back ends, failures of the device, wrong devices, and who sees what."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

import pytest
import torch

FAILURE = 3

STEPS = """
    import collections
    import ctypes

    import torch

    runtime = ctypes.CDLL("libcudart.so.13")
    WIDTH = 64
    model = torch.nn.Linear(WIDTH, WIDTH, device="cuda")
    kept = []
    marks = []
    latest_marks = collections.deque(maxlen=8)

    def clean():
        model(torch.randn(16, WIDTH, device="cuda")).square().mean().backward()
        model.zero_grad()

    def leak():
        clean()
        with torch.no_grad():
            kept.append(model(torch.randn(1 << 13, WIDTH, device="cuda")))

    def runs_out_of_memory():
        kept.append(torch.empty(4 << 30, dtype=torch.uint8, device="cuda"))

    def takes_raw_memory():
        memory = ctypes.c_void_p()
        runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(2 << 20))
        kept.append(memory)

    def keeps_an_event():
        clean()
        mark = torch.cuda.Event()
        mark.record()
        marks.append(mark)

    def keeps_the_latest_events():
        clean()
        mark = torch.cuda.Event()
        mark.record()
        latest_marks.append(mark)

    def takes_little_raw_memory():
        memory = ctypes.c_void_p()
        runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(40 << 10))

    def use_stream(stream):
        clean()
        with torch.cuda.stream(stream):
            torch.empty(1 << 16, device="cuda")

    def uses_a_stream_of_the_pool(number):
        use_stream(torch.cuda.Stream() if number % 2 == 0 else torch.cuda.current_stream())

    def uses_a_stream_of_its_own():
        handle = ctypes.c_void_p()
        runtime.cudaStreamCreate(ctypes.byref(handle))
        kept.append(handle)
        use_stream(torch.cuda.ExternalStream(handle.value))

    def breaks_the_device():
        torch.zeros(3, device="cuda")[torch.tensor([5], device="cuda")]

    def leaves_a_capture_open():
        graph = torch.cuda.CUDAGraph()
        kept.append(graph)
        torch.cuda.set_stream(torch.cuda.Stream())
        graph.capture_begin()
"""

PLUGGED_IN = """
    import os

    from torch.cuda.memory import CUDAPluggableAllocator, change_current_allocator

    change_current_allocator(CUDAPluggableAllocator(os.environ["STEPLEAK_TEST_ALLOCATOR"], "take", "give_back"))
"""

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")


@pytest.fixture(scope="module")
def steps(shared_stepleak: Any) -> Any:
    shared_stepleak.write("steps.py", STEPS)
    shared_stepleak.write("plugged.py", PLUGGED_IN + STEPS)
    return shared_stepleak


# --- back ends --------------------------------------------------------------------------------------------------------

ASYNC_NOTE = "cudaMallocAsync reports levels and no events"
BYPASS_NOTE = "bypass torch's caching allocator"


@pytest.mark.parametrize(
    ("file", "settings", "name", "note"),
    [
        ("steps.py", {}, "native", None),
        ("steps.py", {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, "native", None),
        ("steps.py", {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}, "cudaMallocAsync", ASYNC_NOTE),
        ("steps.py", {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, "uncached", BYPASS_NOTE),
        ("plugged.py", {}, "pluggable", BYPASS_NOTE),
    ],
    ids=["native", "expandable", "async", "uncached", "pluggable"],
)
def test_a_leak_is_found_with_every_back_end_and_what_it_hides_is_said(
    steps: Any, file: str, settings: dict[str, str], name: str, note: str | None
) -> None:
    outcome = steps(
        "run", f"{file}:leak", f"{file}:clean", "--device", "cuda", "--json", "both.json", switches=settings
    )
    results = steps.results("both.json")
    leak, clean = results[f"{file}:leak"], results[f"{file}:clean"]
    assert clean["verdict"] == "clean", outcome.text
    assert leak["verdict"] == "leak", outcome.text
    # 8192 rows of 64 floats are 2 MiB; a driver's chunk is as large.
    assert leak["findings"][0]["bytes_per_step"] == pytest.approx(2 << 20, rel=0.1)
    assert leak["findings"][0]["device"] == "cuda:0"
    assert leak["findings"][0]["kind"] != "growing_buffer", outcome.text  # it is a list of outputs
    assert clean["conditions"]["cuda allocator"] == name
    if note is None:
        assert clean["notes"] == []
    else:
        assert any(note in said for said in clean["notes"])


# --- failures of the step ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Failures:
    """One call over steps that fail, and one that does not."""

    outcome: Any
    results: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def failures(steps: Any) -> Failures:
    failing = ["runs_out_of_memory", "breaks_the_device", "leaves_a_capture_open", "clean"]
    # One worker at a time: the first takes all of the device's memory.
    outcome = steps("run", *(f"steps.py:{step}" for step in failing), "--jobs", "1", "--json", "failing.json")
    return Failures(outcome, steps.results("failing.json"))


@pytest.mark.parametrize(
    ("step", "part"),
    [
        ("runs_out_of_memory", "out of memory"),
        ("breaks_the_device", "CUDA"),
        ("leaves_a_capture_open", "capture"),
    ],
)
def test_a_failing_step_is_told(failures: Failures, step: str, part: str) -> None:
    failed = failures.results[f"steps.py:{step}"]
    assert failed["verdict"] == "failure"
    assert part in failed["failure"]["what"]


def test_the_step_after_a_failing_one_runs(failures: Failures) -> None:
    assert failures.outcome.code == FAILURE, failures.outcome.text
    assert failures.results["steps.py:clean"]["verdict"] == "clean"


def test_out_of_memory_keeps_the_ledger_and_tells_what_is_live(failures: Failures) -> None:
    result = failures.results["steps.py:runs_out_of_memory"]
    series = result["series"]["live_bytes@cuda:0"]
    assert len(series) > 4
    assert series[-1] - series[0] == (len(series) - 1) * (4 << 30)
    memory = result["failure"]["memory"]
    assert memory["bytes"] == series[-1]
    assert len(memory["largest"]) == len(memory["newest"]) == 10
    assert all(block["bytes"] == 4 << 30 for block in memory["largest"])
    assert [block["last_step"] for block in memory["newest"]] == [*range(len(series), len(series) - 10, -1)]
    # Steps 1, 4 and 16 had their stacks recorded, and some of a record pass, which a large device comes to.
    screened = {step for step in (1, 4, 16) if step <= len(series)}
    passes = result.get("passes", [])
    recorded = {range(one["first_step"], len(series) + 1) for one in passes if one["type"] == "record"}
    assert len(screened) <= memory["by_stack"][0]["blocks"] <= len(screened.union(*recorded))
    assert "kept.append(torch.empty(4 << 30" in memory["by_stack"][0]["where"][0]["text"]
    assert "kept.append(torch.empty(4 << 30" in failures.outcome.block_of("steps.py:runs_out_of_memory")


# --- another tool on CUPTI --------------------------------------------------------------------------------------------


FILLING = """
    import torch

    MIB = 1 << 20
    torch.cuda.set_per_process_memory_fraction(160 * MIB / torch.cuda.get_device_properties(0).total_memory)
    newest = None

    class Link:
        def __init__(self, before, rows):
            self.before, self.rows = before, rows

    def step():
        global newest
        newest = Link(newest, torch.zeros(MIB // 4, device="cuda"))
"""


def test_what_fills_the_device_is_called_a_leak_with_the_failure_beside_it(steps: Any) -> None:
    steps.write("filling.py", FILLING)
    steps("run", "filling.py:step", "--json", "out.json")
    result = steps.results("out.json")["filling.py:step"]
    assert (result["verdict"], result["steps"]) == ("leak", 160)
    assert "OutOfMemoryError" in result["failure"]["what"]
    assert "(in step 161)" in result["failure"]["what"]
    assert result["findings"][0]["where"][0]["text"].startswith("newest = Link(newest, torch.zeros(")


def test_who_holds_cupti_is_told(steps: Any) -> None:
    switches = {"CUDA_INJECTION64_PATH": os.environ["STEPLEAK_TEST_SUBSCRIBER"]}
    doctor = steps("doctor", switches=switches)
    # CUPTI tells the name from CUDA 13 on.
    holds = re.compile(r"(a test|another tool \(.*\)) holds CUPTI's only subscription: run without it")
    assert holds.search(doctor.out), doctor.text
    steps("run", "steps.py:takes_raw_memory", "steps.py:clean", "--json", "held.json", switches=switches)
    results = steps.results("held.json")
    leak = results["steps.py:takes_raw_memory"]
    assert [finding["kind"] for finding in leak["findings"]] == ["raw_cuda"]
    assert any(holds.search(note) for note in leak["notes"])
    assert any(holds.search(note) for note in results["steps.py:clean"]["notes"])
    assert "cuda_objects@cuda:0" not in results["steps.py:clean"]["limit"]["floors"]


def test_raw_memory_is_named_where_nobody_holds_cupti(steps: Any) -> None:
    steps("run", "steps.py:takes_raw_memory", "--json", "free.json")
    leak = steps.results("free.json")["steps.py:takes_raw_memory"]
    assert "runtime.cudaMalloc" in leak["findings"][0]["where"][0]["text"]
    assert leak["notes"] == []


# --- objects that are too small for any ledger of bytes ---------------------------------------------------------------

MOST_STEPS_TO_PROOF = 96


def test_an_event_of_each_step_is_a_leak_and_a_ring_of_them_is_none(steps: Any) -> None:
    names = ["keeps_an_event", "keeps_the_latest_events", "takes_little_raw_memory"]
    outcome = steps("run", *(f"steps.py:{name}" for name in names), "--json", "objects.json")
    leak, ring, raw = (steps.results("objects.json")[f"steps.py:{name}"] for name in names)
    assert [finding["kind"] for finding in leak["findings"]] == ["raw_cuda"], outcome.text
    assert leak["findings"][0]["holder"].startswith("steps.marks (list")
    assert "marks.append(mark)" in str(leak["findings"][0]["kept_by"])
    assert leak["steps"] <= MOST_STEPS_TO_PROOF
    assert (ring["verdict"], ring["notes"]) == ("clean", []), outcome.text
    assert ring["limit"]["floors"]["cuda_objects@cuda:0"] == pytest.approx(1 / 8)
    assert [finding["kind"] for finding in raw["findings"]] == ["raw_cuda"], outcome.text
    assert "runtime.cudaMalloc" in raw["findings"][0]["where"][0]["text"]


# --- streams ----------------------------------------------------------------------------------------------------------


def test_streams_of_torchs_pool_are_waited_for_and_others_are_not(steps: Any) -> None:
    names = ["uses_a_stream_of_the_pool", "uses_a_stream_of_its_own"]
    outcome = steps("run", *(f"steps.py:{name}" for name in names), "--json", "streams.json")
    pooled, own = (steps.results("streams.json")[f"steps.py:{name}"] for name in names)
    # Of 32 streams each second step takes one, and then they come again.
    assert pooled["verdict"] == "clean", outcome.text
    assert own["verdict"] == "leak", outcome.text


# --- devices ----------------------------------------------------------------------------------------------------------


def test_a_device_that_is_not_there(steps: Any) -> None:
    outcome = steps("run", "steps.py:clean", "--device", "cuda:99")
    assert outcome.code == FAILURE
    assert "there is no cuda:99" in outcome.err
    assert "remedy: " in outcome.err


def test_no_visible_device(steps: Any) -> None:
    outcome = steps("run", "steps.py:clean", "--device", "cuda", switches={"CUDA_VISIBLE_DEVICES": ""})
    assert outcome.code == FAILURE
    assert "CUDA_VISIBLE_DEVICES='' shows no GPU" in outcome.err


def test_auto_is_the_gpu(steps: Any) -> None:
    outcome = steps("run", "steps.py:clean", "--json", "clean.json")
    assert outcome.code == 0, outcome.text
    assert steps.results("clean.json")["steps.py:clean"]["device"] == "cuda:0"


def test_doctor_names_the_gpu_and_what_is_seen(stepleak: Any) -> None:
    outcome = stepleak("doctor")
    assert outcome.code == 0, outcome.text
    assert torch.cuda.get_device_name(0) in outcome.out
    assert "exact" in outcome.out and "cuda allocator" in outcome.out
