# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers of 40, 300, 1,000 and 5,000 entries, and some with the bound forgotten."""

from __future__ import annotations

import functools
import queue
from collections import OrderedDict, deque
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

WIDTH = 16
BYTES = WIDTH * 4.0


class Stream:
    """Brings a small tensor a step."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.steps = 0

    def next(self) -> torch.Tensor:
        self.steps += 1
        return torch.full((WIDTH,), float(self.steps % 7), device=self.device)


class Window(Stream):
    """A `deque`."""

    def __init__(self, device: str, bound: int | None) -> None:
        super().__init__(device)
        self.window: deque[torch.Tensor] = deque(maxlen=bound)

    def step(self) -> None:
        self.window.append(self.next())


class Popped(Stream):
    """A list that drops its first entry."""

    def __init__(self, device: str, bound: int) -> None:
        super().__init__(device)
        self.bound = bound
        self.entries: list[torch.Tensor] = []

    def step(self) -> None:
        self.entries.append(self.next())
        if len(self.entries) > self.bound:
            self.entries.pop(0)


class Trimmed(Stream):
    """A list that is cut."""

    def __init__(self, device: str, bound: int) -> None:
        super().__init__(device)
        self.bound = bound
        self.latest: list[torch.Tensor] = []

    def step(self) -> None:
        self.latest.append(self.next())
        self.latest = self.latest[-self.bound :]


class Recent(Stream):
    """An `OrderedDict` as a cache of what was used last."""

    def __init__(self, device: str, bound: int) -> None:
        super().__init__(device)
        self.bound = bound
        self.recent: OrderedDict[int, torch.Tensor] = OrderedDict()

    def step(self) -> None:
        entry = self.next()
        self.recent[self.steps] = entry
        while len(self.recent) > self.bound:
            self.recent.popitem(last=False)


class Ring(Stream):
    """Slots that are written over in turn."""

    def __init__(self, device: str, bound: int) -> None:
        super().__init__(device)
        self.slots: list[torch.Tensor | None] = [None] * bound

    def step(self) -> None:
        entry = self.next()
        self.slots[self.steps % len(self.slots)] = entry


class Waiting(Stream):
    """A `queue.Queue` of what is to be written, of which nobody waits for the end."""

    def __init__(self, device: str, bound: int) -> None:
        super().__init__(device)
        self.waiting: queue.Queue[torch.Tensor] = queue.Queue(bound)

    def step(self) -> None:
        if self.waiting.full():
            self.waiting.get()
        self.waiting.put(self.next())


class Paddings(Stream):
    """A padding for each length, behind `lru_cache`."""

    def __init__(self, device: str, bound: int | None) -> None:
        super().__init__(device)

        @functools.lru_cache(maxsize=bound)
        def padding(length: int) -> torch.Tensor:
            return torch.full((WIDTH,), float(length), device=device)

        self.padding = padding

    def step(self) -> None:
        self.steps += 1
        self.padding(self.steps)


@leak(
    kind="growth",
    report="BY571/IQN-and-Extensions#3",
    line="self.window.append(",
    holder=".window",
    bytes_per_step=BYTES,
)
def window_of_1000(device: str) -> Callable[[], None]:
    """A deque whose length nobody gave."""
    return Window(device, None).step


@clean(report="BY571/IQN-and-Extensions#3", not_yet="1,306 steps (--steps): full later than a run of 1,024 ends")
def window_of_1000_clean(device: str) -> Callable[[], None]:
    """A deque of 1,000."""
    return Window(device, 1000).step


@clean(report="BY571/IQN-and-Extensions#3")
def window_of_300(device: str) -> Callable[[], None]:
    """A deque of 300."""
    return Window(device, 300).step


@clean(report="BY571/IQN-and-Extensions#3", not_yet="5,306 steps (--steps): full later than a run of 1,024 ends")
def window_of_5000(device: str) -> Callable[[], None]:
    """A deque of 5,000."""
    return Window(device, 5000).step


@clean(report="BY571/IQN-and-Extensions#3")
def popped_beyond_40(device: str) -> Callable[[], None]:
    """A list that drops its first entry once it is longer than 40."""
    return Popped(device, 40).step


@clean(report="BY571/IQN-and-Extensions#3")
def popped_beyond_300(device: str) -> Callable[[], None]:
    """A list that drops its first entry once it is longer than 300."""
    return Popped(device, 300).step


@clean(report="BY571/IQN-and-Extensions#3", not_yet="1,306 steps (--steps): full later than a run of 1,024 ends")
def popped_beyond_1000(device: str) -> Callable[[], None]:
    """A list that drops its first entry once it is longer than 1,000."""
    return Popped(device, 1000).step


@clean(report="BY571/IQN-and-Extensions#3", not_yet="5,306 steps (--steps): full later than a run of 1,024 ends")
def popped_beyond_5000(device: str) -> Callable[[], None]:
    """A list that drops its first entry once it is longer than 5,000."""
    return Popped(device, 5000).step


@clean(report="microsoft/hi-ml#293")
def trimmed_to_40(device: str) -> Callable[[], None]:
    """A list that is replaced by its last 40 entries."""
    return Trimmed(device, 40).step


@clean(report="microsoft/hi-ml#293")
def trimmed_to_300(device: str) -> Callable[[], None]:
    """A list that is replaced by its last 300 entries."""
    return Trimmed(device, 300).step


@clean(report="microsoft/hi-ml#293", not_yet="1,306 steps (--steps): full later than a run of 1,024 ends")
def trimmed_to_1000(device: str) -> Callable[[], None]:
    """A list that is replaced by its last 1,000 entries."""
    return Trimmed(device, 1000).step


@clean(report="microsoft/hi-ml#293", not_yet="5,306 steps (--steps): full later than a run of 1,024 ends")
def trimmed_to_5000(device: str) -> Callable[[], None]:
    """A list that is replaced by its last 5,000 entries."""
    return Trimmed(device, 5000).step


@clean(report="pytorch/pytorch#48049", not_yet="1,306 steps (--steps): full later than a run of 1,024 ends")
def recent_of_1000(device: str) -> Callable[[], None]:
    """What was used longest ago is thrown out beyond 1,000 entries."""
    return Recent(device, 1000).step


@clean(report="pytorch/pytorch#48049")
def recent_of_300(device: str) -> Callable[[], None]:
    """What was used longest ago is thrown out beyond 300 entries."""
    return Recent(device, 300).step


@clean(report="pytorch/pytorch#48049")
def recent_of_40(device: str) -> Callable[[], None]:
    """What was used longest ago is thrown out beyond 40 entries."""
    return Recent(device, 40).step


@clean(report="pytorch/pytorch#48049", not_yet="5,306 steps (--steps): full later than a run of 1,024 ends")
def recent_of_5000(device: str) -> Callable[[], None]:
    """What was used longest ago is thrown out beyond 5,000 entries."""
    return Recent(device, 5000).step


@clean(report="BY571/IQN-and-Extensions#3")
def ring_of_40(device: str) -> Callable[[], None]:
    """A ring of 40 slots."""
    return Ring(device, 40).step


@clean(report="BY571/IQN-and-Extensions#3")
def ring_of_300(device: str) -> Callable[[], None]:
    """A ring of 300 slots."""
    return Ring(device, 300).step


@clean(report="BY571/IQN-and-Extensions#3", not_yet="1,306 steps (--steps): full later than a run of 1,024 ends")
def ring_of_1000(device: str) -> Callable[[], None]:
    """A ring of 1,000 slots."""
    return Ring(device, 1000).step


@clean(report="BY571/IQN-and-Extensions#3", not_yet="5,306 steps (--steps): full later than a run of 1,024 ends")
def ring_of_5000(device: str) -> Callable[[], None]:
    """A ring of 5,000 slots."""
    return Ring(device, 5000).step


@clean(report="vllm-project/vllm#44490", not_yet="1,306 steps (--steps): full later than a run of 1,024 ends")
def queue_of_1000(device: str) -> Callable[[], None]:
    """A queue of 1,000: a full one loses its oldest entry."""
    return Waiting(device, 1000).step


@clean(report="vllm-project/vllm#44490")
def queue_of_300(device: str) -> Callable[[], None]:
    """A queue of 300."""
    return Waiting(device, 300).step


@clean(report="vllm-project/vllm#44490", not_yet="5,306 steps (--steps): full later than a run of 1,024 ends")
def queue_of_5000(device: str) -> Callable[[], None]:
    """A queue of 5,000."""
    return Waiting(device, 5000).step


@leak(
    kind="growth",
    report="pytorch/pytorch#48049",
    line=("@functools.lru_cache(maxsize=bound)", "self.padding(self.steps)"),
    holder=".padding",
    bytes_per_step=BYTES,
)
def lru_cache_of_1000(device: str) -> Callable[[], None]:
    """`lru_cache(maxsize=None)`, which never throws out anything, with a new length in each step."""
    return Paddings(device, None).step


@clean(report="pytorch/pytorch#48049", not_yet="1,306 steps (--steps): full later than a run of 1,024 ends")
def lru_cache_of_1000_clean(device: str) -> Callable[[], None]:
    """`lru_cache(maxsize=1000)`."""
    return Paddings(device, 1000).step


@clean(report="pytorch/pytorch#48049")
def lru_cache_of_300(device: str) -> Callable[[], None]:
    """`lru_cache(maxsize=300)`."""
    return Paddings(device, 300).step


@clean(report="pytorch/pytorch#48049")
def lru_cache_of_40(device: str) -> Callable[[], None]:
    """`lru_cache(maxsize=40)`."""
    return Paddings(device, 40).step


@clean(report="pytorch/pytorch#48049", not_yet="5,306 steps (--steps): full later than a run of 1,024 ends")
def lru_cache_of_5000(device: str) -> Callable[[], None]:
    """`lru_cache(maxsize=5000)`."""
    return Paddings(device, 5000).step
