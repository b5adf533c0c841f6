# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a handler of a signal raises while stepleak's own code runs belongs to the program."""

from __future__ import annotations

import functools
import inspect
import signal
import traceback
from typing import Any

import pytest
import stepleak
import torch
from stepleak import _declared, _holders, _options, _signal_errors


class PreemptedError(BaseException):
    """As a handler of SIGTERM may raise it."""


def raising_once(error: BaseException) -> Any:
    raised: list[bool] = []

    def told(*_: Any) -> list[Any]:
        if not raised:
            raised.append(True)
            raise error
        return []

    return told


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(7), PreemptedError()])
def test_it_comes_out_of_the_loop_where_bounds_were_looked_at(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_declared, "told", raising_once(error))
    steps = 0
    with pytest.raises(type(error)), stepleak.watch() as w:
        for _ in range(100):
            torch.ones(3)
            w.step()
            steps += 1
    assert steps < 100


def test_a_mistake_of_our_own_is_not_the_programs() -> None:
    with pytest.raises(TypeError) as raised:
        _options.checked("watch", "loop", {"speed": 1})
    assert not _signal_errors.keep(raised.value)
    assert not _signal_errors.held_errors


def test_it_comes_out_of_the_loop_where_holders_were_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []
    monkeypatch.setattr(_holders, "_containers", raising_once(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt), stepleak.watch() as w:
        for _ in range(400):
            kept.append(torch.ones(3))
            w.step()
    assert w.result.steps < 400


def test_ctrl_c_ends_a_check_with_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []
    monkeypatch.setattr(_holders, "_containers", raising_once(KeyboardInterrupt()))
    with pytest.raises(stepleak.Interrupted) as interrupted:
        stepleak.check(lambda: kept.append(torch.ones(3)), steps=400)
    assert interrupted.value.result.steps < 400


def looking(*names: str) -> list[Any]:
    """Functions of our own, of Python's library or of the program that call what they are handed."""
    files = {"ours": _holders.__file__, "library": inspect.__file__, "program": __file__}
    found = []
    for name in names:
        namespace: dict[str, Any] = {}
        exec(compile("def calling(inner, *rest): inner(*rest)", files[name], "exec"), namespace)
        found.append(namespace["calling"])
    return found


@pytest.mark.parametrize(
    ("calls", "kept"),
    [
        (["ours"], 0),
        (["ours", "library"], 0),
        (["ours", "program"], 1),
        (["ours", "library", "program"], 1),
        (["ours", "ours", "program", "library"], 2),
    ],
)
def test_only_the_frames_of_the_handler_stay_in_its_traceback(calls: list[str], kept: int) -> None:
    first, *rest = looking(*calls)
    with pytest.raises(KeyboardInterrupt) as caught:
        first(*rest, functools.partial(signal.raise_signal, signal.SIGINT))
    assert _signal_errors.keep(caught.value)
    with pytest.raises(KeyboardInterrupt) as handed:
        _signal_errors.raise_held()
    own = [frame for frame in traceback.extract_tb(handed.value.__traceback__) if frame.name == "calling"]
    assert len(own) == kept
