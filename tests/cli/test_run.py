# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""`stepleak run` on a user's own file: verdicts, reports, and the files that it writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from conftest import CommandLine, Outcome

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "schema" / "result.schema.json"

TRAIN = """\
    import torch

    model = torch.nn.Linear(32, 32)
    history = []
    batches = []
    epoch = []


    class Trainer:
        def __init__(self):
            self.losses = []

        def __call__(self):
            loss = model(torch.randn(4, 32)).square().mean()
            loss.backward()
            self.losses.append(loss)


    class Node:
        pass


    def clean():
        loss = model(torch.randn(4, 32)).square().mean()
        model.zero_grad()
        loss.backward()


    def logs_number():
        loss = model(torch.randn(4, 32)).square().mean()
        loss.backward()
        batches.append(loss.item()) if len(batches) < 8 else None


    def leaks():
        loss = model(torch.randn(4, 32)).square().mean()
        loss.backward()
        history.append(loss)


    def takes_index(index):
        assert type(index) is int
        if index > 0:
            assert index == takes_index.last + 1
        takes_index.last = index
        torch.zeros(index % 5 + 1)


    def needs_collector():
        node = Node()
        node.itself = node
        node.tensor = torch.zeros(256)


    def periodic():
        epoch.append(torch.zeros(64))
        if len(epoch) == 12:
            epoch.clear()


    def prints():
        print("words of the step")


    trainer = Trainer()
"""

ALL_STEPS = ["clean", "logs_number", "leaks", "trainer", "takes_index", "needs_collector", "prints"]


@pytest.fixture(scope="module")
def all_steps(shared_stepleak: CommandLine) -> Outcome:
    """One call with every step."""
    shared_stepleak.write("train.py", TRAIN)
    targets = [f"train.py:{step}" for step in ALL_STEPS]
    return shared_stepleak("run", *targets, "--json", "out/all.json", "--junit", "out/all.xml")


@pytest.fixture(scope="module")
def all_results(shared_stepleak: CommandLine, all_steps: Outcome) -> dict[str, dict[str, Any]]:
    return shared_stepleak.results("out/all.json")


@pytest.fixture(scope="module")
def clean_alone(shared_stepleak: CommandLine, all_steps: Outcome) -> Outcome:
    return shared_stepleak("run", "train.py:clean", "--json", "clean.json", "--junit", "clean.xml")


# --- verdicts and their text ------------------------------------------------------------------------------------------


def test_clean_step_exits_with_0_and_prints_one_line(clean_alone: Outcome) -> None:
    assert clean_alone.code == 0
    verdict, *more = clean_alone.out.splitlines()
    assert verdict.startswith("train.py:clean is clean on cpu · stepleak ")
    assert "would also have caught 1 B/step of tensors, 512 B/step of host heap, 4.0 KiB/step of mapped" in verdict
    assert "4 Python objects/step, or one block" in verdict
    assert [line.split()[0] for line in more] == ["more"]


def test_nothing_but_the_verdict_is_printed_away_from_a_terminal(clean_alone: Outcome, all_steps: Outcome) -> None:
    assert clean_alone.err == ""
    for outcome in (clean_alone, all_steps):
        assert "\x1b" not in outcome.text
        assert "\r" not in outcome.text


def test_clean_verdict_comes_within_sixty_four_steps(all_results: dict[str, dict[str, Any]]) -> None:
    assert all_results["train.py:takes_index"]["steps"] == 64


def test_leak_exits_with_1_though_others_are_clean(all_steps: Outcome) -> None:
    assert all_steps.code == 1


def test_report_names_line_holder_kind_and_fix(all_steps: Outcome) -> None:
    report = all_steps.block_of("train.py:leaks")
    line = TRAIN.splitlines().index("    def leaks():") + 2
    # The loss is 4 bytes, and its graph some kilobytes of host heap.
    assert re.search(r"leaks [2-9]\.\d KiB/step on cpu · graph_retention", report)
    assert "4 autograd nodes" in report
    assert f"train.py:{line} in leaks" in report
    assert "loss = model(torch.randn(4, 32)).square().mean()" in report
    assert f"train.py:{line + 2}  history.append(loss)" in report
    assert "train.history (list, len " in report
    assert "-> Tensor -> MeanBackward0" in report
    assert "history.append(loss.item())" in report
    assert "this run would also have caught" in report


def test_holder_of_an_object_is_named_by_its_attribute(all_steps: Outcome) -> None:
    report = all_steps.block_of("train.py:trainer")
    assert "(Trainer) .losses (list, len " in report
    assert "self.losses.append(loss.item())" in report


@pytest.mark.parametrize("step", ["clean", "logs_number", "takes_index", "needs_collector", "prints"])
def test_healthy_step_is_clean(step: str, all_steps: Outcome, all_results: dict[str, dict[str, Any]]) -> None:
    assert f"train.py:{step} is clean on cpu" in all_steps.block_of(f"train.py:{step}")
    assert all_results[f"train.py:{step}"]["verdict"] == "clean"
    assert all_results[f"train.py:{step}"]["findings"] == []


def test_what_a_step_prints_stays_out_of_the_report(all_steps: Outcome) -> None:
    assert "words of the step" not in all_steps.text


