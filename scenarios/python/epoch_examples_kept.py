# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs that are collected for an epoch of 50 steps and cleared at its end."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

EPOCH = 50
WIDTH = 256


class Evaluator:
    """Collects what each step puts out, for a figure of the whole epoch."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.outputs: list[torch.Tensor] = []
        self.examples: list[torch.Tensor] = []
        self.newest_example = torch.zeros(1)
        self.mean = 0.0

    def collect(self) -> bool:
        self.outputs.append(torch.rand(WIDTH, device=self.device))
        return len(self.outputs) == EPOCH

    def end_epoch(self) -> None:
        self.mean = torch.stack(self.outputs).mean().item()
        self.outputs.clear()

    def step_keeping_examples(self) -> None:
        if self.collect():
            self.examples.append(self.outputs[0])
            self.end_epoch()

    def step_with_newest_example(self) -> None:
        if self.collect():
            self.newest_example = self.outputs[0]
            self.end_epoch()


@leak(
    kind="growth",
    report="huggingface/transformers#1134",
    line="self.examples.append(self.outputs[0])",
    holder=".examples",
)
def epoch_examples_kept(device: str) -> Callable[[], None]:
    """All outputs are cleared at the end of each epoch but one, which is kept as an example: 1 KiB in 50 steps."""
    return Evaluator(device).step_keeping_examples


@clean(report="huggingface/transformers#1134")
def epoch_examples_kept_clean(device: str) -> Callable[[], None]:
    """The example of one epoch takes the place of the last one's."""
    return Evaluator(device).step_with_newest_example
