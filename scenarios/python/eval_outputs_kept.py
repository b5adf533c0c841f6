# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""An evaluation loop keeps every batch's outputs for an end of epoch that nobody needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from stepleak.scenario import clean, leak
from torch import nn

BATCH = 16
CLASSES = 32


class Evaluation:
    """The framework's loop: calls a module's `test_step` and keeps what it returns for `test_epoch_end`."""

    def __init__(self, test_step: Callable[[], Any]) -> None:
        self.test_step = test_step
        self.outputs: list[Any] = []

    @torch.no_grad()
    def __call__(self) -> None:
        output = self.test_step()
        if output is not None:
            self.outputs.append(output)


class TestModule:
    """The user's module: a classifier that counts its right answers."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, CLASSES)).to(device).eval()
        self.correct = torch.zeros((), dtype=torch.long, device=device)

    def evaluate_batch(self) -> torch.Tensor:
        logits = self.model(torch.randn(BATCH, 32, device=self.device))
        labels = torch.randint(CLASSES, (BATCH,), device=self.device)
        self.correct += (logits.argmax(dim=1) == labels).sum()
        return logits

    def returns_logits(self) -> dict[str, torch.Tensor]:
        return {"logits": self.evaluate_batch()}

    def returns_nothing(self) -> None:
        self.evaluate_batch()


@leak(
    kind="detached_activation",
    report="Lightning-AI/pytorch-lightning#8583",
    line=("self.outputs.append(output)", 'return {"logits": self.evaluate_batch()}'),
    holder=".outputs",
    bytes_per_step=BATCH * CLASSES * 4.0,
)
def eval_outputs_kept(device: str) -> Callable[[], None]:
    """The test step returns its logits, and the loop keeps every return value until the epoch's end.

    No graph is involved, gradients are off: the logits just stay on the device, a batch of them a step.
    """
    return Evaluation(TestModule(device).returns_logits)


@clean(report="Lightning-AI/pytorch-lightning#8583")
def eval_outputs_kept_clean(device: str) -> Callable[[], None]:
    """The same test step counts what it needs and returns nothing for the loop to keep."""
    return Evaluation(TestModule(device).returns_nothing)
