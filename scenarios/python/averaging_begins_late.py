# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: stochastic weight averaging from step 60 on, and a checkpoint in memory every 25 steps that is dropped."""

from __future__ import annotations

import io
from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 32
AVERAGING_FROM = 60
CHECKPOINT_EVERY = 25


class Training:
    """What both train."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.steps_done = 0

    def train(self) -> None:
        inputs = torch.rand(8, WIDTH, device=self.device)
        self.optimizer.zero_grad()
        nn.functional.mse_loss(self.model(inputs), inputs).backward()
        self.optimizer.step()
        self.steps_done += 1


class Averaging(Training):
    """Makes the averaged model when its time has come."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.averaged: torch.optim.swa_utils.AveragedModel | None = None
        self.schedule: torch.optim.swa_utils.SWALR | None = None

    def step(self) -> None:
        self.train()
        if self.steps_done < AVERAGING_FROM:
            return
        if self.averaged is None or self.schedule is None:
            self.averaged = torch.optim.swa_utils.AveragedModel(self.model)
            self.schedule = torch.optim.swa_utils.SWALR(self.optimizer, swa_lr=0.01)
        self.averaged.update_parameters(self.model)
        self.schedule.step()


class Checkpointing(Training):
    """Writes a checkpoint, and counts what it would upload."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.bytes_written = 0

    def step(self) -> None:
        self.train()
        if self.steps_done % CHECKPOINT_EVERY == 0:
            buffer = io.BytesIO()
            torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, buffer)
            self.bytes_written += buffer.tell()


@clean(report="ultralytics/ultralytics#25315")
def averaging_begins_late(device: str) -> Callable[[], None]:
    """A second model appears at step 60, as late as a clean verdict is due, and stays."""
    return Averaging(device).step


@clean(report="wandb/wandb#2644")
def checkpoint_every_25_steps(device: str) -> Callable[[], None]:
    """Memory jumps at each checkpoint and comes back."""
    return Checkpointing(device).step
