# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What watching costs a training step, each way beside the plain step of a process that never watched.

    PYTHONPATH=build/harness/python python3 tests/benchmarks/overhead.py [--device cuda:0] [--json FILE]

Processes take turns, on the same processor cores, since no two cores are equally fast. `plain` never watches;
`stepleak` runs the step attached and idle (what stays in the allocators after a first watch), in the screen and record
passes, and in a loop that `stepleak.watch` watches, from its step 65 to 128; `others` runs it under torch's
`_record_memory_history` with Python stacks and with all stacks, and under `torch.profiler` with memory.
Before the first of these, each process runs the plain step beside `plain`, by which its later turns are divided: two
processes are never equally fast.

A way's cost is the median over the rounds of its time over that of `plain` in the turn just before, in three times: on
the clock ("wall"); the processor's, of all threads, which other work on the machine disturbs less ("processor"; of a
step that waits for launches both say the same); and a turn's median from the start of one call to that of the next
("call"), which what falls on few of the calls does not touch, neither an interruption nor a look of ours. A part of it
is known far better: what passes between two calls is more than in `plain` by what is done there ("between", in percent
of the plain step); the rest is what hooks cost within the step. "±" is half the width of the median's 95 % interval,
1.57 * interquartile range / sqrt(rounds) (McGill, Tukey and Larsen, "Variations of Box Plots", The American
Statistician 32, 1978). Steps: transformer encoders with AdamW, from one that waits for launches to one that waits for
the device.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import stepleak
import torch
from stepleak import _core
from torch import nn

RECORD_STRIDE = 7  # as kRecordStride of harness/api/run_setup.cpp, for a leak of each step
MOST_CORES = 4  # what a step's threads need: Python's, autograd's, CUDA's
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
        # What is read at few boundaries weighs as in a pass that ends clean: its steps 4 to 64.
        Size("small", layers=2, width=256, batch=8, length=64, warm_calls=3, calls=61),
        Size("middle", layers=9, width=512, batch=16, length=128, warm_calls=3, calls=10),
        Size("large", layers=12, width=1024, batch=16, length=512, warm_calls=1, calls=3),
    ),
    "cpu": (
        Size("small", layers=1, width=128, batch=8, length=32, warm_calls=5, calls=40),
        Size("middle", layers=2, width=128, batch=16, length=32, warm_calls=5, calls=20),
        Size("large", layers=4, width=256, batch=24, length=64, warm_calls=5, calls=3),
    ),
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


class Seconds(NamedTuple):
    """Of a step: on the clock, of the processor in all threads, of the median call, and from one call to the next."""

    wall: float
    processor: float
    call: float
    between: float


class Timer:
    """A step that times itself: from the end of the warm calls to the end of the last one, device included."""

    def __init__(self, step: Step, size: Size, device: str) -> None:
        self._step = step
        self._first = size.warm_calls
        self._last = size.warm_calls + size.calls
        self._device = device
        self._calls = 0
        self._processor = 0.0
        self._starts = [0.0] * (size.calls + 1)
        self._end = self._between = 0.0
        self.seconds_a_step = Seconds(0.0, 0.0, 0.0, 0.0)

    def __call__(self) -> None:
        # The reading is at the start of a call, so that what watching does between two calls counts.
        if self._first < self._calls <= self._last:
            self._between += time.perf_counter() - self._end
        if self._calls == self._first:
            self._synchronize()
            self._processor = time.process_time()
        if self._first <= self._calls <= self._last:
            self._starts[self._calls - self._first] = time.perf_counter()
        if self._calls == self._last:
            self._synchronize()
            count = self._last - self._first
            self.seconds_a_step = Seconds(
                (time.perf_counter() - self._starts[0]) / count,
                (time.process_time() - self._processor) / count,
                statistics.median(after - before for before, after in itertools.pairwise(self._starts)),
                self._between / count,
            )
        self._calls += 1
        self._step()
        self._end = time.perf_counter()

    def _synchronize(self) -> None:
        if self._device != "cpu":
            torch.cuda.synchronize()

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


def record(timer: Timer, device: str, stride: int) -> None:
    _core.observe(timer, device, record_steps=timer.calls_in_all, record_stride=stride)


def watch(timer: Timer, device: str) -> None:
    # The longest effort: it is not to have decided, and be quiet, before the last call.
    with stepleak.watch(device=device, effort="nightly") as w:
        for _ in range(timer.calls_in_all):
            timer()
            w.step()


PLAIN = "plain"
IDLE = "attached, idle"
WATCHED = "watched loop"
SCREEN = "screen"
OWN_WAYS = (IDLE, SCREEN, WATCHED, "record", "record, every step")
OTHER_WAYS = ("record_history, Python stacks", "record_history, all stacks", "profiler with memory")


def runner_of(way: str, device: str) -> Callable[[Timer], None]:
    return {
        PLAIN: under(nothing),
        IDLE: under(nothing),
        SCREEN: lambda timer: _core.observe(timer, device, screen_steps=timer.calls_in_all),
        WATCHED: lambda timer: watch(timer, device),
        "record": lambda timer: record(timer, device, RECORD_STRIDE),
        "record, every step": lambda timer: record(timer, device, 1),
        "record_history, Python stacks": under(lambda: history("python")),
        "record_history, all stacks": under(lambda: history("all")),
        "profiler with memory": under(profiler),
    }[way]


