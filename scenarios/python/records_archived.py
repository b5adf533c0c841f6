# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A trainer as a state machine, which handles messages of batches and of the ends of its phases."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from stepleak.scenario import clean, leak
from torch import nn

STEPS_OF_PHASE = 270
WIDTH = 32


class Event(enum.Enum):
    BATCH = enum.auto()
    PHASE_END = enum.auto()


@dataclass
class Message:
    event: Event
    record: dict[str, Any] = field(default_factory=dict)


class Machine:
    """Gathers a record of each batch, and sums them up at the end of a phase."""

    def __init__(self, *, keeps_gradients: bool) -> None:
        self.records: list[dict[str, Any]] = []
        self.keeps_gradients = keeps_gradients
        self.archive: list[torch.Tensor] = []
        self.norm = 0.0

    def handle(self, message: Message) -> None:
        match message:
            case Message(Event.BATCH, record):
                self.records.append(record)
                if self.keeps_gradients:
                    self.archive.append(record["gradient"])
            case Message(Event.PHASE_END):
                self.norm = torch.stack([record["gradient"] for record in self.records]).norm().item()
                self.records = []


class Trainer:
    def __init__(self, device: str, *, keeps_gradients: bool) -> None:
        torch.manual_seed(0)
        self.device = device
        self.machine = Machine(keeps_gradients=keeps_gradients)
        self.model = nn.Linear(WIDTH, WIDTH).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.steps = 0

    def messages(self, gradient: torch.Tensor, loss: float) -> Iterator[Message]:
        yield Message(Event.BATCH, {"gradient": gradient, "loss": loss})
        self.steps += 1
        if self.steps % STEPS_OF_PHASE == 0:
            yield Message(Event.PHASE_END)

    def step(self) -> None:
        loss = self.model(torch.rand(8, WIDTH, device=self.device)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        gradient = self.model.weight.grad
        assert gradient is not None
        for message in self.messages(gradient.clone(), loss.item()):
            self.machine.handle(message)


@leak(
    kind=("detached_activation", "growth"),
    report="Lightning-AI/pytorch-lightning#8583",
    line='self.archive.append(record["gradient"])',
    holder=".archive",
)
def records_archived(device: str) -> Callable[[], None]:
    """The records of a phase go at its end, and the gradient of each batch stays in an archive that nobody empties."""
    return Trainer(device, keeps_gradients=True).step


@clean(report="Lightning-AI/pytorch-lightning#8583")
def records_archived_clean(device: str) -> Callable[[], None]:
    """The records of a phase are emptied after 270 steps, tensors and the dicts that they lie in."""
    return Trainer(device, keeps_gradients=False).step
