# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What watching costs a training step: each way beside the plain step, interleaved, in one process.

    PYTHONPATH=build/harness/python python3 tests/benchmarks/overhead.py [--device cuda:0] [--json FILE]

A round runs every way once, in turn; a way's cost is the median over the rounds of its time over the plain step's
time of the same round, with the quartiles as spread. Steps: transformer encoders with AdamW, from one that waits for
launches to one that waits for the device. Ways: the plain step; stepleak's screen and explain passes; torch's
`_record_memory_history` with Python stacks and with all stacks; `torch.profiler` with memory.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from stepleak import _core
from torch import nn

WARM_CALLS = 3
Step = Callable[[], None]


@dataclass(frozen=True)
class Size:
    """A step's size; `calls` timed calls make up one measurement."""

    name: str
    layers: int
    width: int
    batch: int
    length: int
    calls: int


SIZES = {
    "cuda": (
        Size("small", layers=2, width=256, batch=8, length=64, calls=60),
        Size("middle", layers=9, width=512, batch=16, length=128, calls=30),
        Size("large", layers=12, width=1024, batch=16, length=512, calls=4),
    ),
    "cpu": (Size("small", layers=1, width=64, batch=4, length=16, calls=20),),
}


def make_step(size: Size, device: str) -> Step:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(size.width, 8, 4 * size.width, dropout=0.0, batch_first=True, device=device)
    model = nn.TransformerEncoder(layer, size.layers)
    head = nn.Linear(size.width, 1, device=device)
    optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-4)
    inputs = torch.randn(size.batch, size.length, size.width, device=device)

    def step() -> None:
        optimizer.zero_grad()
        loss = head(model(inputs)).square().mean()
        loss.backward()
        optimizer.step()

    return step


class Timer:
    """A step that times itself: from the end of the warm calls to the end of the last one, device included."""

    def __init__(self, step: Step, calls: int, device: str) -> None:
        self._step = step
        self._last = WARM_CALLS + calls
        self._device = device
        self._calls = 0
        self._start = 0.0
        self.seconds_a_step = 0.0

    def __call__(self) -> None:
        # The reading is at the start of a call, so that what watching does between two calls counts.
        if self._calls in (WARM_CALLS, self._last):
            if self._device != "cpu":
                torch.cuda.synchronize()
            now = time.perf_counter()
            if self._calls == self._last:
                self.seconds_a_step = (now - self._start) / (self._last - WARM_CALLS)
            self._start = now
        self._calls += 1
        self._step()

    @property
    def calls_in_all(self) -> int:
        return self._last + 1


def under(context: Callable[[], AbstractContextManager[object]]) -> Callable[[Timer], None]:
    def run(timer: Timer) -> None:
        with context():
            for _ in range(timer.calls_in_all):
                timer()

    return run


@contextmanager
def history(stacks: str) -> Iterator[None]:
    torch.cuda.memory._record_memory_history("all", stacks=stacks, max_entries=100_000)
    try:
        yield
    finally:
        torch.cuda.memory._record_memory_history(None)


@contextmanager
def nothing() -> Iterator[None]:
    yield


def profiler() -> AbstractContextManager[object]:
    profile: AbstractContextManager[object] = torch.profiler.profile(profile_memory=True)
    return profile


def ways_of(device: str) -> dict[str, Callable[[Timer], None]]:
    ways: dict[str, Callable[[Timer], None]] = {
        "plain": under(nothing),
        "screen": lambda timer: _core.observe(timer, timer.calls_in_all, 0, device),
        "explain": lambda timer: _core.observe(timer, 0, timer.calls_in_all, device),
    }
    if device != "cpu":
        ways["record_history, Python stacks"] = under(lambda: history("python"))
        ways["record_history, all stacks"] = under(lambda: history("all"))
    ways["profiler with memory"] = under(profiler)
    return ways


def measure(size: Size, device: str, rounds: int) -> dict[str, dict[str, float]]:
    step = make_step(size, device)
    seconds: dict[str, list[float]] = {}
    for round_number in range(rounds + 1):
        for name, run in ways_of(device).items():
            timer = Timer(step, size.calls, device)
            run(timer)
            if round_number > 0:  # the first round warms every way up
                seconds.setdefault(name, []).append(timer.seconds_a_step)
    table: dict[str, dict[str, float]] = {}
    for name, values in seconds.items():
        ratios = [100 * (value / plain - 1) for value, plain in zip(values, seconds["plain"], strict=True)]
        low, median, high = statistics.quantiles(ratios, n=4)
        table[name] = {
            "ms": 1000 * statistics.median(values),
            "percent": median,
            "low": low,
            "high": high,
        }
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    tables = {}
    for size in SIZES[arguments.device.partition(":")[0]]:
        tables[size.name] = table = measure(size, arguments.device, arguments.rounds)
        print(f"{size.name}: {table['plain']['ms']:.2f} ms a step, {arguments.rounds} rounds of {size.calls} steps")
        for name, row in table.items():
            spread = f"{row['low']:+.1f} .. {row['high']:+.1f}"
            print(f"  {name:<32} {row['ms']:8.2f} ms  {row['percent']:+6.1f} %  ({spread})", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(tables, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
