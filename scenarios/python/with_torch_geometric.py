# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: batches of random graphs through layers of PyTorch Geometric."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 16


@clean(report="pyg-team/pytorch_geometric#1595", needs="torch_geometric")
def with_torch_geometric_batches(device: str) -> Callable[[], None]:
    """Four graphs a batch, of random sizes; the last batch is still there when the next one is made."""
    from torch_geometric.data import Batch, Data
    from torch_geometric.nn import GCNConv, global_mean_pool

    torch.manual_seed(0)
    draws = random.Random(5)
    first, second = GCNConv(WIDTH, WIDTH).to(device), GCNConv(WIDTH, WIDTH).to(device)
    head = nn.Linear(WIDTH, 2).to(device)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters(), *head.parameters()], lr=1e-3)
    batch: Any = None

    def graph() -> Any:
        nodes = draws.randrange(5, 40)
        return Data(x=torch.rand(nodes, WIDTH), edge_index=torch.randint(nodes, (2, 3 * nodes)))

    def step() -> None:
        nonlocal batch
        batch = Batch.from_data_list([graph() for _ in range(4)]).to(device)
        hidden = first(batch.x, batch.edge_index).relu()
        hidden = second(hidden, batch.edge_index).relu()
        optimizer.zero_grad()
        head(global_mean_pool(hidden, batch.batch)).square().mean().backward()
        optimizer.step()

    return step
