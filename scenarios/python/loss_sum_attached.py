# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A running loss is summed as a tensor, so that it chains the graph of every step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn


@leak(kind="graph_retention", report="google/brax#152", line="# with its graph", holder=".total_loss")
def loss_sum_attached(device: str) -> Callable[[], None]:
    """The loop adds each loss to a total that is printed at the end of the epoch.

    The total is a tensor with a grad_fn: each addition hangs one more step's graph on it. Backward frees what
    the nodes saved, not the nodes, so little shows on the device while the host fills up with nodes.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    total_loss = torch.zeros((), device=device)

    def step() -> None:
        nonlocal total_loss
        inputs, targets = torch.randn(8, 32, device=device), torch.randn(8, 1, device=device)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total_loss = total_loss + loss  # with its graph

    return step


@clean(report="google/brax#152")
def loss_sum_attached_clean(device: str) -> Callable[[], None]:
    """The same loop adds the detached loss: the total stays on the device and remembers no graph."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    total_loss = torch.zeros((), device=device)

    def step() -> None:
        nonlocal total_loss
        inputs, targets = torch.randn(8, 32, device=device), torch.randn(8, 1, device=device)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total_loss = total_loss + loss.detach()

    return step


@leak(kind="graph_retention", report="google/brax#152", line="# in place, with its graph", holder=".total_loss")
def loss_sum_in_place(device: str) -> Callable[[], None]:
    """The loop adds each loss to the total in place: no operator returns a new tensor that would be kept.

    The first addition makes a tensor of the number, long before any step is recorded; all others change its graph.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    total_loss = 0.0

    def step() -> None:
        nonlocal total_loss
        inputs, targets = torch.randn(8, 32, device=device), torch.randn(8, 1, device=device)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total_loss += loss  # in place, with its graph

    return step


@clean(report="google/brax#152")
def loss_sum_in_place_clean(device: str) -> Callable[[], None]:
    """The same loop adds the loss without its graph, in place all the same."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    total_loss = 0.0

    def step() -> None:
        nonlocal total_loss
        inputs, targets = torch.randn(8, 32, device=device), torch.randn(8, 1, device=device)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total_loss += loss.detach()

    return step
