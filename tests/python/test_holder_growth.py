# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that grew while steps were recorded, and those that only seem to have."""

from __future__ import annotations

import dataclasses
import gc
import heapq
import importlib
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import watched_program
from holder_search import STEPS, Keeper, appended, search
from stepleak._core import frame_locals
from stepleak._holders import HolderSearch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from watched_program import found_in


def test_container_that_gained_most_comes_first() -> None:
    root: Any = types.SimpleNamespace(numbers=[0.0], texts=["x" * 10_000])

    def keep() -> list[int]:
        for i in range(STEPS):
            root.numbers += [float(i), float(i)]
            root.texts.append(str(i) * 10_000)
        return []

    assert search(root, keep)["holders"][0]["path"].endswith(f".texts (list, len {1 + STEPS})")


@pytest.mark.parametrize("entries", [1, 2])
def test_container_that_gained_now_and_then_is_one_where_it_can_be_weighed(entries: int) -> None:
    root: Any = types.SimpleNamespace(blobs=[bytes(10_000)], unknown=[object()])

    def keep() -> list[int]:
        root.blobs += [bytes(10_000) for _ in range(entries)]
        root.unknown += [memoryview(b"") for _ in range(entries)]
        return []

    paths = [holder["path"] for holder in search(root, keep)["holders"]]
    assert any(".blobs" in path for path in paths) == (entries > 1)
    assert not any(".unknown" in path for path in paths)


@pytest.mark.parametrize("entries", [1, 2])
def test_each_of_hundreds_of_lists_in_one_container_counts(entries: int) -> None:
    """Of which a search asks for a few only."""
    lists = 200
    root: Any = types.SimpleNamespace(scores={sample: [0.5] * 8 for sample in range(lists)})
    holders = HolderSearch(root, frame_locals)
    holders.begin()
    for scores in root.scores.values():
        scores += [float(i) / 3 for i in range(entries)]
    holders.end()
    found = holders.search([], {}, STEPS)["holders"]
    assert sum(holder["gained_blocks"] for holder in found) == (lists * entries if entries > 1 else 0)


@pytest.mark.parametrize("are_others_kept", [True, False])
def test_list_of_weak_references_keeps_nothing_where_another_does(are_others_kept: bool) -> None:
    root: Any = types.SimpleNamespace(handlers=[Keeper(None)], references=[])

    def keep() -> list[int]:
        for _ in range(STEPS):
            handler = Keeper(None)
            root.references.append(weakref.ref(handler))
            if are_others_kept:
                root.handlers.append(handler)
        return []

    paths = [holder["path"] for holder in search(root, keep)["holders"]]
    assert any(".handlers" in path for path in paths) == are_others_kept
    assert any(".references" in path for path in paths) != are_others_kept


def test_weak_set_keeps_nothing_whichever_of_its_items_comes_last() -> None:
    handlers = {Keeper(None) for _ in range(100)}
    root: Any = types.SimpleNamespace(handlers=handlers, known=weakref.WeakSet(handlers))

    def keep() -> list[int]:
        for _ in range(STEPS):
            handler = Keeper(None)
            root.handlers.add(handler)
            root.known.add(handler)
        return []

    paths = [holder["path"] for holder in search(root, keep)["holders"]]
    assert any(".handlers" in path for path in paths)
    assert not any(".known" in path for path in paths)


def test_modules_that_are_imported_late_are_no_growth() -> None:
    root: Any = types.SimpleNamespace(known={"first": ["first"]})
    names = [f"late_module_{i}" for i in range(STEPS)]

    def keep() -> list[int]:
        for name in names:
            sys.modules[name] = types.ModuleType(name)
            root.known[name] = [name]
        return []

    try:
        paths = [holder["path"] for holder in search(root, keep)["holders"]]
    finally:
        for name in names:
            del sys.modules[name]
    assert any(".known" in path for path in paths)
    assert not any("sys.modules" in path for path in paths)


@pytest.mark.parametrize("is_another", [False, True])
def test_container_that_was_born_meanwhile_has_not_grown(is_another: bool) -> None:
    """Also where it has the `id` of one that is gone."""
    root: Any = types.SimpleNamespace(batch=[0.5])

    def keep() -> list[int]:
        if is_another:
            gone, root.batch = id(root.batch), None
            root.batch = []  # of the interpreter's free list
            assert id(root.batch) == gone
        root.batch += [float(i) for i in range(2 * STEPS)]
        return []

    assert any(".batch" in holder["path"] for holder in search(root, keep)["holders"]) != is_another


