# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A profiler of one's own marks the end of each step with an event of torch's."""

from __future__ import annotations

import collections
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

WIDTH = 64
IN_FLIGHT = 24


class StepClock:
    """Records an event at the end of each step, to tell later how long the steps took."""

    def __init__(self) -> None:
        self.events: list[torch.cuda.Event] = []

    def tick(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self.events.append(event)  # for the summary


class ClockOfTheLatest:
    """Tells the time of the steps that may be in flight."""

    def __init__(self) -> None:
        self.events: collections.deque[torch.cuda.Event] = collections.deque(maxlen=IN_FLIGHT)

    def tick(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self.events.append(event)


def timed(device: str, clock: StepClock | ClockOfTheLatest) -> Callable[[], None]:
    torch.manual_seed(0)
    model = torch.nn.Linear(WIDTH, WIDTH, device=device)
    batch = torch.randn(16, WIDTH, device=device)

    def step() -> None:
        model(batch).square().mean().backward()
        model.zero_grad()
        clock.tick()

    return step


@leak(kind="raw_cuda", report="pytorch/pytorch#22597", line="# for the summary", holder=".events", needs_cuda=True)
def cuda_event_kept(device: str) -> Callable[[], None]:
    """The event of every step is kept for a summary that nobody asks for: too small for any ledger of bytes."""
    return timed(device, StepClock())


@clean(report="pytorch/pytorch#22597", needs_cuda=True)
def cuda_event_kept_clean(device: str) -> Callable[[], None]:
    """The same clock keeps the newest events only: as many are destroyed as are made."""
    return timed(device, ClockOfTheLatest())
