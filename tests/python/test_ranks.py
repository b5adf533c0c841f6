# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Several ranks of one job decide together, and never wait for ever. Gloo on the CPU, real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from stepleak import _peers, _standing

PROGRAM = """
import json, os, sys, time
import torch, torch.distributed as dist
from torch import nn
import stepleak

rank, world, folder, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
torch.manual_seed(0)
if kind.startswith("fsdp2"):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    model = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 4))
    mesh = init_device_mesh("cpu", (world,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
else:
    model = nn.parallel.DistributedDataParallel(nn.Linear(16, 4))
if kind.startswith("zero"):
    from torch.distributed.optim import ZeroRedundancyOptimizer
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=1e-3)
elif kind.startswith("fsdp2"):
    # Adam's factors differ in every step, and torch 2.11 keeps what it finds out about DTensor's operators for each of
    # them for ever (FakeTensorMode.cache): no healthy job.
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
else:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
kept = []
load = []

def step(index):
    if "filling_on_0" in kind and rank == 0:
        load.append(torch.zeros(64))
        if index % 900 == 899:
            load.clear()
    loss = model(torch.randn(8, 16)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if kind.endswith("leak_on_1") and rank == 1:
        kept.append(loss)
    if kind == "dies" and rank == 1 and index == 8:
        os._exit(7)
    if kind == "hangs" and rank == 1 and index == 8:
        time.sleep(600)
    if kind == "raises" and rank == 1 and index == 8:
        raise RuntimeError("no more batches")

effort = "standard" if "filling" in kind else "quick"
result = stepleak.check(step, effort=effort, peer_timeout={"hangs": 8, "dies": 20, "raises": 20}.get(kind, 60))
with open(f"{folder}/{rank}.json", "w") as out:
    json.dump({"verdict": result.verdict, "steps": result.steps, "json": result.json, "report": result.report}, out)
"""


def run_ranks(tmp_path: Path, kind: str, world: int = 2) -> list[tuple[int, str, dict[str, Any]]]:
    """Exit code, standard error and result of each rank."""
    program = tmp_path / "job.py"
    program.write_text(PROGRAM, encoding="utf-8")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TORCH_FR_BUFFER_SIZE": "0"}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(program), str(rank), str(world), str(tmp_path), kind],
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for rank in range(world)
    ]
    ends = []
    for number, rank in enumerate(ranks):
        try:
            _, errors = rank.communicate(timeout=150)
        except subprocess.TimeoutExpired:
            for other in ranks:
                other.kill()
            raise
        file = tmp_path / f"{number}.json"
        ends.append((rank.returncode, errors, json.loads(file.read_text()) if file.exists() else {}))
    return ends


def test_a_healthy_job_is_clean_on_each_rank_after_the_same_steps(tmp_path: Path) -> None:
    first, second = (end[2] for end in run_ranks(tmp_path, "ddp"))
    assert first["verdict"] == second["verdict"] == "clean", first["report"]
    assert first["steps"] == second["steps"]
    assert first["json"]["ranks"] == ["clean", "clean"]


def test_a_leak_does_not_wait_for_a_rank_that_cannot_be_decided(tmp_path: Path) -> None:
    for _, _, end in run_ranks(tmp_path, "ddp_filling_on_0_leak_on_1"):
        assert end["verdict"] == "leak", end["report"]
        assert end["json"]["ranks"] == ["inconclusive", "leak"]
        assert {finding["rank"] for finding in end["json"]["findings"]} == {1}
        assert end["steps"] < 1024  # the budget, which the other rank needs


@pytest.mark.parametrize("kind", ["ddp", "zero", "fsdp2"])
def test_a_leak_on_one_rank_is_named_on_both(kind: str, tmp_path: Path) -> None:
    ends = [end[2] for end in run_ranks(tmp_path, f"{kind}_leak_on_1")]
    for end in ends:
        assert end["verdict"] == "leak", end["report"]
        assert {finding["rank"] for finding in end["json"]["findings"]} == {1}
        assert end["json"]["findings"][0]["kind"] == "graph_retention"
    assert ends[0]["steps"] == ends[1]["steps"]


