# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Host memory of tensors that no factory made: what is kept is counted, what is dropped is not."""

from __future__ import annotations

import copy
import gc
import io
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest
import stepleak
import torch
from torch.utils.data import DataLoader, TensorDataset

COUNT = 16384
BYTES = 4 * COUNT
source = torch.zeros(COUNT)
pickled = pickle.dumps(source)
buffer = io.BytesIO()
torch.save(source, buffer)
saved = buffer.getvalue()


def resized() -> torch.Tensor:
    return torch.UntypedStorage(4).resize_(BYTES)


MAKERS: dict[str, Callable[[], object]] = {
    "deepcopy": lambda: copy.deepcopy(source),
    "unpickling": lambda: pickle.loads(pickled),
    "load": lambda: torch.load(io.BytesIO(saved)),
    "copy of numpy": lambda: torch.tensor(np.zeros(COUNT, dtype=np.float32)),
    "untyped storage": lambda: torch.UntypedStorage(BYTES),
    "clone of a storage": lambda: source.untyped_storage().clone(),
    "resized storage": resized,
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_kept_is_counted_exactly(name: str) -> None:
    kept: list[object] = []
    result = stepleak.check(lambda: kept.append(MAKERS[name]()), device="cpu")
    assert result.verdict == "leak", result.report
    live = result.json["series"]["live_bytes@cpu"]
    assert live[40] - live[30] == 10 * BYTES
    assert result.findings[0]["bytes_per_step"] == BYTES


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_dropped_is_clean(name: str) -> None:
    result = stepleak.check(MAKERS[name], device="cpu")
    assert result.verdict == "clean", result.report


def test_a_tensor_of_the_set_up_that_grows_is_counted() -> None:
    history = torch.zeros(1)

    def step() -> None:
        history.resize_(history.numel() + 1024)

    result = stepleak.check(step, device="cpu")
    assert result.verdict == "leak", result.report
    live = result.json["series"]["live_bytes@cpu"]
    assert live[40] - live[30] == 40960


def test_numpy_memory_that_stays_is_on_the_host_heap() -> None:
    kept: list[torch.Tensor] = []
    result = stepleak.check(lambda: kept.append(torch.from_numpy(np.zeros(COUNT, dtype=np.float32))), device="cpu")
    assert result.verdict == "leak", result.report
    assert [finding["kind"] for finding in result.findings] == ["host_heap"]
    assert "kept (list, len " in result.findings[0]["holder"]
    heap = result.json["series"]["heap_bytes@cpu"]
    assert heap[31] - heap[15] >= 16 * BYTES


def test_tensors_in_the_place_of_the_set_ups_leave_the_host_heap_as_it_is() -> None:
    """What is remembered of their births, and of ever more of them at each look, is not on it."""
    live = [torch.zeros(16) for _ in range(2000)]
    numbers = iter(range(len(live)))

    def step() -> None:
        live[next(numbers)] = torch.zeros(16)

    result = stepleak.check(step, device="cpu", min_steps=320)
    assert result.verdict == "clean", result.report
    heap = result.json["series"]["heap_bytes@cpu"]
    assert heap[319] - heap[159] < 160 * 32


def test_shared_memory_that_stays_is_counted() -> None:
    kept: list[torch.Tensor] = []
    result = stepleak.check(lambda: kept.append(torch.zeros(COUNT).share_memory_()), device="cpu")
    assert result.verdict == "leak", result.report
    assert result.findings[0]["bytes_per_step"] == BYTES
    assert "kept (list, len " in result.findings[0]["holder"]


def test_shared_memory_that_is_dropped_is_clean() -> None:
    result = stepleak.check(lambda: torch.zeros(COUNT).share_memory_(), device="cpu")
    assert result.verdict == "clean", result.report


def batches() -> Iterator[torch.Tensor]:
    loader = DataLoader(TensorDataset(torch.zeros(40, 64, 64)), 1, num_workers=1, persistent_workers=True)
    while True:
        for (batch,) in loader:
            yield batch


def test_batches_of_workers_that_stay_are_counted() -> None:
    kept: list[torch.Tensor] = []
    source = batches()
    result = stepleak.check(lambda: kept.append(next(source)), device="cpu")
    assert result.verdict == "leak", result.report
    assert result.findings[0]["bytes_per_step"] == pytest.approx(64 * 64 * 4, rel=0.1)
    assert "kept (list, len " in result.findings[0]["holder"]


def test_batches_of_workers_that_are_dropped_are_clean() -> None:
    source = batches()
    result = stepleak.check(lambda: next(source).sum(), device="cpu")
    assert result.verdict == "clean", result.report


ANSWER_BYTES = 4 << 20
"""More than what a collection in this process takes away of the pages that it shares with a forked child."""


def serve(requests: Connection, *, keeps: bool) -> None:
    answers = []
    while (request := requests.recv()) is not None:
        answers.append(b"x" * ANSWER_BYTES)
        if not keeps:
            answers.clear()
        requests.send(request)


@contextmanager
def child_that_serves(*, keeps: bool) -> Iterator[Callable[[], None]]:
    """The step: one request to it. Children of other tests, such as a loader's workers, are ended first."""
    gc.collect()
    for other in multiprocessing.active_children():
        other.terminate()
        other.join()
    ours, its = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=serve, args=(its,), kwargs={"keeps": keeps})
    child.start()

    def ask() -> None:
        ours.send(1)
        ours.recv()

    yield ask
    ours.send(None)
    child.join()


