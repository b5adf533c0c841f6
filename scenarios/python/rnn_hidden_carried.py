# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A streaming recurrent model feeds its hidden state back without detaching it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn


class StreamingModel(nn.Module):
    """A recurrent cell that reads one frame a call and remembers its state between calls."""

    hidden: torch.Tensor

    def __init__(self, batch: int, width: int) -> None:
        super().__init__()
        self.cell = nn.GRUCell(width, width)
        self.readout = nn.Linear(width, 4)
        self.register_buffer("hidden", torch.zeros(batch, width))

    def forward(self, frame: torch.Tensor) -> torch.Tensor:
        self.hidden = self.cell(frame, self.hidden)
        return self.readout(self.hidden)


class StreamingModelDetached(StreamingModel):
    """The same model, which cuts its state off from the frames before."""

    def forward(self, frame: torch.Tensor) -> torch.Tensor:
        self.hidden = self.cell(frame, self.hidden.detach())
        return self.readout(self.hidden)


@leak(
    kind="attached_activation",
    report="pytorch/pytorch#2198",
    line="self.hidden = self.cell(frame, self.hidden)",
    holder=".hidden",
)
def rnn_hidden_carried(device: str) -> Callable[[], None]:
    """A model tags a stream frame by frame, with gradients on because nobody turned them off.

    The hidden state holds the graph of its frame, which leads to the hidden state before, and so on back to the
    first frame: every frame leaves a cell's saved activations behind.
    """
    torch.manual_seed(0)
    model = StreamingModel(8, 32).to(device)

    def step() -> None:
        model(torch.randn(8, 32, device=device)).argmax(dim=1)

    return step


@clean(report="pytorch/pytorch#2198")
def rnn_hidden_carried_clean(device: str) -> Callable[[], None]:
    """The same stream with the hidden state detached before each frame: one frame's graph lives at a time."""
    torch.manual_seed(0)
    model = StreamingModelDetached(8, 32).to(device)

    def step() -> None:
        model(torch.randn(8, 32, device=device)).argmax(dim=1)

    return step