@pytest.mark.parametrize(
    ("kind", "case"),
    [(list, "kept"), (list, "a window"), (list, "too short"), (dict, "kept"), (dict, "a window")],
)
def test_container_that_each_step_makes_anew_has_grown_since_the_one_before(kind: type, case: str) -> None:
    jobs = {f"first {number}": Keeper([number]) for number in range(2 if case == "too short" else 12)}
    root: Any = types.SimpleNamespace(jobs=jobs if kind is dict else list(jobs.values()))
    del jobs
    begin = 1 if case == "a window" else 0

    def keep() -> list[int]:
        for number in range(STEPS):
            added = Keeper([number])
            if kind is dict:
                root.jobs = {**dict(list(root.jobs.items())[begin:]), f"job {number}": added}
            else:
                root.jobs = [*root.jobs[begin:], added]
        return []

    paths = [holder["path"] for holder in search(root, keep)["holders"]]
    assert any(".jobs" in path for path in paths) == (case == "kept"), paths


def test_container_that_grew_in_a_cycle_is_unreachable() -> None:
    box = [Keeper([torch.zeros(4)])]
    box[0].kept.append(box[0])

    def keep() -> list[int]:
        return appended(box.pop().kept)()

    found = search(None, keep)
    assert found["unreachable"] == set(found["addresses"])
    gc.collect()


def test_dict_that_the_collector_does_not_track_grows() -> None:
    root: Any = types.SimpleNamespace(answers={0: b"0"})

    def keep() -> list[int]:
        root.answers.update({i: str(i).encode() for i in range(STEPS + 1)})
        assert not gc.is_tracked(root.answers)
        return []

    assert any(".answers (dict" in holder["path"] for holder in search(root, keep)["holders"])


@dataclasses.dataclass
class ObjectOfRing:
    number: int
    observation: torch.Tensor


class SlotsOfProgram:
    """A replay that is full."""

    def __init__(self) -> None:
        self.most, self.cursor = 2 * STEPS, 0
        self.program_slots: list[ObjectOfRing] = []
        for i in range(self.most):
            self.add(ObjectOfRing(i, torch.zeros(1)))

    def add(self, item: ObjectOfRing) -> None:
        if len(self.program_slots) < self.most:
            self.program_slots.append(item)
        else:
            self.program_slots[self.cursor] = item
            self.cursor = (self.cursor + 1) % self.most


def test_entries_that_took_the_place_of_others_go_with_what_hangs_on_them() -> None:
    root = SlotsOfProgram()

    def keep() -> list[int]:
        for i in range(STEPS):
            root.add(ObjectOfRing(i, torch.zeros(4)))
        return [entry.observation._cdata for entry in root.program_slots[:STEPS]]

    found = search(root, keep, (__file__,))
    [holder] = {found["holder_of"][address] for address in found["addresses"]}
    path = found["holders"][holder]["path"]
    assert path.partition(" [")[0].endswith(f".program_slots (list, len {2 * STEPS})")
    assert "Tensor" not in path


def test_entry_that_leads_to_the_one_before_it_keeps_all_of_them() -> None:
    root: Any = types.SimpleNamespace(last=[None])

    def keep() -> list[int]:
        addresses = []
        for _ in range(STEPS):
            root.last[0] = types.SimpleNamespace(before=root.last[0], loss=torch.zeros(4))
            addresses.append(root.last[0].loss._cdata)
        return addresses

    found = search(root, keep)
    assert ".before (SimpleNamespace)" in found["holders"][found["holder_of"][found["addresses"][0]]]["path"]


@pytest.mark.parametrize("are_leaves_new", [False, True])
def test_gradients_of_older_leaves_lie_in_their_only_places(are_leaves_new: bool) -> None:
    root: Any = types.SimpleNamespace(experts=[nn.Parameter(torch.zeros(4)) for _ in range(STEPS)])

    def keep() -> list[int]:
        if are_leaves_new:
            root.experts = [nn.Parameter(torch.zeros(4)) for _ in range(STEPS)]
        for expert in root.experts:
            expert.sum().backward()
        return [expert.grad._cdata for expert in root.experts]

    found = search(root, keep)
    holders = [found["holders"][index] for index in found["holder_of"].values()]
    assert len(holders) == (0 if are_leaves_new else STEPS)
    assert all(holder["path"].endswith("(Parameter, len 1) .grad -> Tensor") for holder in holders)
    assert all((holder["container_type"], holder["container_length"]) == ("Parameter", 1) for holder in holders)


