# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: truncated backpropagation through time carries a hidden state for five steps, then cuts it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

WINDOW = 5


class LanguageModel(nn.Module):
    """A recurrent model that predicts the next frame."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(width, width)
        self.readout = nn.Linear(width, width)

    def forward(
        self, frame: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        hidden, cell = self.cell(frame, state)
        return self.readout(hidden), (hidden, cell)


@clean(report="pytorch/pytorch#2198")
def truncated_backpropagation(device: str) -> Callable[[], None]:
    """Losses add up attached over five steps; then comes backward, and the state is detached.

    Inside a window this is exactly the leak of rnn_hidden_carried; the window is what makes it right.
    """
    torch.manual_seed(0)
    model = LanguageModel(32).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    state = (torch.zeros(8, 32, device=device), torch.zeros(8, 32, device=device))
    window_loss = torch.zeros((), device=device)
    frames_seen = 0

    def step() -> None:
        nonlocal state, window_loss, frames_seen
        frame = torch.randn(8, 32, device=device)
        prediction, state = model(frame, state)
        window_loss = window_loss + nn.functional.mse_loss(prediction, frame)
        frames_seen += 1
        if frames_seen % WINDOW == 0:
            optimizer.zero_grad()
            window_loss.backward()
            optimizer.step()
            state = (state[0].detach(), state[1].detach())
            window_loss = torch.zeros((), device=device)

    return step
