# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A small training, and the lines of its file that reports name."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import torch

HERE = Path(__file__).name


class Training:
    """A small training; what it keeps is up to its steps."""

    def __init__(self) -> None:
        self.model = torch.nn.Linear(16, 16)
        self.losses: list[torch.Tensor] = []
        self.total = 0.0
        self.ring: deque[torch.Tensor] = deque(maxlen=300)

    def loss(self) -> torch.Tensor:
        loss = self.model(torch.randn(4, 16)).square().mean()
        self.model.zero_grad()
        loss.backward()
        return loss

    def clean(self) -> None:
        self.total += self.loss().item()

    def leaky(self) -> None:
        self.losses.append(self.loss())

    def rings(self) -> None:
        self.ring.append(torch.zeros(64))


def line_of(text: str, file: str = __file__) -> int:
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)