@pytest.mark.parametrize("is_sparse", [True, False])
def test_what_is_inside_of_a_sparse_gradient_lies_in_its_place(is_sparse: bool) -> None:
    root = Keeper(torch.nn.Embedding(20, 4, sparse=is_sparse))

    def keep() -> list[int]:
        root.kept(torch.arange(7)).sum().backward()
        return [root.kept.weight.grad._cdata]

    found = search(root, keep)
    gradient = root.kept.weight.grad
    parts = (gradient._indices(), gradient._values()) if is_sparse else (gradient,)
    memories = [part.untyped_storage().data_ptr() for part in parts]
    of_parts = {found["holder_of"].get(memory) for memory in memories}
    assert of_parts == ({found["holder_of"][gradient._cdata]} if is_sparse else {None})


def test_a_mode_sees_no_operator_of_a_search() -> None:
    root = Keeper(torch.nn.Embedding(20, 4, sparse=True))
    seen: list[str] = []

    class Seeing(TorchDispatchMode):
        def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(operator))
            return operator(*args, **(kwargs or {}))

    def keep() -> list[int]:
        root.kept(torch.arange(7)).sum().backward()
        address = root.kept.weight.grad._cdata
        seen.append("the search")
        return [address]

    with Seeing():
        found = search(root, keep)
    assert len(found["holder_of"]) == 3
    assert seen[-1] == "the search"


def test_gradients_of_new_leaves_go_with_these() -> None:
    root: Any = types.SimpleNamespace(experts=[])
    gradients: list[int] = []

    def keep() -> list[int]:
        expert = nn.Parameter(torch.zeros(4))
        expert.sum().backward()
        root.experts.append(expert)
        assert expert.grad is not None
        gradients.append(expert.grad._cdata)
        return [expert._cdata, gradients[-1]]

    found = search(root, keep)
    holders = {index for address, index in found["holder_of"].items() if address in gradients}
    assert [found["holders"][index]["path"].endswith("-> Parameter") for index in holders] == [True], holders


def test_what_hangs_on_entries_of_before_may_grow() -> None:
    root: Any = types.SimpleNamespace(layers=[types.SimpleNamespace(cache=torch.zeros(1)) for _ in range(3)])

    def keep() -> list[int]:
        for layer in root.layers:
            layer.cache = torch.zeros(4)
        return [layer.cache._cdata for layer in root.layers]

    found = search(root, keep)
    assert found["holders"][found["holder_of"][found["addresses"][0]]]["path"].endswith(".cache -> Tensor")


class ThinnedBank:
    """Rows by number, of which some are thinned out where they are too small."""

    def __init__(self, least: float) -> None:
        self.thinned_rows: dict[int, torch.Tensor] = {}
        self.least, self.row_number = least, 0

    def add_row(self) -> torch.Tensor:
        self.row_number += 1
        row = torch.full((2,), float(self.row_number % 3))
        self.thinned_rows[self.row_number] = row
        if row[0] < self.least:
            self.thin_out(min(self.thinned_rows))
        return row

    def thin_out(self, number: int) -> None:
        self.thinned_rows.pop(number)


@pytest.mark.parametrize(("least", "kinds"), [(0.5, ["conditional", "unknown"]), (-1, ["conditional", "conditional"])])
def test_container_that_grows_though_items_are_taken_out_is_not_kept_small(least: float, kinds: list[str]) -> None:
    bank = ThinnedBank(least)
    found = HolderSearch(bank, frame_locals)
    for _ in range(STEPS):
        bank.add_row()
    for kind in kinds:
        found.begin()
        gc.freeze()
        rows = [bank.add_row() for _ in range(STEPS)]
        found.end()
        gc.unfreeze()
        holders = found.search([row._cdata for row in rows], {__file__: set()}, STEPS)["holders"]
        assert [holder["structure"]["kind"] for holder in holders[:1]] == [kind]


class WaitingRows:
    """A queue of which some are taken, and the rest goes once it is old."""

    def __init__(self) -> None:
        self.waiting_rows: list[tuple[int, int, torch.Tensor]] = []
        self.row_number = 0

    def add_rows(self) -> list[int]:
        self.row_number += 1
        if any(entry[1] <= self.row_number - 250 for entry in self.waiting_rows):
            self.waiting_rows = [entry for entry in self.waiting_rows if entry[1] > self.row_number - 250]
        if len(self.waiting_rows) > 2:
            heapq.heappop(self.waiting_rows)
        rows = [torch.zeros(2) for _ in range(4)]
        for place, row in enumerate(rows):
            heapq.heappush(self.waiting_rows, (4 * self.row_number + place, self.row_number, row))
        return [row._cdata for row in rows]


