# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: packed sequences of random length through an LSTM."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

FEATURES = 16
WIDTH = 24


class SequenceModel:
    """Reads four sequences at a time, of 2 to 39 steps each."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.draws = random.Random(0)
        self.lstm = nn.LSTM(FEATURES, WIDTH, batch_first=True).to(device)
        self.optimizer = torch.optim.SGD(self.lstm.parameters(), lr=1e-2)

    def step(self) -> None:
        lengths = sorted((self.draws.randrange(2, 40) for _ in range(4)), reverse=True)
        padded = torch.rand(4, lengths[0], FEATURES, device=self.device)
        packed = nn.utils.rnn.pack_padded_sequence(padded, torch.tensor(lengths), batch_first=True)
        self.optimizer.zero_grad()
        self.lstm(packed)[0].data.square().mean().backward()
        self.optimizer.step()


@clean(report="pytorch/pytorch#27971")
def random_lengths_packed(device: str) -> Callable[[], None]:
    """Every step has shapes that were hardly met before; what libraries keep for each is small and bounded."""
    return SequenceModel(device).step
