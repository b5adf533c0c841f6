# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Trials of a search, each of which would write its best weights should the program be interrupted."""

from __future__ import annotations

import atexit
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn


class BestWeights:
    """The best weights of a trial, which are written at the program's end, unless the trial was closed before."""

    def __init__(self) -> None:
        self.score = float("inf")
        self.weights: dict[str, torch.Tensor] = {}
        atexit.register(self.flush)

    def offer(self, score: float, model: nn.Module) -> None:
        if score < self.score:
            self.score = score
            self.weights = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}

    def flush(self) -> None:
        self.weights = {}


class ClosedWeights(BestWeights):
    def close(self) -> None:
        self.flush()
        atexit.unregister(self.flush)


def trial(device: str, best: BestWeights) -> None:
    model = nn.Linear(64, 8).to(device)
    for _ in range(2):
        loss = model(torch.rand(4, 64, device=device)).square().mean()
        best.offer(loss.item(), model)


@leak(kind="detached_activation", report="wandb/wandb#2644", line="atexit.register(self.flush)", holder="atexit")
def trials_flushed_at_exit(device: str) -> Callable[[], None]:
    """The registered method keeps each trial's object, whose weights are replaced as often as they like."""
    torch.manual_seed(0)
    return lambda: trial(device, BestWeights())


@clean(report="wandb/wandb#2644")
def trials_flushed_at_exit_clean(device: str) -> Callable[[], None]:
    """A trial that is over is written, and is no longer registered."""
    torch.manual_seed(0)

    def step() -> None:
        best = ClosedWeights()
        trial(device, best)
        best.close()

    return step
