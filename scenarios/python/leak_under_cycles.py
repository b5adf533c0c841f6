# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Reference cycles that the collector frees now and then, and a leak under this saw-tooth."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 32
ROWS = 16


class Episode:
    """A graph of frames, each of which knows its episode."""

    def __init__(self, frames: torch.Tensor) -> None:
        self.frames = frames
        self.back = self


class Player:
    """Plays episodes, which go when the collector comes by."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.policy = nn.Linear(WIDTH, 4).to(device)
        self.values: list[torch.Tensor] = []
        self.value = torch.zeros(ROWS, device=device)

    @torch.no_grad()
    def play(self) -> Episode:
        episode = Episode(torch.rand(ROWS, WIDTH, device=self.device))
        self.value = self.policy(episode.frames).amax(dim=1)
        return episode

    def step_keeping_values(self) -> None:
        self.play()
        self.values.append(self.value)

    def step(self) -> None:
        self.play()


@leak(
    kind=("detached_activation", "growth"),
    report="pytorch/pytorch#20199",
    line="self.values.append(self.value)",
    holder=".values",
    bytes_per_step=ROWS * 4.0,
)
def leak_under_cycles(device: str) -> Callable[[], None]:
    """Each step leaves 2 KiB in a cycle, which the collector will free, and 64 B in a list, which nothing will."""
    return Player(device).step_keeping_values


@clean(report="pytorch/pytorch#20199")
def leak_under_cycles_clean(device: str) -> Callable[[], None]:
    """The cycles alone."""
    return Player(device).step
