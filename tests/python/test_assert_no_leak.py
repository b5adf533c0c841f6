# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""`stepleak.assert_no_leak`, and leaks that are let be."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import small_training
import stepleak
import torch
from small_training import Training


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
    assert f"{small_training.HERE}:" in message
    assert caught.value.result.verdict == "leak"
    assert caught.value.result.report in message
    # A pool of processes hands it on so; one that could not be made again would leave its parent waiting.
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.result) == (message, caught.value.result)


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
    stepleak.assert_no_leak(Training().leaky, effort="quick", ignore=["*nowhere*", f"*/{small_training.HERE}:leaky"])


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
