# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What `stepleak.check` says of a step."""

from __future__ import annotations

import itertools
import random
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import small_training
import stepleak
import torch
from small_training import Training, line_of


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
    assert (small_training.HERE, line_of("self.model(torch.randn(4, 16)).square()")) in frames
    assert ".losses (list, len " in finding["holder"]
    assert (
        f"{small_training.HERE}:{line_of('self.losses.append(self.loss())')}  self.losses.append(self.loss())"
        in finding["kept_by"]
    )
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
    assert finding["where"][0]["line"] == line_of("# the adapter", __file__)
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