@pytest.mark.parametrize("kind", ["zero", "fsdp2"])
def test_ranks_that_hold_different_states_agree(kind: str, tmp_path: Path) -> None:
    first, second = (end[2] for end in run_ranks(tmp_path, kind))
    assert first["verdict"] == second["verdict"] == "clean", first["report"] + second["report"]
    assert first["steps"] == second["steps"]


def test_a_rank_that_raises_ends_the_other_with_its_name(tmp_path: Path) -> None:
    first, second = run_ranks(tmp_path, "raises")
    assert "no more batches" in second[2]["json"]["failure"]["what"]
    told = first[1] + json.dumps(first[2])
    assert "rank 1 ended early" in told
    assert "no more batches" in told


def test_a_rank_that_dies_ends_the_other_with_its_name(tmp_path: Path) -> None:
    first, second = run_ranks(tmp_path, "dies")
    assert second[0] == 7
    assert first[0] == 3 or first[2]["verdict"] == "failure"
    assert "rank 1" in first[1] + json.dumps(first[2])


def test_a_rank_that_hangs_ends_both_at_the_timeout(tmp_path: Path) -> None:
    hangs = next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if "time.sleep(600)" in line)
    for code, errors, result in run_ranks(tmp_path, "hangs"):
        assert code == 3 or result["verdict"] == "failure"
        assert "the others wait for rank 1, with fewer collectives begun" in errors
        assert f"rank 1: {tmp_path}/job.py:{hangs} (step): time.sleep(600)" in errors
        assert "(step): loss.backward()" in errors.partition("rank 0: ")[2].partition("\n")[0]


# --- who holds the others up ------------------------------------------------------------------------------------------


def begun(**counts: tuple[int, int]) -> _standing.Standing:
    return _standing.Standing(3, 9.0, "train.py:7 (step)", {name: list(both) for name, both in counts.items()})


def test_a_rank_with_fewer_collectives_is_waited_for() -> None:
    standings = {0: begun(all=(10, 14)), 1: begun(all=(10, 13)), 2: begun(all=(10, 14))}
    assert _standing.behind(standings) == [1]
    assert "wait for rank 1" in _standing.why_held_up(standings, [])


def test_ranks_with_as_many_collectives_are_not_told_apart() -> None:
    standings = {0: begun(all=(10, 14)), 1: begun(all=(10, 14))}
    assert _standing.behind(standings) == []
    assert "nothing tells which of them" in _standing.why_held_up(standings, [])


def test_a_rank_that_waits_for_another_itself_is_not_waited_for() -> None:
    standings = {0: begun(all=(10, 14)), 1: begun(all=(10, 13), pair=(5, 8)), 2: begun(all=(10, 14), pair=(5, 7))}
    assert _standing.behind({**standings, 2: begun(all=(10, 13), pair=(5, 7))}) == [2]
    assert _standing.behind(standings) == [1, 2]  # in a circle


def test_counts_that_differed_before_tell_nothing() -> None:
    # Gloo counts messages of a pipeline.
    assert _standing.behind({0: begun(all=(10, 12)), 1: begun(all=(20, 24))}) == []


def test_who_does_not_answer_is_told_beside_whom_the_others_wait_for() -> None:
    standings = {0: begun(all=(10, 14)), 1: begun(all=(10, 13)), 2: begun(all=(10, 14))}
    waits = "the others wait for rank 1, with fewer collectives begun"
    assert _standing.why_held_up(standings, [2]) == f": rank 2 does not answer, and {waits}"
    assert _standing.why_held_up(standings, [1]) == ": rank 1 does not answer"
    assert _standing.why_held_up(standings, [2, 3]).startswith(": ranks 2, 3 do not answer, and ")


