# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Inputs of random size, of which one in five is malformed and takes another way out."""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 16


class Tagger:
    """Trains on sentences; those that hold a value that is no number are put aside."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.draws = random.Random(3)
        self.model = nn.Linear(WIDTH, 4).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.bad_count = 0

    def read(self) -> torch.Tensor:
        sentence = torch.rand(self.draws.randrange(4, 60), WIDTH, device=self.device)
        if self.draws.random() < 0.2:
            sentence[0, 0] = float("nan")
        return sentence

    def train(self, sentence: torch.Tensor) -> None:
        loss = self.model(sentence).square().mean()
        if not torch.isfinite(loss):
            raise FloatingPointError("a sentence holds a value that is no number")
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


class RetryingTagger(Tagger):
    """Puts what failed aside, for a second try that never comes."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.to_retry: list[torch.Tensor] = []

    def step(self) -> None:
        sentence = self.read()
        try:
            self.train(sentence)
        except FloatingPointError:
            self.to_retry.append(sentence)


class CountingTagger(Tagger):
    """Counts what failed."""

    def step(self) -> None:
        try:
            self.train(self.read())
        except FloatingPointError:
            self.bad_count += 1


@leak(kind="growth", report="pytorch/vision#9383", line="self.to_retry.append(sentence)", holder=".to_retry")
def bad_records_kept(device: str) -> Callable[[], None]:
    """Only the error path leaks, at random steps and in random amounts."""
    return RetryingTagger(device).step


@clean(report="pytorch/vision#9383")
def bad_records_kept_clean(device: str) -> Callable[[], None]:
    """The error path counts."""
    return CountingTagger(device).step
