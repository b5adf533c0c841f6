# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What `stepleak run --trace` recorded of one scenario, as the rules of other tools read it."""

from __future__ import annotations

import bisect
import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ledger:
    """Values and the steps that they were read after, of which the first is 1."""

    steps: tuple[int, ...]
    values: tuple[int, ...]

    @classmethod
    def of(cls, values: list[int]) -> Ledger:
        """One value a step."""
        return cls(tuple(range(1, len(values) + 1)), tuple(values))

    def at(self, step: int) -> int:
        """What the last reading up to `step` said; what was not read is not made up."""
        return self.values[max(bisect.bisect_right(self.steps, step) - 1, 0)]

    def growth(self, first: int, last: int) -> int:
        return self.at(last) - self.at(first)

    def until(self, step: int) -> Ledger:
        end = bisect.bisect_right(self.steps, step)
        return Ledger(self.steps[:end], self.values[:end])


@dataclass(frozen=True)
class Cohort:
    """What was born in one step and is alive."""

    birth: int
    bytes: int
    blocks: int


NOTHING = Ledger((1,), (0,))


@dataclass(frozen=True)
class Recording:
    """The ledgers of one run, up to where it began to record stacks, and what was alive at each look.

    `device` is the one whose tensors are judged; the ledgers of the host are there beside it.
    """

    name: str
    steps: int
    seconds_a_step: float = 0.0
    device: str = "cpu"
    ledgers: dict[str, Ledger] = field(default_factory=dict)
    cohorts: dict[int, tuple[Cohort, ...]] = field(default_factory=dict)

    def ledger(self, name: str) -> Ledger:
        """That of the device, or else the host's, or else one that never moves."""
        return self.ledgers.get(f"{name}@{self.device}") or self.ledgers.get(f"{name}@cpu") or NOTHING

    def alive_at(self, step: int) -> tuple[Cohort, ...]:
        """At the last look up to `step`."""
        looks = [look for look in sorted(self.cohorts) if look <= step]
        return self.cohorts[looks[-1]] if looks else ()


def _recording_of(record: dict[str, Any]) -> Recording:
    trace = record["trace"]
    passes = [part["first_step"] - 1 for part in trace["passes"] if part["type"] != "screen"]
    steps = min([trace["steps"], *passes])
    ledgers = {}
    for name, ledger in trace["ledgers"].items():
        values = ledger["values"]
        read = Ledger(tuple(ledger.get("steps", range(1, len(values) + 1))), tuple(values)).until(steps)
        if read.steps:
            ledgers[name] = read
    cohorts = {
        look["step"]: tuple(
            Cohort(*cohort)
            for table in look["tables"]
            if table["device"] == record["device"]
            for cohort in table["cohorts"]
        )
        for look in trace["looks"]
        if look["step"] <= steps
    }
    seconds = record["seconds"] / max(trace["steps"], 1)
    return Recording(record["target"], steps, seconds, record["device"], ledgers, cohorts)


def read_recordings(traces: Path) -> list[Recording]:
    """Of a file of `stepleak run --trace`: one JSON object a line."""
    with gzip.open(traces, "rt", encoding="utf-8") as lines:
        return [_recording_of(json.loads(line)) for line in lines if line.strip()]