def test_show_output_lets_it_through_and_steps_bounds_the_run(shared_stepleak: CommandLine, all_steps: Outcome) -> None:
    outcome = shared_stepleak("run", "train.py:prints", "--steps", "16", "--show-output", "--colour", "always")
    # Sixteen steps may be too few for the host heap to settle.
    assert outcome.code in (0, 2)
    assert outcome.text.count("words of the step") == 16
    assert " 16 steps " in outcome.out
    assert "\x1b[3" in outcome.out


def test_strict_fails_on_a_note_and_not_without(all_steps: Outcome, shared_stepleak: CommandLine) -> None:
    note = "is freed by Python's cycle collector only"
    assert note in all_steps.block_of("train.py:needs_collector")
    strict = shared_stepleak("run", "train.py:needs_collector", "train.py:clean", "--strict", "--junit", "strict.xml")
    assert strict.code == 1
    assert note in strict.out
    suite = ElementTree.parse(shared_stepleak.folder / "strict.xml").getroot().find("testsuite")
    assert suite is not None
    assert suite.get("failures") == "1"


def test_strict_passes_where_there_is_no_note(shared_stepleak: CommandLine, all_steps: Outcome) -> None:
    outcome = shared_stepleak("run", "train.py:clean", "train.py:periodic", "--strict", "--period", "12")
    # A declared period settles what would otherwise look like growth that restarts.
    assert outcome.code == 0, outcome.text
    assert "train.py:periodic is clean" in outcome.out


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_file_may_begin_with_a_dash_behind_the_end_of_options(stepleak: CommandLine) -> None:
    stepleak.write("-dash.py", "def step():\n    pass\n")
    ran = stepleak("run", "--device", "cpu", "--effort", "quick", "--", "-dash.py:step")
    assert ran.code == 0, ran.text
    assert ran.out.startswith("-dash.py:step is clean")
    assert stepleak("run", "--nosuch", "-dash.py:step").code == 64
    assert stepleak("run", "--", "--nosuch").code == 64


def test_json_of_one_target_is_one_result(shared_stepleak: CommandLine, clean_alone: Outcome) -> None:
    data = json.loads((shared_stepleak.folder / "clean.json").read_text(encoding="utf-8"))
    assert data["target"] == "train.py:clean"


def test_json_of_several_is_a_list_in_the_order_of_the_call(shared_stepleak: CommandLine, all_steps: Outcome) -> None:
    data = json.loads((shared_stepleak.folder / "out/all.json").read_text(encoding="utf-8"))
    assert [result["target"] for result in data] == [f"train.py:{step}" for step in ALL_STEPS]


def test_json_has_the_keys_of_the_contract(all_results: dict[str, dict[str, Any]]) -> None:
    for result in all_results.values():
        assert result["schema"] == 1
        assert result["device"] == "cpu"
        assert result["verdict"] in ("clean", "leak", "inconclusive", "failure")
        assert isinstance(result["reason"], str)
        assert result["seconds"] > 0
        assert set(result["limit"]) == {"bytes_per_step", "period_steps", "floors"}
        assert {"torch", "threads", "seed", "effort"} <= set(result["conditions"])
        assert result["conditions"]["effort"] == "standard"
        assert {"live_bytes@cpu", "live_nodes@cpu", "live_tensors@cpu"} <= set(result["series"])
        assert {len(series) for series in result["series"].values()} == {result["steps"]}


def test_json_finding_says_what_where_and_who(all_results: dict[str, dict[str, Any]]) -> None:
    result = all_results["train.py:leaks"]
    assert result["verdict"] == "leak"
    finding = result["findings"][0]
    assert finding["kind"] == "graph_retention"
    assert finding["bytes_per_step"] == 4
    assert finding["count_per_step"] == 4
    assert 1 <= finding["since_step"] <= 3
    frame = finding["where"][0]
    assert frame["file"].endswith("/train.py")
    assert frame["line"] == TRAIN.splitlines().index("    def leaks():") + 2
    assert frame["function"] == "leaks"
    assert finding["holder"].startswith("train.history (list, len ")
    assert finding["fix"]
    assert len(finding["fingerprint"]) == 16


def test_json_fits_its_schema(all_results: dict[str, dict[str, Any]]) -> None:
    if not SCHEMA.is_file():
        pytest.skip(f"{SCHEMA} is not there")
    import jsonschema

    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    for result in all_results.values():
        validator(schema).validate(result)
    # A schema that lets everything pass would prove nothing.
    broken = {**all_results["train.py:leaks"], "verdict": "perhaps"}
    assert not validator(schema).is_valid(broken)


def test_junit_counts_and_carries_the_report(shared_stepleak: CommandLine, all_steps: Outcome) -> None:
    suite = ElementTree.parse(shared_stepleak.folder / "out/all.xml").getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == (str(len(ALL_STEPS)), "2", "0")
    cases = {case.get("name"): case for case in suite.iter("testcase")}
    assert list(cases) == [f"train.py:{step}" for step in ALL_STEPS]
    failure = cases["train.py:leaks"].find("failure")
    assert failure is not None
    assert "graph_retention" in (failure.get("message") or "")
    assert "history.append(loss.item())" in (failure.text or "")
    assert cases["train.py:clean"].find("failure") is None


def test_junit_of_a_clean_run_has_no_failure(shared_stepleak: CommandLine, clean_alone: Outcome) -> None:
    suite = ElementTree.parse(shared_stepleak.folder / "clean.xml").getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "0", "0")
