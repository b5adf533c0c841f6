# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What steps leave in no container that grows: chains, trees, tuples; and what only seems to be left."""

from __future__ import annotations

import gc
import types
from collections.abc import Callable
from typing import Any

import chain_programs
import numpy as np
import pytest
import torch
from chain_programs import CURRENT, Link, Program
from holder_search import STEPS, as_text, search
from stepleak._core import frame_locals
from stepleak._holders import HolderSearch


def found_after(
    root: Any, step: Callable[[int], None], blocks: frozenset[int] = frozenset(), wanted: tuple[int, ...] = ()
) -> list[dict[str, Any]]:
    """The holders after so many steps, half of them before `halfway()`."""
    holders = HolderSearch(root, frame_locals)
    holders.begin()
    gc.freeze()
    try:
        for i in range(STEPS):
            if i == STEPS // 2:
                holders.halfway()
            step(i)
        gc.collect()
        holders.end()
    finally:
        gc.unfreeze()
    found = holders.search(list(wanted), {chain_programs.__file__: set()}, STEPS, blocks=blocks)
    return [as_text(found, holder) | {"gained_bytes": holder["gained_bytes"]} for holder in found["holders"]]


@pytest.mark.parametrize(
    ("step", "path", "text"),
    [
        ("put_before", ".newest (Link) -> Link", "self.newest = Link(value, self.newest)"),
        ("put_behind", ".first (Link) .other (Link) -> Link", "self.last.other = link"),
        ("put_below", ".leaves (dict, len 2)", ""),
        ("put_aside", ".history", "self.history = (*self.history, payload())"),
        ("set_context", "CURRENT (ContextVar) (Link) -> Link", "CURRENT.set(Link(payload(), CURRENT.get()))"),
        ("enter", "ENTERED (ContextVar) (Scope) -> Scope", "self.token = ENTERED.set(self)"),
    ],
)
def test_what_no_container_gained_is_found_from_the_roots(step: str, path: str, text: str) -> None:
    program = Program()
    token = CURRENT.set(None)
    try:
        holders = found_after(program.put_before, getattr(program, step))
    finally:
        CURRENT.reset(token)
    found = [h for h in holders if h["gained_bytes"] >= STEPS * 1000]
    assert [h["path"].endswith(path) for h in found] == [True], holders
    assert text in ("", found[0]["text"])


def test_weak_references_keep_nothing_of_what_another_list_is_made_anew_of() -> None:
    program = Program()
    paths = [holder["path"] for holder in found_after(program.put_before, program.put_in_both)]
    assert any(path.endswith(f".recent (list, len {STEPS})") for path in paths), paths
    assert not any(".by_name" in path for path in paths)


def test_what_two_steps_left_is_named_where_nothing_else_is_known() -> None:
    program = Program()
    paths = [holder["path"] for holder in found_after(program.put_before, program.open_now_and_then)]
    assert [path.rpartition(" .")[2] for path in paths] == ["opened (list, len 2)"]


def test_what_two_steps_left_is_named_beside_a_tensor_that_is_in_use() -> None:
    program = Program()
    program.batch = torch.zeros(4)
    holders = found_after(program.put_before, program.open_now_and_then, wanted=(program.batch._cdata,))
    paths = [holder["path"] for holder in holders]
    assert [path.rpartition(" .")[2] for path in paths] == ["batch -> Tensor", "opened (list, len 2)"]


def test_a_chain_is_found_beside_a_tensor_that_another_variable_has() -> None:
    program = Program()
    program.batch = torch.zeros(4)
    holders = found_after(program.put_before, program.put_before, wanted=(program.batch._cdata,))
    assert [holder["path"].rpartition(" .")[2] for holder in holders] == ["batch -> Tensor", "newest (Link) -> Link"]


@pytest.mark.parametrize("step", ["load", "load_elsewhere"])
def test_what_the_last_step_holds_is_not_left(step: str) -> None:
    program = Program()
    assert found_after(program.put_before, getattr(program, step)) == []


def test_a_chain_that_is_let_go_is_not_left() -> None:
    program = Program()

    def step(i: int) -> None:
        program.put_before(i)
        if i == STEPS - 1:
            program.newest = None

    assert found_after(program.put_before, step) == []