def test_ranks_that_stand_in_one_place_are_told_together() -> None:
    elsewhere = begun()._replace(place="train.py:9 (step)")
    told = _standing.places({0: begun(), 1: elsewhere, 2: begun()}, [1])
    assert told == "\n  ranks 0, 2: train.py:7 (step)\n  rank 1, 9 s after the last look: train.py:9 (step)"


def test_a_rank_that_does_not_answer_is_named_with_where_it_stood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_peers, "_ANSWER_SECONDS", 0.0)
    store = torch.distributed.HashStore()
    first, second = (_peers.Peers(store, rank, 2, timeout=8) for rank in range(2))
    assert second._lost_peer(waited=3) is None
    assert second._lost_peer(waited=5) is None  # tells where it stands, and is not heard of again
    told = str(first._lost_peer(waited=9))
    assert "no rank came to the next look within 8 s: rank 1 does not answer\n" in told
    assert f"rank 1, 5 s after the last look: {__file__}:" in told


def test_a_rank_that_has_come_to_the_next_look_holds_nobody_up() -> None:
    store = torch.distributed.HashStore()
    first, second = (_peers.Peers(store, rank, 2, timeout=0.1) for rank in range(2))
    assert second._lost_peer(waited=0.06) is None
    with pytest.raises(_peers.PeerLost, match=r"rank 0 did not come to step 7 within 0.1 s$"):
        second.agree(7, "goes on")
    told = str(first._lost_peer(waited=1))
    assert told.startswith("rank 0 did not come to the next look within 0.1 s\n  rank 0: ")
    with pytest.raises(_peers.PeerLost, match=r"rank 0 did not come to step 8 within 0.1 s; it stands at .*:\d+ \("):
        _peers.Peers(store, 1, 2, timeout=0.1).agree(8, "goes on")


def test_place_of_a_rank_is_a_line_of_the_users() -> None:
    ended = threading.Event()

    def train() -> None:
        ended.wait(60)

    thread = threading.Thread(target=train)
    thread.start()
    place = ""
    while "(train)" not in place:  # it has begun
        place = _standing.place_of_thread(thread.ident or 0, with_text=True)
    ended.set()
    thread.join()
    line = train.__code__.co_firstlineno + 1
    assert place in (
        f"{__file__}:{line} (train): ended.wait(60)",
        f"{__file__}:{line - 1} (train): def train() -> None:",
    )
    assert _standing.place_of_thread(thread.ident or 0, with_text=True) == "a place that is not known"


@pytest.mark.parametrize("others_step", [16, 24], ids=["same", "another"])
def test_ranks_that_come_to_different_places_name_each_other(others_step: int) -> None:
    store = torch.distributed.HashStore()
    ranks = [_peers.Peers(store, rank, 2, timeout=20) for rank in range(2)]
    told: dict[int, object] = {}

    def come(rank: int, step: int) -> None:
        try:
            told[rank] = ranks[rank].agree(step, f"wish of {rank}")
        except _peers.PeerLost as lost:
            told[rank] = str(lost)

    other = threading.Thread(target=come, args=(1, others_step))
    other.start()
    come(0, 16)
    other.join()
    if others_step == 16:
        assert told == {rank: ["wish of 0", "wish of 1"] for rank in range(2)}
    else:
        assert told[0] == "rank 1 came to step 24, and rank 0 to step 16: run as many steps on each"
        assert told[1] == "rank 0 came to step 16, and rank 1 to step 24: run as many steps on each"


def test_a_rank_whose_loop_has_ended_is_named() -> None:
    store = torch.distributed.HashStore()
    first, second = (_peers.Peers(store, rank, 2, timeout=20) for rank in range(2))
    store.set("1/1", f"the end{_peers._SEPARATOR}{{}}")  # as it waits in another process
    with pytest.raises(
        _peers.PeerLost, match=r"^rank 1 came to the end, and rank 0 to step 16: run as many steps on each$"
    ):
        first.agree(16, "goes on")
    with pytest.raises(_peers.PeerLost, match=r"^rank 0 came to step 16, and rank 1 to the end"):
        second.gather("{}")
