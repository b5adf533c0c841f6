# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Devices other than the first, several of them in one process, and what a step leaves to others: graphs, threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch

STEPS = """
    import threading

    import torch

    WIDTH = 64
    kept = []

    def layer(device):
        return torch.nn.Linear(WIDTH, WIDTH, device=device)

    second = "cuda:1" if torch.cuda.device_count() > 1 else "cuda:0"
    first_half, second_half = layer("cuda:0"), layer(second)

    def loss():
        hidden = first_half(torch.randn(16, WIDTH, device="cuda:0"))
        return second_half(hidden.to(second)).square().mean()

    def forget_gradients():
        first_half.zero_grad()
        second_half.zero_grad()

    def pipeline():
        loss().backward()
        forget_gradients()

    def pipeline_keeps_losses():
        step_loss = loss()
        step_loss.backward()
        kept.append(step_loss)
        forget_gradients()

    def pipeline_keeps_on_the_second():
        pipeline()
        kept.append(torch.zeros(1 << 18, device=second))

    def second_only():
        second_half(torch.randn(16, WIDTH, device=second)).square().mean().backward()
        second_half.zero_grad()

    def second_only_keeps():
        second_only()
        kept.append(torch.zeros(1 << 18, device=second))

    def in_a_thread(work):
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()

    def thread():
        in_a_thread(pipeline)

    def thread_keeps_losses():
        in_a_thread(pipeline_keeps_losses)
"""

GRAPH_STEPS = """
    import torch

    kept = []
    model = torch.nn.Linear(64, 64, device="cuda")
    static_input = torch.zeros(16, 64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream()
    with torch.no_grad():
        with torch.cuda.stream(stream):  # cuBLAS takes its workspace before the capture
            model(static_input)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            static_output = model(static_input)

    def replay():
        static_input.normal_()
        graph.replay()

    def replay_keeps_outputs():
        replay()
        kept.append(static_output.clone())
"""

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
needs_two = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there is one GPU only")


@dataclass(frozen=True)
class Suite:
    """Results of all steps above by name, of one call for each device."""

    first: dict[str, dict[str, Any]]
    second: dict[str, dict[str, Any]]


def names_in(text: str) -> list[str]:
    helpers = ("layer", "loss", "forget_gradients", "in_a_thread")
    names = [line.split("def ")[1].split("(")[0] for line in text.splitlines() if line.strip().startswith("def ")]
    return [name for name in names if name not in helpers]


def results_on(stepleak: Any, device: str, files: dict[str, str]) -> dict[str, dict[str, Any]]:
    targets = [f"{file}:{name}" for file, text in files.items() for name in names_in(text)]
    stepleak("run", *targets, "--device", device, "--json", "results.json")
    return {name.partition(":")[2]: result for name, result in stepleak.results("results.json").items()}


@pytest.fixture(scope="module")
def suite(shared_stepleak: Any) -> Suite:
    shared_stepleak.write("devices.py", STEPS)
    shared_stepleak.write("graphs.py", GRAPH_STEPS)
    first = results_on(shared_stepleak, "cuda:0", {"devices.py": STEPS, "graphs.py": GRAPH_STEPS})
    has_two = torch.cuda.device_count() > 1
    return Suite(first, results_on(shared_stepleak, "cuda:1", {"devices.py": STEPS}) if has_two else {})


@pytest.mark.parametrize("step", ["pipeline", "second_only", "thread", "replay"])
def test_a_step_that_keeps_nothing_is_clean(suite: Suite, step: str) -> None:
    assert suite.first[step]["verdict"] == "clean", suite.first[step]
    assert suite.first[step]["notes"] == []


# A backward pass runs on a thread of each device that it touches.
@pytest.mark.parametrize("step", ["pipeline_keeps_losses", "thread_keeps_losses"])
def test_kept_losses_of_several_threads_are_one_finding(suite: Suite, step: str) -> None:
    findings = suite.first[step]["findings"]
    assert [finding["kind"] for finding in findings] == ["graph_retention"], suite.first[step]
    assert "kept" in findings[0]["holder"]


def test_outputs_of_a_replayed_graph_are_found(suite: Suite) -> None:
    finding = suite.first["replay_keeps_outputs"]["findings"][0]
    assert finding["where"][0]["text"] == "kept.append(static_output.clone())"


@needs_two
@pytest.mark.parametrize("step", ["second_only_keeps", "pipeline_keeps_on_the_second"])
def test_a_leak_on_a_device_that_was_not_asked_for(suite: Suite, step: str) -> None:
    check_second(suite.first[step], "cuda:0")


@needs_two
@pytest.mark.parametrize("step", ["second_only_keeps", "pipeline_keeps_on_the_second"])
def test_a_leak_on_another_device_than_the_first(suite: Suite, step: str) -> None:
    check_second(suite.second[step], "cuda:1")


def check_second(result: dict[str, Any], asked_for: str) -> None:
    assert result["device"] == asked_for
    assert result["verdict"] == "leak", result
    finding = result["findings"][0]
    assert finding["device"] == "cuda:1"
    assert finding["bytes_per_step"] == 1 << 20
    assert finding["where"][0]["text"] == "kept.append(torch.zeros(1 << 18, device=second))"


@needs_two
@pytest.mark.parametrize("step", ["pipeline", "second_only", "thread"])
def test_a_clean_step_on_another_device_than_the_first(suite: Suite, step: str) -> None:
    assert suite.second[step]["verdict"] == "clean", suite.second[step]
    assert suite.second[step]["notes"] == []


@needs_two
def test_kept_losses_on_another_device_than_the_first(suite: Suite) -> None:
    findings = suite.second["pipeline_keeps_losses"]["findings"]
    assert [finding["kind"] for finding in findings] == ["graph_retention"]


@needs_two
def test_scenarios_run_on_another_device_than_the_first(shared_stepleak: Any) -> None:
    shared_stepleak("run", "loss_list_attached*", "cuda_malloc*", "--device", "cuda:1", "--json", "scenarios.json")
    for name, result in shared_stepleak.results("scenarios.json").items():
        assert result["device"] == "cuda:1"
        assert (result["verdict"] == "clean") == name.endswith("_clean"), name
