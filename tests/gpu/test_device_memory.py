# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What only a GPU can show: back ends, failures of the device, wrong devices, and who sees what."""

from __future__ import annotations

from typing import Any

import pytest
import torch

LEAK = 1
FAILURE = 3

STEPS = """
    import torch

    WIDTH = 64
    model = torch.nn.Linear(WIDTH, WIDTH, device="cuda")
    kept = []

    def clean():
        model(torch.randn(16, WIDTH, device="cuda")).square().mean().backward()
        model.zero_grad()

    def leak():
        clean()
        with torch.no_grad():
            kept.append(model(torch.randn(1 << 13, WIDTH, device="cuda")))

    def runs_out_of_memory():
        kept.append(torch.empty(8 << 30, dtype=torch.uint8, device="cuda"))

    def breaks_the_device():
        torch.zeros(3, device="cuda")[torch.tensor([5], device="cuda")]

    def leaves_a_capture_open():
        graph = torch.cuda.CUDAGraph()
        kept.append(graph)
        torch.cuda.set_stream(torch.cuda.Stream())
        graph.capture_begin()
"""

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")


@pytest.fixture
def steps(stepleak: Any) -> Any:
    stepleak.write("steps.py", STEPS)
    return stepleak


# --- back ends --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
        {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"},
        {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
    ],
    ids=["native", "expandable", "async", "uncached"],
)
def test_a_leak_is_found_with_every_back_end(steps: Any, settings: dict[str, str]) -> None:
    outcome = steps("run", "steps.py:leak", "--device", "cuda", "--json", "leak.json", switches=settings)
    assert outcome.code == LEAK, outcome.text
    finding = steps.results("leak.json")["steps.py:leak"]["findings"][0]
    # 8192 rows of 64 floats are 2 MiB; a driver's chunk is as large.
    assert finding["bytes_per_step"] == pytest.approx(2 << 20, rel=0.1)
    assert finding["device"] == "cuda:0"


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        ({"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}, "cudaMallocAsync reports levels and no events"),
        ({"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, "bypass torch's caching allocator"),
    ],
    ids=["async", "uncached"],
)
def test_what_a_back_end_hides_is_said(steps: Any, settings: dict[str, str], note: str) -> None:
    outcome = steps("run", "steps.py:clean", "--device", "cuda", "--json", "clean.json", switches=settings)
    assert outcome.code == 0, outcome.text
    assert any(note in said for said in steps.results("clean.json")["steps.py:clean"]["notes"])


def test_a_native_clean_run_says_nothing(steps: Any) -> None:
    outcome = steps("run", "steps.py:clean", "--device", "cuda", "--json", "clean.json")
    assert outcome.code == 0, outcome.text
    assert steps.results("clean.json")["steps.py:clean"]["notes"] == []


# --- failures of the step ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "part"),
    [
        ("runs_out_of_memory", "out of memory"),
        ("breaks_the_device", "CUDA"),
        ("leaves_a_capture_open", "capture"),
    ],
)
def test_a_failing_step_is_told_and_the_next_one_runs(steps: Any, step: str, part: str) -> None:
    outcome = steps("run", f"steps.py:{step}", "steps.py:clean", "--device", "cuda", "--json", "both.json")
    assert outcome.code == FAILURE, outcome.text
    results = steps.results("both.json")
    failed = results[f"steps.py:{step}"]
    assert failed["verdict"] == "failure"
    assert part in failed["failure"]["what"]
    assert results["steps.py:clean"]["verdict"] == "clean"


def test_out_of_memory_keeps_the_ledger(steps: Any) -> None:
    steps("run", "steps.py:runs_out_of_memory", "--device", "cuda", "--json", "oom.json")
    series = steps.results("oom.json")["steps.py:runs_out_of_memory"]["series"]["live_bytes@cuda:0"]
    assert len(series) > 4
    assert series[-1] - series[0] == (len(series) - 1) * (8 << 30)


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