def test_what_a_child_keeps_is_noted_and_no_leak_of_the_step() -> None:
    with child_that_serves(keeps=True) as ask:
        result = stepleak.check(ask, device="cpu")
    assert result.verdict == "clean", result.report
    (note,) = (note for note in result.json["notes"] if "child processes grow by" in note)
    mib = float(note.split("grow by ")[1].split(" MiB")[0])
    assert mib == pytest.approx(ANSWER_BYTES / (1 << 20), rel=0.3)


def test_a_child_that_keeps_nothing_is_not_noted() -> None:
    with child_that_serves(keeps=False) as ask:
        result = stepleak.check(ask, device="cpu")
    assert result.verdict == "clean", result.report
    assert not [note for note in result.json["notes"] if "child processes" in note]
    assert min(result.json["series"]["children_bytes@cpu"]) > 0


@pytest.mark.parametrize(
    "hand_through", [lambda batch: batch.to("cpu"), lambda batch: batch.float(), source.new_ones(4, 4).mm]
)
def test_tensor_that_an_operator_hands_through_is_not_born_by_it(
    hand_through: Callable[[torch.Tensor], object],
) -> None:
    batches = iter([torch.zeros(4, 4) for _ in range(80)])
    result = stepleak.check(lambda: hand_through(next(batches)), device="cpu", steps=70)
    assert result.is_clean, result.report
    assert len(set(result.json["series"]["live_tensors@cpu"])) == 1


# --- what was there before the first run ------------------------------------------------------------------------------

PREFILLED = """
import sys
import stepleak
import torch

kept = [torch.rand(64) for _ in range(1000)]
leaves = [torch.rand(64, requires_grad=True) for _ in range(4)]
for leaf in leaves:
    leaf.sum().backward()


def replace(index):
    kept[index] = torch.rand(64)
    for leaf in leaves:
        leaf.grad = torch.rand(64)


def append():
    kept.append(torch.rand(64))


result = stepleak.check(globals()[sys.argv[1]], device="cpu")
print(result.verdict, *set(result.json["series"]["live_blocks@cpu"][:50]))
"""


@pytest.mark.parametrize(("step", "verdict", "blocks"), [("replace", "clean", 1), ("append", "leak", 50)])
def test_end_of_what_the_set_up_made_is_seen(step: str, verdict: str, blocks: int, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PREFILLED, encoding="utf-8")
    ran = subprocess.run([sys.executable, program, step], check=True, capture_output=True, text=True)
    given, *levels = ran.stdout.split()
    assert given == verdict
    assert len(levels) == blocks
    assert min(map(int, levels)) >= 1008