def watched_size(size: Size) -> Size:
    """A loop is looked at ever more rarely: what is left on pays for one look in 64 steps at most."""
    return replace(size, warm_calls=64, calls=64)


def take_turns(size: Size, device: str, turns: Connection) -> None:
    """What a process does: for each way that is named, the seconds of a step in it."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-MOST_CORES:])
    torch.set_num_threads(min(MOST_CORES, torch.get_num_threads()))  # more than cores would wait for each other
    step = make_step(size, device)
    step()
    # What one turn leaves to Python's collector would else be paid by the next.
    gc.collect()
    gc.freeze()
    while way := turns.recv():
        timer = Timer(step, watched_size(size) if way == WATCHED else size, device)
        gc.collect()
        runner_of(way, device)(timer)
        turns.send(timer.seconds_a_step)


class Runner:
    """A process of its own that runs the step in turns."""

    def __init__(self, size: Size, device: str) -> None:
        self._turns, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=take_turns, args=(size, device, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def seconds(self, way: str = PLAIN) -> Seconds:
        self._turns.send(way)
        try:
            seconds: Seconds = self._turns.recv()
        except EOFError:
            self._process.join()
            raise SystemExit(f"the process that ran '{way}' ended with exit code {self._process.exitcode}") from None
        return seconds

    def end(self) -> None:
        self._turns.send("")
        self._process.join()


Pairs = list[tuple[Seconds, Seconds]]
"""Of each round: plain, and watched."""


def ratios(pairs: Pairs, field: str) -> list[float]:
    return [getattr(watched, field) / getattr(plain, field) for plain, watched in pairs]


def percents_of(field: str, pairs: Pairs, usual: Pairs) -> list[float]:
    if field == "between":
        return [100 * (watched.between - plain.between) / plain.wall for plain, watched in pairs]
    bias = statistics.median(ratios(usual, field))
    return [100 * (ratio / bias - 1) for ratio in ratios(pairs, field)]


def row_of(pairs: Pairs, usual: Pairs) -> dict[str, float]:
    row = {"ms": 1000 * statistics.median(watched.wall for _, watched in pairs)}
    for field in Seconds._fields:
        low, median, high = statistics.quantiles(percents_of(field, pairs, usual), n=4)
        half = 1.57 * (high - low) / len(pairs) ** 0.5
        row |= {f"{field} %": median, f"{field} ±": half, f"{field} low": low, f"{field} high": high}
    return row


class Bench:
    """One step of a size, timed in ways that one process runs, beside the plain process."""

    def __init__(self, size: Size, device: str, rounds: int) -> None:
        self._rounds = rounds
        self._plain = Runner(size, device)
        self._watched = Runner(size, device)

    def end(self) -> None:
        self._plain.end()
        self._watched.end()

    def _pair(self, way: str) -> tuple[Seconds, Seconds]:
        return self._plain.seconds(), self._watched.seconds(way)

    def table(self, ways: list[str]) -> Table:
        for _ in range(self._rounds):  # warms both up
            self._pair(PLAIN)
        usual = [self._pair(PLAIN) for _ in range(2 * self._rounds)]
        for way in ways:
            self._watched.seconds(SCREEN if way == IDLE else way)
        taken: dict[str, Pairs] = {way: [] for way in ways}
        for _ in range(self._rounds):
            for way in ways:
                taken[way].append(self._pair(way))
        return {way: row_of(pairs, usual) for way, pairs in ({PLAIN: usual} | taken).items()}


def table_of(size: Size, device: str, rounds: int, ways: list[str]) -> Table:
    table: Table = {}
    for group in (OWN_WAYS, OTHER_WAYS):
        if chosen := [way for way in group if way in ways]:
            bench = Bench(size, device, rounds)
            # The first group's plain row stands for both: it says how well equal runs agree.
            table = bench.table(chosen) | table
            bench.end()
    return {way: table[way] for way in (PLAIN, *OWN_WAYS, *OTHER_WAYS) if way in table}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--size", action="append", help="measure steps of this size only; may be repeated")
    parser.add_argument(
        "--way", action="append", choices=[*OWN_WAYS, *OTHER_WAYS], help="this way only; may be repeated"
    )
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    multiprocessing.set_start_method("spawn")
    others = OTHER_WAYS if arguments.device != "cpu" else OTHER_WAYS[-1:]
    ways = arguments.way or [*OWN_WAYS, *others]
    sizes = [size for size in sizes_of(arguments.device) if not arguments.size or size.name in arguments.size]
    tables: dict[str, Table] = {}
    for size in sizes:
        tables[size.name] = table_of(size, arguments.device, arguments.rounds, ways)
        print(f"{size.name}: {arguments.rounds} rounds of {size.calls} steps")
        for name, row in tables[size.name].items():
            cells = [f"{field} {row[f'{field} %']:+6.2f} % ± {row[f'{field} ±']:.2f}" for field in Seconds._fields]
            print(f"  {name:<32} {row['ms']:8.2f} ms   {'   '.join(cells)}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(tables, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
