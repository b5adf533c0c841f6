# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A validation loss is summed with gradients on and without backward, so that every activation stays."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn


def make_validation(device: str) -> tuple[nn.Module, Callable[[], tuple[torch.Tensor, torch.Tensor]]]:
    """A model in eval mode and a loader of random batches."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1)).to(device)
    model.eval()

    def next_batch() -> tuple[torch.Tensor, torch.Tensor]:
        return torch.randn(16, 32, device=device), torch.randn(16, 1, device=device)

    return model, next_batch


@leak(kind="graph_retention", report="pytorch/pytorch#17568", line="# with its graph", holder=".running_loss")
def loss_sum_no_backward(device: str) -> Callable[[], None]:
    """Validation runs model.eval(), which turns no gradients off, and adds each loss to a running total.

    No backward ever frees what the nodes saved: the total holds the whole activation set of every batch.
    """
    model, next_batch = make_validation(device)
    running_loss = torch.zeros((), device=device)

    def validate_batch() -> None:
        nonlocal running_loss
        inputs, targets = next_batch()
        running_loss = running_loss + nn.functional.mse_loss(model(inputs), targets)  # with its graph

    return validate_batch


@clean(report="pytorch/pytorch#17568")
def loss_sum_no_backward_clean(device: str) -> Callable[[], None]:
    """The same validation under torch.no_grad(): the total is a plain scalar."""
    model, next_batch = make_validation(device)
    running_loss = torch.zeros((), device=device)

    @torch.no_grad()
    def validate_batch() -> None:
        nonlocal running_loss
        inputs, targets = next_batch()
        running_loss = running_loss + nn.functional.mse_loss(model(inputs), targets)

    return validate_batch
