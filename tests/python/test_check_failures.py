# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that fail, and what `stepleak.check` refuses."""

from __future__ import annotations

import inspect
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stepleak
import torch
from small_training import line_of

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
    line = line_of("# in step 4", __file__)
    assert f'{Path(__file__).name}", line {line}' in result.report
    assert len(result.json["series"]["live_bytes@cpu"]) == 3


def test_what_led_to_an_exception_is_told_with_its_line() -> None:
    batches: dict[str, int] = {}

    def step() -> None:
        try:
            batches["first"]  # led to it
        except KeyError as error:
            raise ValueError("no more batches") from error

    report = stepleak.check(step).report
    assert report.index("ValueError: no more batches") < report.index("caused by KeyError: 'first'")
    assert f'{Path(__file__).name}", line {line_of("# led to it", __file__)}' in report.partition("caused by")[2]


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
        ({"steps": 16, "min_steps": 100}, "no verdict before 100 steps, and no more than 16"),
        ({"period": -1}, "must not be negative"),
        ({"device": "toaster"}, "toaster"),
        ({"steps": 64.0}, "steps is of type float; give a whole number"),
        ({"budget": "3"}, "budget is of type str; give a number"),
        ({"name": 5}, "name is of type int; give a text"),
        ({"with_cuda_objects": "yes"}, "with_cuda_objects is of type str; give True or False"),
        ({"threads": 10**6}, "threads is 1000000; give a number from 0 to"),
        ({"json": "/"}, "cannot write /"),
        ({"html": "a\0b"}, "html has a NUL character"),
        ({"trace": b"a\0b"}, "trace has a NUL character"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_wrong_option_is_a_usage_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(stepleak.UsageError, match=message):
        stepleak.check(lambda: None, **options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="here the device can be used")
def test_device_that_cannot_be_used_is_told_with_the_reason() -> None:
    reason = r'cuda:0 cannot be used: .*; .*device="cpu"'
    with pytest.raises(stepleak.UsageError, match=reason):
        stepleak.check(lambda: None, device="cuda:0")
    with pytest.raises(stepleak.UsageError, match=reason):
        stepleak.watch(device="cuda:0")


def test_device_of_torch_and_flag_of_numpy_are_options() -> None:
    options: Any = {"device": torch.device("cpu"), "with_cuda_objects": np.bool_(False), "name": ""}
    result = stepleak.check(lambda: None, effort="quick", **options)
    assert (result.verdict, result.json["device"]) == ("clean", "cpu")


def test_errors_are_shown_by_their_public_names() -> None:
    for kind in (stepleak.UsageError, stepleak.LeakError, stepleak.Interrupted, stepleak.LeakWarning):
        assert kind.__module__ == "stepleak"
        assert pickle.loads(pickle.dumps(kind)) is kind
    result = stepleak.check(lambda: stepleak.check(lambda: None))
    assert "the step raised stepleak.UsageError: another check" in result.json["failure"]["what"]


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


def test_a_result_is_written_over_nothing_that_is_not_ours(tmp_path: Path) -> None:
    text = "learning_rate: 0.1\n"
    theirs, page = tmp_path / "train.yaml", tmp_path / "page"
    theirs.write_text(text, encoding="utf-8")
    for options in (
        {"trace": str(theirs)},
        {"json": str(tmp_path / "new.py")},
        {"html": str(page), "json": str(page)},
    ):
        with pytest.raises(stepleak.UsageError, match=r"name (another file|two files)"):
            stepleak.check(lambda: None, effort="quick", **options)  # type: ignore[arg-type]
        with pytest.raises(stepleak.UsageError, match=r"name (another file|two files)"):
            stepleak.watch(**options)  # type: ignore[arg-type]
    assert theirs.read_text(encoding="utf-8") == text
    assert [path.name for path in tmp_path.iterdir()] == ["train.yaml"]
    for _ in range(2):  # what an earlier run has left is written over
        assert stepleak.check(lambda: None, effort="quick", json=str(page)).is_clean


def test_a_folder_that_is_gone_costs_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    kept: list[torch.Tensor] = []
    result = stepleak.check(lambda: kept.append(torch.ones(4)))
    assert result.verdict == "leak", result.report
    assert "kept.append" in result.findings[0]["kept_by"], result.report
    assert "test_check_failures.py" in result.report


# --- devices without memory -------------------------------------------------------------------------------------------

META = "torch's default device is meta: what is made there takes no memory, and is not judged"


def test_meta_is_told_where_a_block_makes_it_the_default() -> None:
    with torch.device("meta"):
        assert META in stepleak.check(lambda: torch.zeros(4), effort="quick", device="cpu").json["notes"]
    with torch.device("meta"), torch.device("cpu"):
        assert META not in stepleak.check(lambda: torch.zeros(4), effort="quick", device="cpu").json["notes"]


def test_meta_is_told_where_it_is_set_and_no_block_says_otherwise() -> None:
    torch.set_default_device("meta")
    try:
        assert META in stepleak.check(lambda: torch.zeros(4), effort="quick", device="cpu").json["notes"]
        with torch.device("cpu"):
            assert META not in stepleak.check(lambda: torch.zeros(4), effort="quick", device="cpu").json["notes"]
    finally:
        torch.set_default_device(None)
