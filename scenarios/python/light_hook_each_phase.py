# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A small hook that each phase of a training leaves behind, and a small record that each phase is meant to leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 16
STEPS_EACH = 5


@dataclass
class PhaseNote:
    """What is plotted of a phase."""

    phase: int
    loss: float
    shares: list[float]


class PhasedTraining:
    """Each phase counts for itself how many units of a layer are at rest."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.layer = nn.Linear(WIDTH, WIDTH)
        self.model = nn.Sequential(self.layer, nn.ReLU(), nn.Linear(WIDTH, 1)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.steps = 0
        self.hook: Any = None
        self.notes: list[PhaseNote] = []

    def train(self) -> float:
        inputs = torch.rand(8, WIDTH, device=self.device)
        loss = nn.functional.mse_loss(self.model(inputs), inputs.sum(1, keepdim=True))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        return loss.item()

    def begin_phase(self) -> None:
        resting = 0

        def count(_layer: nn.Module, _inputs: Any, output: torch.Tensor) -> None:
            nonlocal resting
            resting += int((output < 0).sum())

        self.hook = self.layer.register_forward_hook(count)  # the one of the last phase stays

    def step(self) -> None:
        if self.steps % STEPS_EACH == 0:
            self.begin_phase()
        self.train()

    def step_with_one_hook(self) -> None:
        if self.steps % STEPS_EACH == 0:
            if self.hook is not None:
                self.hook.remove()
            self.begin_phase()
        self.train()

    def step_with_notes(self) -> None:
        loss = self.train()
        if self.steps % STEPS_EACH == 0:
            self.notes.append(PhaseNote(self.steps // STEPS_EACH, loss, [loss, 1 - loss]))


@leak(kind="host_heap", report="fffasttime/MRFI#5", line="# the one of the last phase stays", holder="._forward_hooks")
def light_hook_each_phase(device: str) -> Callable[[], None]:
    """Some hundred bytes a phase, as of a log; but each hook runs in each forward pass, which takes ever longer."""
    return PhasedTraining(device).step


@clean(report="fffasttime/MRFI#5")
def light_hook_each_phase_clean(device: str) -> Callable[[], None]:
    """The hook of the last phase is removed before the next one is registered."""
    return PhasedTraining(device).step_with_one_hook


@clean(report="OML-Team/open-metric-learning#118")
def light_note_each_phase(device: str) -> Callable[[], None]:
    """As many objects a phase: a record with its numbers, meant to be kept."""
    return PhasedTraining(device).step_with_notes
