# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Buffers of 64 MiB for decoded video, one for each request."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

FRAMES = 256
PIXELS = 256 * 256
THUMBNAIL = 64


class VideoService:
    """Describes videos; each is decoded into a buffer of the largest size that a request may ask for."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(THUMBNAIL, 8).to(device).eval()

    @torch.no_grad()
    def describe(self, buffer: torch.Tensor) -> int:
        # A short video: decoding touches the beginning of the buffer only.
        thumbnails = buffer[:4, :THUMBNAIL].copy_(torch.rand(4, THUMBNAIL, device=self.device))
        return int(self.model(thumbnails).mean(dim=0).argmax())


class BufferPerRequest(VideoService):
    """Keeps each request's buffer with its answer."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.answers: list[tuple[torch.Tensor, int]] = []

    def step(self) -> None:
        buffer = torch.empty(FRAMES, PIXELS, device=self.device)
        self.answers.append((buffer, self.describe(buffer)))


class OneBuffer(VideoService):
    """Decodes into the same buffer again, and keeps the answers' counts."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.buffer = torch.empty(FRAMES, PIXELS, device=self.device)
        self.counts = [0] * 8

    def step(self) -> None:
        self.counts[self.describe(self.buffer)] += 1


@leak(
    kind="growth",
    report="vllm-project/vllm#48165",
    line="self.answers.append((buffer",
    holder=".answers",
    bytes_per_step=FRAMES * PIXELS * 4.0,
)
def frame_buffers_kept(device: str) -> Callable[[], None]:
    """Each answer keeps the buffer that it was read from."""
    return BufferPerRequest(device).step


@clean(report="vllm-project/vllm#48165")
def frame_buffers_kept_clean(device: str) -> Callable[[], None]:
    """One buffer serves all requests."""
    return OneBuffer(device).step
