# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Python's collector: what the user's code does with it is left as it is, and counts."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import stepleak
import torch


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()
    gc.enable()


def make_garbage() -> None:
    cycle: list[Any] = [torch.zeros(100)]
    cycle.append(cycle)


def collecting_every(steps: int) -> Callable[[int], None]:
    def step(index: int) -> None:
        make_garbage()
        if index % steps == 0:
            gc.collect()

    return step


# --- switched off -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("switch_off", [gc.disable, lambda: gc.set_threshold(0), lambda: gc.set_threshold(10**9)])
def test_garbage_is_a_leak_where_nobody_collects_it(switch_off: Callable[[], None]) -> None:
    switch_off()
    result = stepleak.check(make_garbage, device="cpu")
    assert [finding["kind"] for finding in result.findings] == ["reference_cycle"], result.report


class Half:
    """One of two that refer to each other."""

    def __init__(self, values: torch.Tensor) -> None:
        self.values = values
        self.other: Half | None = None


def make_pair() -> None:
    first, second = Half(torch.zeros(100)), Half(torch.zeros(100))
    first.other = second
    second.other = first


def test_the_cycle_that_garbage_is_in_is_named() -> None:
    gc.disable()
    [finding] = stepleak.check(make_pair, device="cpu").findings
    assert finding["holder"].startswith("a cycle (Half) .other (Half) .other (Half) .values -> Tensor")
    assert finding["kept_at"]["text"].endswith(".other = second") or finding["kept_at"]["text"].endswith(
        ".other = first"
    )


def test_what_the_user_keeps_as_garbage_stays() -> None:
    kept = object()
    gc.garbage.append(kept)
    gc.disable()
    gc.set_debug(gc.DEBUG_UNCOLLECTABLE)
    try:
        assert stepleak.check(make_pair, device="cpu").verdict == "leak"
        assert gc.garbage == [kept]
        assert gc.get_debug() == gc.DEBUG_UNCOLLECTABLE
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def test_garbage_is_a_note_where_the_collector_is_on() -> None:
    assert "is freed by Python's cycle collector only" in stepleak.check(make_garbage, device="cpu").report


@pytest.mark.parametrize("steps", [10, 100])
def test_garbage_is_a_note_where_the_users_code_collects_now_and_then(steps: int) -> None:
    gc.disable()
    result = stepleak.check(collecting_every(steps), device="cpu")
    assert result.is_clean, result.report
    assert "is freed by Python's cycle collector only" in result.report


def freeze_with_garbage() -> None:
    gc.freeze()
    make_garbage()


def freeze_without_garbage() -> None:
    gc.collect()
    gc.freeze()
    make_garbage()


def freezing_every(steps: int) -> Callable[[int], None]:
    return lambda index: freeze_with_garbage() if index % steps == 0 else make_garbage()


def freezing_seldom() -> Callable[[int], None]:
    """Python collects in between."""

    def step(index: int) -> None:
        [[] for _ in range(2 * gc.get_threshold()[0])]
        make_garbage()
        if index % 16 == 0:
            gc.freeze()

    return step


def freezing_at_first(steps: int) -> Callable[[], None]:
    counter = itertools.count()
    return lambda: freeze_with_garbage() if next(counter) < steps else make_garbage()


@pytest.mark.parametrize("step", [freeze_with_garbage, freezing_every(4), freezing_every(16)])
def test_garbage_that_steps_set_apart_is_a_leak(step: Callable[[], None]) -> None:
    result = stepleak.check(step, device="cpu")
    assert [finding["kind"] for finding in result.findings] == ["reference_cycle"], result.report


@pytest.mark.parametrize("step", [freeze_without_garbage, freezing_at_first(4), freezing_seldom()])
def test_garbage_is_a_note_where_it_is_not_set_apart(step: Callable[[], None]) -> None:
    result = stepleak.check(step, device="cpu")
    assert result.is_clean, result.report
    assert "is freed by Python's cycle collector only" in result.report


def test_what_is_collected_before_the_first_step_does_not_count() -> None:
    gc.disable()
    gc.collect()
    assert stepleak.check(make_garbage, device="cpu").verdict == "leak"


def test_what_the_step_sets_in_the_collector_stays() -> None:
    stepleak.check(lambda: gc.set_threshold(500, 5, 5), device="cpu")
    assert gc.get_threshold() == (500, 5, 5)


# --- set apart by gc.freeze() -----------------------------------------------------------------------------------------


def frozen_after(code: str) -> tuple[int, int]:
    """What `code` prints in a process of its own: how many objects were frozen, and how many are."""
    program = f"import gc\n{code}"
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    before, after = ran.stdout.split()
    return int(before), int(after)


FREEZES = {
    "before all imports": "gc.freeze(); before = gc.get_freeze_count(); import stepleak, torch",
    "after them": "import stepleak, torch; gc.freeze(); before = gc.get_freeze_count()",
    "never": "before = gc.get_freeze_count(); import stepleak, torch",
}
RUNS = {
    "check": "stepleak.check(lambda: torch.zeros(4), device='cpu')",
    "leak": "kept = []; stepleak.check(lambda: kept.append(torch.zeros(4)), device='cpu')",
    "watch": "w = stepleak.watch(device='cpu', effort='quick')\nwhile w.step(): torch.zeros(4)",
}


@pytest.mark.parametrize(
    ("freeze", "run"),
    [("before all imports", "check"), ("after them", "watch"), ("after them", "leak"), ("never", "leak")],
)
def test_what_the_user_froze_is_frozen_and_nothing_else(freeze: str, run: str) -> None:
    before, after = frozen_after(f"{FREEZES[freeze]}\n{RUNS[run]}\nprint(before, gc.get_freeze_count())")
    assert before * 0.97 <= after <= before  # a few die


def test_a_thawed_object_is_collected_as_before() -> None:
    code = "import stepleak, torch, weakref; gc.freeze(); class_ = type('C', (), {}); before = gc.get_freeze_count()"
    made = "c = class_(); c.own = c; alive = weakref.ref(c)"
    ran = f"{code}\n{made}\n{RUNS['check']}\ndel c; gc.collect(); print(before, before if alive() is None else -1)"
    before, after = frozen_after(ran)
    assert after == before


# --- set apart --------------------------------------------------------------------------------------------------------


class Node:
    """Of a tree: each knows the one above it."""

    def __init__(self, above: Node | None = None) -> None:
        self.above = above
        self.below: list[Node] = []
        self.state = bytearray(2000)


class Search:
    """At each step one of two children is the next root."""

    def __init__(self, *, forgets: bool) -> None:
        self.root = Node()
        self.forgets = forgets

    def __call__(self) -> None:
        self.root.below = [Node(self.root), Node(self.root)]
        self.root = self.root.below[0]
        if self.forgets:
            self.root.above = None


def test_garbage_that_hangs_on_what_was_set_apart_is_none_of_the_programs() -> None:
    result = stepleak.check(Search(forgets=True), device="cpu")
    assert result.is_clean, result.report
    assert "garbage that Python's collector was kept from" in result.report


def test_what_the_root_of_a_tree_leads_to_is_a_leak() -> None:
    result = stepleak.check(Search(forgets=False), device="cpu")
    assert result.verdict == "leak", result.report
    assert ".root (Node)" in result.findings[0]["holder"]
