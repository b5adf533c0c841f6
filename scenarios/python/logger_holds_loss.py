# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""An experiment logger with an unbounded history is given tensors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from stepleak.scenario import clean, leak
from torch import nn


class RunLogger:
    """Keeps what it is given until the run is uploaded at its end."""

    def __init__(self) -> None:
        self.history: defaultdict[str, list[Any]] = defaultdict(list)

    def log(self, **metrics: Any) -> None:
        for name, value in metrics.items():
            self.history[name].append(value)


def make_training(device: str) -> Callable[[], torch.Tensor]:
    """One batch of regression; returns the loss after its backward."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 32)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def train_batch() -> torch.Tensor:
        inputs = torch.randn(8, 32, device=device)
        loss = nn.functional.mse_loss(model(inputs), inputs)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    return train_batch


@leak(
    kind="graph_retention",
    report="wandb/wandb#354",
    line=("self.history[name].append(value)", "logger.log(loss=train_batch())"),
    holder=".history",
)
def logger_holds_loss(device: str) -> Callable[[], None]:
    """The loop calls logger.log(loss=loss), and the logger's history keeps the very tensor.

    The user sees no list of tensors in the training code: the holder is inside the logging library.
    """
    train_batch, logger = make_training(device), RunLogger()
    return lambda: logger.log(loss=train_batch())


@clean(report="wandb/wandb#354")
def logger_holds_loss_clean(device: str) -> Callable[[], None]:
    """The same loop logs loss.item(): the history grows by a float a step."""
    train_batch, logger = make_training(device), RunLogger()
    return lambda: logger.log(loss=train_batch().item())
