# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel over gloo, with one process: buckets and hooks of its own, and a loop that keeps outputs."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

WIDTH = 32
ROWS = 8


class Replica:
    """Trains a replicated model, and tells the mean of the loss over all ranks."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        if not distributed.is_initialized():
            distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
        self.model = DistributedDataParallel(
            nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 4)).to(device)
        )
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.means: list[torch.Tensor] = []
        self.mean = 0.0

    def train(self) -> torch.Tensor:
        loss = self.model(torch.rand(ROWS, WIDTH, device=self.device)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def step_keeping_means(self) -> None:
        mean = self.train() / distributed.get_world_size()
        distributed.all_reduce(mean.detach())
        self.means.append(mean)

    def step(self) -> None:
        mean = self.train().detach() / distributed.get_world_size()
        distributed.all_reduce(mean)
        self.mean = mean.item()


@leak(
    kind="graph_retention",
    report="horovod/horovod#641",
    line="self.means.append(mean)",
    holder=".means",
)
def replicated_by_gloo(device: str) -> Callable[[], None]:
    """The mean that is kept for the plot has the graph of its step."""
    return Replica(device).step_keeping_means


@clean(
    report="horovod/horovod#641",
    not_yet="torch's flight recorder of 2,000 collectives takes 2 KB a step until step 1,000: a run of 1,536 steps",
)
def replicated_by_gloo_clean(device: str) -> Callable[[], None]:
    """The mean is read as a number."""
    return Replica(device).step
