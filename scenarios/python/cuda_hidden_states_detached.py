# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Hidden states collected for a probe are detached, and stay on the device."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

BATCH = 8
WIDTH = 256


class Encoder(nn.Module):
    """An encoder that hands out its hidden state beside its output."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(32, WIDTH)
        self.head = nn.Linear(WIDTH, 32)

    def forward(self, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = torch.tanh(self.inner(inputs))
        return self.head(hidden), hidden


class EncoderTraining:
    """Trains the encoder and hands out the hidden state of each batch."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = Encoder().to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def train_batch(self) -> torch.Tensor:
        inputs = torch.randn(BATCH, 32, device=self.device)
        outputs, hidden = self.model(inputs)
        self.optimizer.zero_grad()
        nn.functional.mse_loss(outputs, inputs).backward()
        self.optimizer.step()
        return hidden


@leak(
    kind="detached_activation",
    report="huggingface/transformers#7232",
    line="hidden_states.append(training.train_batch().detach())",
    holder=".hidden_states",
    bytes_per_step=BATCH * WIDTH * 4.0,
    needs_cuda=True,
)
def cuda_hidden_states_detached(device: str) -> Callable[[], None]:
    """Each batch's hidden state is detached and appended to a list, to be plotted in the end.

    No graph is kept; but detach() does not move the data, and the device fills up with them.
    """
    training = EncoderTraining(device)
    hidden_states: list[torch.Tensor] = []
    return lambda: hidden_states.append(training.train_batch().detach())


@clean(report="huggingface/transformers#7232", needs_cuda=True)
def cuda_hidden_states_detached_clean(device: str) -> Callable[[], None]:
    """The same training moves each hidden state to the host, which keeps the last sixteen for the plot."""
    training = EncoderTraining(device)
    hidden_states: deque[torch.Tensor] = deque(maxlen=16)
    return lambda: hidden_states.append(training.train_batch().detach().cpu())
