# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds that a program declares: kept, passed, and not reached yet."""

from __future__ import annotations

import gc
import json
import os
import weakref
from collections import OrderedDict, deque
from pathlib import Path
from typing import Any

import pytest
import stepleak
import torch
from stepleak import _declared

HERE = Path(__file__).name


class Agent:
    """Keeps what it sees in a container that the sources say nothing of: the name that it is reached by is computed."""

    def __init__(self, container: Any, bound: int, holds: int | None = None) -> None:
        self.memory_of_agent = stepleak.bounded(container, bound)  # <declared>
        self.holds = holds
        self.seen = 0

    def step(self) -> None:
        self.seen += 1
        memory = vars(self)["memory_" + "of_agent"]
        if isinstance(memory, dict):
            memory[self.seen] = torch.zeros(64)
        else:
            memory.append(torch.zeros(64))
        if self.holds is not None and len(memory) > self.holds:
            del memory[min(memory) if isinstance(memory, dict) else 0]


def declared_line() -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if "# <declared>" in line)


@pytest.mark.parametrize("make", [list, dict, deque])
def test_a_bound_that_is_kept_is_no_leak_and_stands_in_the_limit(make: Any) -> None:
    agent = Agent(make(), 60, holds=60)
    result = stepleak.check(agent.step)
    assert result.is_clean, result.report
    at = f"{HERE}:{declared_line()}"
    assert f"declared: at most 60 in a {make.__name__} (" in result.report
    assert f"{at}), which holds 60" in result.report
    [told] = result.json["declared"]
    assert (told["container"], told["length"], told["structure"]["bound"]) == (make.__name__, 60, 60)
    assert told["structure"]["type"] == "declared"


def test_a_bound_that_is_passed_is_a_leak_that_names_it() -> None:
    agent = Agent([], 60)
    result = stepleak.check(agent.step)
    assert result.verdict == "leak", result.report
    structure = result.findings[0]["structure"]
    assert (structure["type"], structure["bound"], structure["line"]) == ("exceeded", 60, declared_line())
    assert "holds more than the 60 that are declared by " in result.report
    assert f"keep it to the 60 entries that {HERE}:{declared_line()} declares" in result.report
    assert ".memory_of_agent (list, len " in result.findings[0]["holder"]


def test_what_still_fills_is_no_leak_and_says_when_it_would_be_full() -> None:
    agent = Agent([], 100_000)
    result = stepleak.check(agent.step)
    assert result.verdict == "inconclusive"
    assert "is declared to hold at most 100000 by " in result.reason
    assert "at most 100000 in a list" in result.report


def test_the_same_container_is_a_leak_until_it_is_declared() -> None:
    kept_for_ever: list[torch.Tensor] = []

    def step() -> None:
        kept_for_ever.append(torch.zeros(64))

    result = stepleak.check(step)
    assert result.verdict == "leak"
    assert result.findings[0]["structure"]["type"] != "declared"
    assert "; declared:" not in result.report and "declared" not in result.json
    _declared.bounded(kept_for_ever, 100_000)
    assert stepleak.check(step).verdict == "inconclusive"


def test_a_declaration_of_one_container_says_nothing_of_another() -> None:
    agent, losses = Agent([], 60, holds=60), []

    def step() -> None:
        agent.step()
        losses.append(torch.zeros(64))

    result = stepleak.check(step)
    assert result.verdict == "leak"
    assert all(finding["structure"]["type"] != "exceeded" for finding in result.findings)
    assert any(".losses" in finding["holder"] for finding in result.findings), result.report


def test_what_holds_too_much_all_along_is_a_note() -> None:
    agent = Agent([torch.zeros(64) for _ in range(80)], 60, holds=80)
    result = stepleak.check(agent.step)
    assert result.is_clean
    assert f"a list is declared to hold at most 60 by {__file__}:{declared_line()} and holds 80" in result.report


def test_a_stored_run_says_the_same(tmp_path: Path) -> None:
    agent = Agent([], 60, holds=60)
    result = stepleak.check(agent.step, json=tmp_path / "result.json", html=tmp_path / "page.html")
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["declared"] == result.json["declared"]
    assert "declared: at most 60 in a list" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_watch_knows_it_too() -> None:
    agent = Agent([], 30)
    told = pytest.warns(stepleak.LeakWarning, match="holds more than the 30 that are declared")
    with told, stepleak.watch(effort="quick") as w:
        for _ in range(200):
            agent.step()
            w.step()
    assert w.result.verdict == "leak"


