# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the report advises is tried before it is said: the leaking step runs on with the statement corrected."""

from __future__ import annotations

import json
import re

import pytest
from conftest import CommandLine, Outcome

TRAIN = """\
    import os
    import torch

    model = torch.nn.Linear(16, 4)


    class Guarded(list):
        def append(self, value):
            if not torch.is_tensor(value):
                raise TypeError("what is kept is to be a tensor")
            super().append(value)


    class Crashing(list):
        def append(self, value):
            if not torch.is_tensor(value):
                os._exit(9)
            super().append(value)


    losses, rows, kept, outputs, endless = [], [], [], [], []
    guarded, crashing, total = Guarded(), Crashing(), 0
    cell, head, hidden, average = torch.nn.GRUCell(16, 16), torch.nn.Linear(16, 1), torch.zeros(8, 16), 0


    def one():
        loss = model(torch.randn(8, 16)).square().mean()
        loss.backward()
        losses.append(loss)


    def two():
        loss = model(torch.randn(8, 16)).square().mean()
        loss.backward()
        rows.append(loss)
        kept.append(loss)


    def summed():
        global total
        loss = model(torch.randn(8, 16)).square().mean()
        loss.backward()
        total += loss


    def carried():
        global hidden
        hidden = cell(torch.randn(8, 16), hidden)
        cell.zero_grad()
        head(hidden).square().mean().backward(retain_graph=True)


    def averaged():
        global average
        loss = model(torch.randn(8, 16)).square().mean()
        loss.backward()
        average = 0.9 * average + 0.1 * loss
        print(f"{average:.3f}")


    def attached():
        output = model(torch.randn(8, 16))
        outputs.append(output)


    def checked():
        loss = model(torch.randn(8, 16)).square().mean()
        loss.backward()
        guarded.append(loss)


    def crashes():
        loss = model(torch.randn(8, 16)).square().mean()
        loss.backward()
        crashing.append(loss)


    def generated():
        while True:
            loss = model(torch.randn(8, 16)).square().mean()
            loss.backward()
            endless.append(loss)
            yield


    in_a_frame = generated().__next__
"""

STEPS = ["one", "two", "summed", "carried", "averaged", "attached", "checked", "crashes", "in_a_frame"]


@pytest.fixture(scope="module")
def tried(shared_stepleak: CommandLine) -> Outcome:
    shared_stepleak.write("train.py", TRAIN)
    targets = [f"train.py:{step}" for step in STEPS]
    return shared_stepleak("run", *targets, "--json", "all.json", "--trace", "all.trace")


@pytest.fixture(scope="module")
def fixes(shared_stepleak: CommandLine, tried: Outcome) -> dict[str, str]:
    """By step; each leaks."""
    assert tried.code == 1, tried.text
    results = shared_stepleak.results("all.json")
    assert {result["verdict"] for result in results.values()} == {"leak"}
    return {name.partition(":")[2]: result["findings"][0]["fix"] for name, result in results.items()}


def test_a_statement_that_ends_the_leak_is_said_to(fixes: dict[str, str]) -> None:
    assert fixes["one"] == "keep a number, not the tensor: losses.append(loss.item()) (tried for 16 steps: it ends)"


def test_what_has_summed_up_goes_on_from_its_value(fixes: dict[str, str]) -> None:
    assert fixes["summed"] == "keep a number, not the tensor: total += loss.item() (tried for 16 steps: it ends)"


def test_what_the_loss_needs_is_not_detached_and_what_comes_in_is(fixes: dict[str, str]) -> None:
    assert fixes["carried"] == (
        "detach what outlives the step: hidden = cell(torch.randn(8, 16), hidden.detach()) "
        "(tried for 16 steps: it ends)"
    )


def test_an_average_that_is_only_printed_is_kept_as_a_number(fixes: dict[str, str]) -> None:
    assert fixes["averaged"] == (
        "keep a number, not the tensor: average = (0.9 * average + 0.1 * loss).item() (tried for 16 steps: it ends)"
    )


def test_two_statements_that_keep_the_same_are_corrected_together(fixes: dict[str, str]) -> None:
    assert fixes["two"] == (
        "keep a number, not the tensor: rows.append(loss.item()) and kept.append(loss.item()) "
        "(tried for 16 steps: it ends)"
    )


def test_what_still_grows_is_said(fixes: dict[str, str]) -> None:
    assert re.fullmatch(
        r"detach what outlives the step, and bound what keeps it: outputs.append\(output.detach\(\)\) "
        r"\(tried for \d+ steps: no graph stays, what keeps it still grows\)",
        fixes["attached"],
    )


def test_a_statement_that_breaks_the_step_is_not_advised(fixes: dict[str, str]) -> None:
    assert re.fullmatch(
        r"keep a number, not the tensor \(guarded.append\(loss.item\(\)\) was tried, and raised "
        r"TypeError: what is kept is to be a tensor.*\)",
        fixes["checked"],
    )


@pytest.mark.parametrize(
    ("step", "statement"), [("crashes", "crashing.append(loss.item())"), ("in_a_frame", "endless.append(loss.item())")]
)
def test_what_cannot_be_tried_costs_nothing(step: str, statement: str, fixes: dict[str, str]) -> None:
    assert fixes[step] == f"keep a number, not the tensor: {statement}"


def test_a_stored_run_says_the_same(shared_stepleak: CommandLine, tried: Outcome) -> None:
    shared_stepleak("analyze", "all.trace", "--json", "again.json")
    first, again = ((shared_stepleak.folder / name).read_text() for name in ("all.json", "again.json"))
    assert json.loads(again) == json.loads(first)


def test_no_trial_runs_no_more_steps(shared_stepleak: CommandLine, tried: Outcome) -> None:
    outcome = shared_stepleak("run", "train.py:one", "--no-trial")
    assert outcome.code == 1
    assert "fix     keep a number, not the tensor: losses.append(loss.item())\n" in outcome.out


def test_steps_bound_the_trial(shared_stepleak: CommandLine, tried: Outcome) -> None:
    shared_stepleak.write(
        "counted.py",
        """\
        import torch
        model = torch.nn.Linear(16, 4)
        losses = []

        def step():
            print("a step")
            loss = model(torch.randn(8, 16)).square().mean()
            loss.backward()
            losses.append(loss)
        """,
    )
    few = shared_stepleak("run", "counted.py:step", "--steps", "60", "--show-output")
    more = shared_stepleak("run", "counted.py:step", "--steps", "80", "--show-output")
    assert few.code == more.code == 1
    assert few.text.count("a step") == 50
    assert "(tried for 16 steps: it ends)" not in few.out
    assert more.text.count("a step") == 66
    assert "(tried for 16 steps: it ends)" in more.out
