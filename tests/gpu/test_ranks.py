# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks on GPUs of one host, under NCCL: they run the same steps, name the rank that leaks, and never wait for ever."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

PROGRAM = """
import json, os, sys, time
import torch, torch.distributed as dist
from torch import nn
import stepleak

folder, kind = sys.argv[1], sys.argv[2]
rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 16)).cuda()
if kind.startswith("fsdp2"):
    from torch.distributed.fsdp import fully_shard
    fully_shard(model[0])
    fully_shard(model)
else:
    model = nn.parallel.DistributedDataParallel(model)
if kind.startswith("fsdp2"):
    # Not Adam, whose factors torch 2.11 keeps in FakeTensorMode.cache for each step: see tests/python/test_ranks.py.
    # Not foreach, of whose lists of DTensors it loses tuples (OpSchema.__post_init__): three objects of 200 bytes a
    # step, which is told and lies below what is called a leak.
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, foreach=kind == "fsdp2_foreach")
elif kind.startswith("zero"):
    from torch.distributed.optim import ZeroRedundancyOptimizer
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=1e-3)
else:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
kept = []

def step(index):
    if kind == "dies" and rank == 1 and index == 8:
        os._exit(7)
    if kind == "hangs" and rank == 1 and index == 8:
        time.sleep(600)
    loss = model(torch.randn(32, 256, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if kind.endswith("leak") and rank == 1:
        kept.append(loss)

result = stepleak.check(step, device=f"cuda:{rank}", peer_timeout=10 if kind == "hangs" else 60)
with open(f"{folder}/{rank}.json", "w") as out:
    json.dump({"verdict": result.verdict, "steps": result.steps, "json": result.json, "report": result.report}, out)
dist.destroy_process_group()
"""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


# NCCL's flight recorder fills its ring for thousands of collectives, which is no leak and takes as long to see.
ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "TORCH_FR_BUFFER_SIZE": "0",
    "TORCH_NCCL_TRACE_BUFFER_SIZE": "0",
}

VERDICTS = {
    "ddp": ("clean",),
    "ddp_leak": ("leak",),
    "zero": ("clean",),
    "zero_leak": ("leak",),
    "fsdp2": ("clean",),
    "fsdp2_foreach": ("clean", "leak"),
    "fsdp2_leak": ("leak",),
}


pytestmark = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="two GPUs of one host are needed")


@pytest.mark.parametrize("kind", VERDICTS)
def test_ranks_agree_and_name_the_one_that_leaks(tmp_path: Path, kind: str) -> None:
    program = tmp_path / "job.py"
    program.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    ended = subprocess.run(
        [*command, str(program), str(tmp_path), kind],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    ranks: list[dict[str, Any]] = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    print(kind, [(rank["verdict"], rank["steps"]) for rank in ranks])
    assert ranks[0]["steps"] == ranks[1]["steps"]
    assert ranks[0]["verdict"] == ranks[1]["verdict"]
    assert ranks[0]["verdict"] in VERDICTS[kind], ranks[0]["report"] + ranks[1]["report"]
    if kind == "fsdp2_foreach":
        assert all("3 python objects" in rank["report"] for rank in ranks)
    if kind.endswith("_leak"):
        assert {finding["rank"] for finding in ranks[0]["json"]["findings"]} == {1}


# Started without torchrun, which ends all ranks once one has died.
@pytest.mark.parametrize("kind", ["dies", "hangs"])
def test_a_rank_that_is_gone_ends_the_other_with_its_name(tmp_path: Path, kind: str) -> None:
    program = tmp_path / "job.py"
    program.write_text(PROGRAM, encoding="utf-8")
    job = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(program), str(tmp_path), kind],
            env={**ENVIRONMENT, **job, "RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        told = [rank.communicate(timeout=120)[1] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    print(kind, [rank.returncode for rank in ranks], *told, sep="\n")
    survivor = tmp_path / "0.json"
    result = json.loads(survivor.read_text()) if survivor.exists() else {}
    assert ranks[0].returncode == 3 or result["verdict"] == "failure"
    assert "rank 1" in told[0] + json.dumps(result)
    if kind == "dies":
        assert ranks[1].returncode == 7
    else:
        sleeps = next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if "time.sleep(600)" in line)
        assert ranks[1].returncode == 3
        assert f"rank 1: {program}:{sleeps} (step): time.sleep(600)" in told[0]