@pytest.mark.parametrize("are_linked", [True, False])
def test_what_takes_the_place_of_others_is_left_where_it_keeps_its_like(are_linked: bool) -> None:
    root: Any = types.SimpleNamespace(full={number: Link([]) for number in range(2 * STEPS)})

    def put_before(_: int) -> None:
        root.full[0] = Link([bytes(1000)], root.full[0])

    def replace(i: int) -> None:
        del root.full[i]
        root.full[2 * STEPS + i] = Link([bytes(1000)])

    holders = found_after(root, put_before if are_linked else replace)
    assert [".full (dict" in holder["path"] for holder in holders] == ([True] if are_linked else []), holders


def test_lists_of_one_dict_are_found_with_each_other() -> None:
    root: Any = types.SimpleNamespace(series={name: [0.5] for name in "abcdef"})

    def step(i: int) -> None:
        for numbers in root.series.values():
            numbers.append(np.full(100, i))

    paths = [h["path"] for h in found_after(root, step)]
    assert len({path.rpartition(".series")[2] for path in paths}) == len(root.series)


@pytest.mark.parametrize("is_kept", [True, False])
def test_who_uses_a_block_is_found_by_its_memory(is_kept: bool) -> None:
    root: Any = types.SimpleNamespace(states={})
    blocks: list[int] = []

    def step(i: int) -> None:
        state = torch.get_rng_state()
        blocks.append(state.untyped_storage().data_ptr())
        if is_kept:
            root.states[i] = {"state": state}

    holders = HolderSearch(root, frame_locals)
    holders.begin()
    gc.freeze()
    try:
        for i in range(STEPS):
            step(i)
        holders.end()
    finally:
        gc.unfreeze()
    found = holders.search([], {}, STEPS, blocks=set(blocks))
    assert (blocks[0] in found["holder_of"]) == is_kept
    if is_kept:
        path = as_text(found, found["holders"][found["holder_of"][blocks[0]]])["path"]
        assert path.endswith(".state -> Tensor")


def test_links_of_a_chain_are_kept_by_what_puts_one_before_another() -> None:
    program = Program()

    def keep() -> list[int]:
        addresses = []
        for _ in range(STEPS):
            program.put_tensor_before(torch.zeros(4))
            addresses.append(program.newest.value._cdata)
        return addresses

    found = search(program.put_before, keep, (chain_programs.__file__,))
    holder = found["holders"][found["holder_of"][found["addresses"][0]]]
    assert holder["text"].startswith("self.newest = Link(")
    assert holder["expression"] == ""


class Step:
    """Keeps the one before it by an attribute that its class does not have."""

    before: Any = None


def test_link_that_a_statement_of_its_own_puts_behind_another_is_kept_by_that(tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text("def remember(smoother, x):\n    x.before = smoother.latest\n    smoother.latest = x\n")
    root: Any = types.SimpleNamespace(latest=None)

    def keep() -> list[int]:
        for _ in range(STEPS):
            step = Step()
            step.before, root.latest = root.latest, step
            step.value = torch.zeros(4)  # type: ignore[attr-defined]
        return [root.latest.value._cdata, root.latest.before.before.value._cdata]

    found = search(root, keep, (str(file),))
    holder = found["holders"][found["holder_of"][found["addresses"][1]]]
    assert holder["text"] == "x.before = smoother.latest"


class Touchy:
    """Says where it is asked anything."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)

    def __len__(self) -> int:
        raise AssertionError

    def __eq__(self, other: object) -> bool:
        raise AssertionError

    __hash__ = None  # type: ignore[assignment]


def test_search_from_the_roots_asks_nothing_and_leaves_functions_as_they_are() -> None:
    program = Program()

    def plain() -> None:
        """Has no `__dict__` until somebody asks for it."""

    def has_dict() -> bool:
        shared = (plain.__globals__, plain.__builtins__)  # type: ignore[attr-defined]
        return any(type(held) is dict and not any(held is one for one in shared) for held in gc.get_referents(plain))

    program.batch = [Touchy(), plain]
    assert not has_dict()
    holders = found_after(program.put_before, program.put_before)
    assert any(holder["path"].endswith(".newest (Link) -> Link") for holder in holders)
    assert not has_dict()