def test_queue_that_waits_for_the_rest_to_be_old_may_be_kept_small_though_some_are_taken() -> None:
    queue = WaitingRows()
    found = HolderSearch(queue, frame_locals)
    for _ in range(2):  # the second search knows that it was doubtful
        found.begin()
        gc.freeze()
        addresses = [address for _ in range(STEPS) for address in queue.add_rows()]
        found.end()
        gc.unfreeze()
        holders = found.search(addresses, {__file__: set()}, STEPS)["holders"]
        assert [holder["structure"]["kind"] for holder in holders[:1]] == ["conditional"]


SIZE_OF_STATES = 1237
"""That no other tensor has."""
GROWING_GROUPS = """
import torch

class GroupsOfProgram:
    def __init__(self, optimizer):
        self.optimizer, self.blocks, self.steps = optimizer, [], 0

    def grow(self, rows):
        self.steps += 1
        {guard}:
            self.blocks.append(torch.zeros({size}, requires_grad=True))
            self.blocks[-1].grad = torch.ones({size})
            self.optimizer.add_param_group({{"params": [self.blocks[-1]]}})
"""


@pytest.mark.parametrize(
    ("guard", "kind", "text"),
    [
        ("while len(self.blocks) * 50 < rows", "conditional", "while len(self.blocks) * 50 < rows:"),
        ("if self.steps % 1 == 0", "unknown", ""),
    ],
    ids=["rows_that_may_be_all", "every_step"],
)
def test_states_end_with_the_groups_that_a_test_may_cease_to_add(
    guard: str, kind: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "groups_of_program.py"
    file.write_text(GROWING_GROUPS.format(guard=guard, size=SIZE_OF_STATES), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("groups_of_program")
    monkeypatch.delitem(sys.modules, "groups_of_program", raising=False)
    monkeypatch.setitem(sys.modules, "groups_of_program", module)
    # Those of other tests are sources of this program, too, and some fill an optimizer's `state`.
    for other in [name for name in sys.modules if name.startswith("test_")]:
        monkeypatch.delitem(sys.modules, other)
    root: Any = module.GroupsOfProgram(torch.optim.SGD([torch.zeros(2, requires_grad=True)], momentum=0.9))
    holders = HolderSearch(root, frame_locals)
    holders.begin()
    gc.freeze()
    for step in range(STEPS):
        root.grow(50 * (step + 1))
        root.optimizer.step()
    # Not by the optimizer's attribute: what the sources do with that is what is asked.
    tensors = [o for o in gc.get_objects() if type(o) is torch.Tensor and o.shape == (SIZE_OF_STATES,)]
    gradients = [id(block.grad) for block in root.blocks]
    addresses = [tensor._cdata for tensor in tensors if id(tensor) not in gradients and not tensor.requires_grad]
    del tensors
    holders.end()
    gc.unfreeze()
    structure = holders.search(addresses, {str(file): set()}, STEPS)["holders"][0]["structure"]
    assert (structure["kind"], structure["text"]) == (kind, text)


@pytest.mark.parametrize("is_filled", [True, False])
def test_list_that_was_made_with_all_its_places_gains_those_that_are_taken(is_filled: bool) -> None:
    """Of memory that is NumPy's, to which no tensor of the allocator leads."""
    root: Any = types.SimpleNamespace(rows=[np.zeros(64), *[None] * 99])
    holders = HolderSearch(root, frame_locals)
    holders.begin()
    for i in range(STEPS):
        root.rows[1 + i if is_filled else 0] = np.zeros(64)
    holders.end()
    found = [holder for holder in holders.search([], {}, STEPS)["holders"] if holder["gained_entries"] > 0]
    assert [(h["gained_entries"], h["free_entries"]) for h in found] == [(STEPS, 99 - STEPS)][:is_filled]
    assert all(STEPS * 512 < h["gained_bytes"] < 2 * STEPS * 512 and h["is_weighed"] for h in found)


@pytest.mark.parametrize("is_another", [False, True], ids=["the same", "another at its place"])
def test_dict_that_came_to_be_tracked_is_none_that_was_born(is_another: bool, tmp_path: Path) -> None:
    """A collection lets go of a dict that holds plain values alone, and a tuple that is put in has it tracked again."""
    program = """
    import gc
    program_words = {}
    count = 0
    def program_main():
        global program_words, count
        while True:
            gc.collect()
            for _ in range(4):
                count += 1
                program_words[f"word {count}"] = (count, ("w", str(count)))
            program_step()
    program_main()
    """
    if is_another:
        program = program.replace("gc.collect()", "program_words = {}; gc.collect()")
    holders = [
        holder for holder in found_in(program, tmp_path)["holders"] if "program_words" in holder["kept_by"]["text"]
    ]
    assert [holder["gained_entries"] for holder in holders] == ([] if is_another else [4 * watched_program.STEPS])


@contextmanager
def made_of(source: str, folder: Path) -> Iterator[Any]:
    """A module of the user's that has run."""
    file = folder / "delayed.py"
    file.write_text(source, encoding="utf-8")
    module: Any = types.ModuleType("delayed")
    module.__file__ = str(file)
    module.taken = 0
    sys.modules["delayed"] = module
    try:
        exec(compile(source, file, "exec"), module.__dict__)
        yield module
    finally:
        del sys.modules["delayed"]


def found_around(holders: HolderSearch, module: Any, kept: Callable[[], list[int]] = lambda: []) -> dict[str, Any]:
    """`kept`: the addresses of the tensors that the steps left."""
    holders.begin()
    gc.freeze()
    for _ in range(STEPS):
        module.program_keep()
    holders.end()
    gc.unfreeze()
    found: dict[str, Any] = holders.search(kept(), {module.__file__: set()}, STEPS)
    return found


DELAYED = """
import collections
program_kept, program_due, count = {}, collections.deque(), 0
def program_keep():
    global count
    count += 1
    for part in range(8):
        program_kept[count, part] = [1]
        program_due.append((count, part))
    for _ in range(TAKEN):
        program_kept.pop(program_due.popleft())
"""


@pytest.mark.parametrize(("before", "now", "kind"), [(0, 4, "conditional"), (4, 4, "unknown"), (0, 0, "conditional")])
def test_what_has_begun_to_take_something_out_may_go_on(before: int, now: int, kind: str, tmp_path: Path) -> None:
    """A delay of hundreds of steps ends by and by; what takes half of what comes all the time bounds nothing."""
    with made_of(DELAYED.replace("TAKEN", "taken"), tmp_path) as module:
        holders = HolderSearch(module.program_keep, frame_locals)
        module.taken = before
        module.program_keep()
        for taken in (before, now):
            module.taken = taken
            found = found_around(holders, module)["holders"]
    (kept,) = [holder for holder in found if "program_kept" in holder["kept_by"]["text"]]
    assert kept["structure"]["kind"] == kind


def test_list_of_a_suspended_generator_is_judged_by_its_sources(tmp_path: Path) -> None:
    program = """
    def program_stream(most):
        program_seen, count = [], 0
        while True:
            count += 1
            FILL
            yield count
    def program_main():
        stream = program_stream(700)
        while True:
            next(stream)
            program_step()
    program_main()
    """

    def structure_of(fill: str) -> tuple[str, int]:
        holders = found_in(program.replace("FILL", fill), tmp_path)["holders"]
        (seen,) = [holder for holder in holders if holder["container"] >= 0]
        return seen["structure"]["kind"], seen["structure"]["bound"]

    assert structure_of("program_seen.append(count)") == ("unbounded", -1)
    assert structure_of("program_seen.append(count) if len(program_seen) < most else None") == ("bounded", 700)


@pytest.mark.parametrize(
    ("also", "kinds"),
    [
        ("program_all.append(loss)", {"unbounded"}),
        ("program_all.append(loss.clone())", {"bounded", "unbounded"}),
        ("program_latest = [loss]", {"bounded"}),
    ],
)
def test_what_a_bounded_container_shares_with_another_is_kept_by_that(
    also: str, kinds: set[str], tmp_path: Path
) -> None:
    with made_of(SHARING.replace("ALSO", also), tmp_path) as module:
        holders = HolderSearch(module.program_keep, frame_locals)
        kept = lambda: [loss._cdata for loss in [*module.program_recent, *module.program_all]]  # noqa: E731
        found = found_around(holders, module, kept)
    assert {found["holders"][index]["structure"]["kind"] for index in found["holder_of"].values()} == kinds


SHARING = """
import collections, torch
program_recent, program_all, program_latest = collections.deque(maxlen=5000), [], []
def program_keep():
    global program_latest
    loss = torch.zeros(4)
    program_recent.append(loss)
    ALSO
"""
