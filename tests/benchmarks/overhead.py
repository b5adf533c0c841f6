# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What watching costs a training step: each way beside the plain step, interleaved.

    PYTHONPATH=build/harness/python python3 tests/benchmarks/overhead.py [--device cuda:0] [--json FILE]

A way's cost is the median over the rounds of its time over that of the plain run just before it, with the quartiles as
spread. Ways: stepleak's screen and record passes; torch's `_record_memory_history` with Python stacks and with all
stacks; `torch.profiler` with memory. Steps: transformer encoders with AdamW, from one that waits for launches to one
that waits for the device.

What stepleak attaches to the allocators stays for the life of the process, so the plain runs beside the ways have it,
too. The row "attached, idle" tells its cost: plain runs after the first watch over plain runs before it, of the first
size that is measured. Add it to the others.
"""

from __future__ import annotations

import argparse
import gc
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

EXPLAIN_STRIDE = 7  # as kExplainStride of harness/api/check.cpp, for a leak of each step
Step = Callable[[], None]
Table = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Size:
    """A step's size; `calls` timed calls after `warm_calls` make up one measurement."""

    name: str
    layers: int
    width: int
    batch: int
    length: int
    warm_calls: int
    calls: int


SIZES = {
    "cuda": (
        Size("small", layers=2, width=256, batch=8, length=64, warm_calls=3, calls=60),
        Size("middle", layers=9, width=512, batch=16, length=128, warm_calls=3, calls=24),
        Size("large", layers=12, width=1024, batch=16, length=512, warm_calls=1, calls=3),
    ),
    "cpu": (Size("small", layers=1, width=64, batch=4, length=16, warm_calls=3, calls=20),),
}


def sizes_of(device: str) -> tuple[Size, ...]:
    return SIZES[device.partition(":")[0]]


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

    def __init__(self, step: Step, size: Size, device: str) -> None:
        self._step = step
        self._first = size.warm_calls
        self._last = size.warm_calls + size.calls
        self._device = device
        self._calls = 0
        self._start = 0.0
        self.seconds_a_step = 0.0

    def __call__(self) -> None:
        # The reading is at the start of a call, so that what watching does between two calls counts.
        if self._calls in (self._first, self._last):
            if self._device != "cpu":
                torch.cuda.synchronize()
            now = time.perf_counter()
            if self._calls == self._last:
                self.seconds_a_step = (now - self._start) / (self._last - self._first)
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


def explain(timer: Timer, device: str, stride: int) -> None:
    _core.observe(timer, device, record_steps=timer.calls_in_all, record_stride=stride)


def ways_of(device: str) -> dict[str, Callable[[Timer], None]]:
    ways: dict[str, Callable[[Timer], None]] = {
        "screen": lambda timer: _core.observe(timer, device, screen_steps=timer.calls_in_all),
        "explain": lambda timer: explain(timer, device, EXPLAIN_STRIDE),
        "explain, every step recorded": lambda timer: explain(timer, device, 1),
    }
    if device != "cpu":
        ways["record_history, Python stacks"] = under(lambda: history("python"))
        ways["record_history, all stacks"] = under(lambda: history("all"))
    ways["profiler with memory"] = under(profiler)
    return ways


def spread_of(percents: list[float], seconds: list[float]) -> dict[str, float]:
    low, median, high = statistics.quantiles(percents, n=4)
    return {"ms": 1000 * statistics.median(seconds), "percent": median, "low": low, "high": high}


class Bench:
    """One step of a size, timed in all ways."""

    def __init__(self, size: Size, device: str, rounds: int) -> None:
        self._size = size
        self._device = device
        self._rounds = rounds
        self._step = make_step(size, device)

    def seconds(self, run: Callable[[Timer], None] | None = None) -> float:
        timer = Timer(self._step, self._size, self._device)
        # What one way leaves to Python's collector would else be paid by the next.
        gc.collect()
        (run or under(nothing))(timer)
        return timer.seconds_a_step

    def idle(self) -> dict[str, float]:
        """What is attached for good: only the first bench of a process can tell."""
        count = 3 * self._rounds
        before = [self.seconds() for _ in range(self._rounds + count)][self._rounds :]
        self.seconds(ways_of(self._device)["screen"])
        after = [self.seconds() for _ in range(count)]
        return spread_of([100 * (b / a - 1) for a, b in zip(before, after, strict=True)], after)

    def ways(self) -> Table:
        plain: list[float] = []
        seconds: dict[str, list[float]] = {}
        percents: dict[str, list[float]] = {}
        for round_number in range(self._rounds + 1):
            for way, run in ways_of(self._device).items():
                beside, taken = self.seconds(), self.seconds(run)
                if round_number == 0:  # warms every way up
                    continue
                plain.append(beside)
                seconds.setdefault(way, []).append(taken)
                percents.setdefault(way, []).append(100 * (taken / beside - 1))
        table = {"plain": spread_of([0.0, 0.0], plain)}
        return table | {way: spread_of(percents[way], seconds[way]) for way in seconds}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", action="append", help="measure steps of this size only; may be repeated")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    sizes = [size for size in sizes_of(arguments.device) if not arguments.size or size.name in arguments.size]
    tables: dict[str, Table] = {}
    for size in sizes:
        bench = Bench(size, arguments.device, arguments.rounds)
        table = {} if tables else {"attached, idle": bench.idle()}
        tables[size.name] = table | bench.ways()
        print(f"{size.name}: {arguments.rounds} rounds of {size.calls} steps")
        for name, row in tables[size.name].items():
            spread = f"{row['low']:+.1f} .. {row['high']:+.1f}"
            print(f"  {name:<32} {row['ms']:8.2f} ms  {row['percent']:+6.1f} %  ({spread})", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(tables, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
