# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The last frames of a stream, kept as a window for a temporal loss, with the trim and with the trim forgotten."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

FEATURES = 48
WINDOW = 100


class TemporalSmoothing:
    """Trains an encoder of video frames to change slowly: the loss compares with a random earlier frame."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.encoder = nn.Sequential(nn.Linear(FEATURES, FEATURES), nn.GELU(), nn.Linear(FEATURES, 16)).to(device)
        self.optimizer = torch.optim.AdamW(self.encoder.parameters(), lr=1e-3)

    def train_on(self, frame: torch.Tensor, frames: list[torch.Tensor]) -> None:
        earlier = frames[int(torch.randint(len(frames), ()))]
        self.optimizer.zero_grad()
        nn.functional.smooth_l1_loss(self.encoder(frame), self.encoder(earlier)).backward()
        self.optimizer.step()


class OverAll(TemporalSmoothing):
    """Draws from all frames so far."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.frames: list[torch.Tensor] = []

    def step(self) -> None:
        frame = torch.rand(FEATURES, device=self.device)
        self.frames.append(frame)
        self.train_on(frame, self.frames)


class OverWindow(TemporalSmoothing):
    """Draws from the last frames."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.window: list[torch.Tensor] = []

    def step(self) -> None:
        frame = torch.rand(FEATURES, device=self.device)
        self.window.append(frame)
        while len(self.window) > WINDOW:
            self.window.pop(0)
        self.train_on(frame, self.window)


@leak(
    kind="growth",
    report="microsoft/hi-ml#293",
    line="self.frames.append(frame)",
    holder=".frames",
    bytes_per_step=FEATURES * 4.0,
)
def frame_stack_window(device: str) -> Callable[[], None]:
    """Every frame of the stream stays in the list that the loss draws from."""
    return OverAll(device).step


@clean(report="microsoft/hi-ml#293")
def frame_stack_window_clean(device: str) -> Callable[[], None]:
    """The list drops its oldest frames beyond 100, by `while` and `pop(0)`."""
    return OverWindow(device).step