# --- what is declared -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [[], {}, set(), deque(), OrderedDict()])
def test_gives_back_what_it_was_given(container: Any) -> None:
    assert stepleak.bounded(container, 3) is container
    declared = _declared.of(container)
    assert declared is not None and declared.bound == 3
    stepleak.bounded(container, 5)
    declared = _declared.of(container)
    assert declared is not None and declared.bound == 5


@pytest.mark.parametrize("bound", [0, -1, 2**60, "4", 2.5, None])
def test_refuses_what_is_no_bound(bound: Any) -> None:
    with pytest.raises(stepleak.UsageError, match="the bound is"):
        stepleak.bounded([], bound)


@pytest.mark.parametrize("container", [(), torch.zeros(3), "text", Agent])
def test_refuses_what_does_not_grow(container: Any) -> None:
    with pytest.raises(stepleak.UsageError, match="give it a list, dict, set or deque"):
        stepleak.bounded(container, 3)


class Dying(list[Any]):
    """Can be referred to weakly, as a plain list cannot."""


def test_what_dies_is_forgotten_at_once_or_with_the_next_collection() -> None:
    gc.collect()
    before = len(_declared._declared)
    weak = stepleak.bounded(Dying(), 3)
    tensor = torch.zeros(4)
    plain = stepleak.bounded([tensor], 3)
    alive = weakref.ref(tensor)
    assert len(_declared._declared) == before + 2
    del weak, tensor
    assert len(_declared._declared) == before + 1
    gc.collect()
    assert alive() is not None
    del plain
    gc.collect()
    assert alive() is None
    assert len(_declared._declared) == before


def test_containers_that_each_step_makes_anew_are_no_growth_of_ours() -> None:
    def step() -> None:
        stepleak.bounded([torch.zeros(64)], 3)

    result = stepleak.check(step)
    assert result.is_clean, result.report


def test_what_nobody_else_holds_is_not_held_by_a_declaration() -> None:
    box: dict[str, Any] = {}

    def step() -> None:
        # A cycle that leads to a declared list, of which the sources say nothing.
        one: dict[str, Any] = {"kept": stepleak.bounded([], 3)}
        one["self"] = one
        box["last"] = one

    result = stepleak.check(step)
    assert result.is_clean, result.report


# --- what declaring changes: nothing ----------------------------------------------------------------------------------


class Replay:
    """Its container leads back to it."""

    def __init__(self, kind: Any) -> None:
        self.first = stepleak.bounded(kind(), 10)
        self.second = stepleak.bounded([self.first], 10)
        if isinstance(self.first, dict):
            self.first["step"] = lambda: self
        else:
            self.first.append(self)


@pytest.mark.parametrize("kind", [list, dict, deque])
def test_a_cycle_is_collected_as_if_nothing_were_declared(kind: Any) -> None:
    replay = Replay(kind)
    gone, keys = weakref.ref(replay), {id(replay.first), id(replay.second)}
    assert keys <= set(_declared._declared)
    del replay
    gc.collect()
    assert gone() is None
    assert not keys & set(_declared._declared)


def test_what_only_a_function_or_a_loop_keeps_stays_declared() -> None:
    def looping() -> Any:
        kept: list[Any] = stepleak.bounded([], 10)
        kept.append(kept)
        yield kept
        yield kept

    def keeping() -> Any:
        kept: list[Any] = stepleak.bounded([], 10)
        kept.append(kept)
        return lambda: kept

    local: list[Any] = stepleak.bounded([], 10)
    loop, function = looping(), keeping()
    local.append(local)
    next(loop)
    for _ in range(300):
        gc.collect()
    for container in (next(loop), function(), local):
        assert _declared.of(container) is not None


def test_destructors_may_collect_and_declare_while_others_are_let_go() -> None:
    class Ending:
        def __del__(self) -> None:
            stepleak.bounded([], 10)
            gc.collect()

    gc.disable()
    try:
        for _ in range(3):
            stepleak.bounded([Ending()], 10)
        assert isinstance(_declared.told(), list)
    finally:
        gc.enable()


def test_where_a_line_cannot_be_had_the_bound_counts_without_it(tmp_path: Path) -> None:
    class Loader:
        def get_source(self, name: str) -> str:
            raise ValueError(name)

    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)
    for file, more in (("of_a_loader.py", {"__name__": "mine", "__loader__": Loader()}), (str(pipe), {})):
        namespace: dict[str, Any] = {"stepleak": stepleak, **more}
        exec(compile("kept = stepleak.bounded([], 10)", file, "exec"), namespace)
        declared = _declared.of(namespace["kept"])
        assert declared is not None
        assert (declared.file, declared.line, declared.text) == (file, 1, "")
