# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The score of all scenarios: what each declares beside what came of it, and totals against the stored ones.

    score.py RESULTS.json               prints the table; fails where a total is worse than the stored one
    score.py --store RESULTS.json       stores the totals

RESULTS.json is what `stepleak run '*' --json` wrote, and STEPLEAK_CLI names the program: ci/score sees to both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truth import Truth, declared_truths  # beside this file

STORED = Path(__file__).resolve().parents[1] / "data" / "score"

UNHELD = {"reference_cycle", "host_heap", "raw_cuda", "stuck_free", "fragmentation_drift"}
"""A cycle, the driver's objects and what is free have no holder."""


@dataclass(frozen=True)
class Score:
    """A scenario's truth and what came of it."""

    truth: Truth
    result: dict[str, Any]

    @property
    def found_kinds(self) -> list[str]:
        return [finding["kind"] for finding in self.result["findings"]]

    @property
    def is_leak(self) -> bool:
        return self.truth.expected == "leak"

    @property
    def is_found(self) -> bool:
        return self.is_leak and self.result["verdict"] == "leak"

    @property
    def is_false_alarm(self) -> bool:
        return not self.is_leak and (self.result["verdict"] == "leak" or bool(self.result["findings"]))

    @property
    def is_to_be_held(self) -> bool:
        """Whether a holder can be named: not yet in C++."""
        return self.is_leak and not self.truth.is_cpp and not UNHELD & set(self.truth.kinds)

    @property
    def is_right(self) -> bool:
        if self.result["verdict"] != self.truth.expected:
            return False
        return self.truth.expected == "clean" or not set(self.truth.kinds).isdisjoint(self.found_kinds)

    @property
    def is_line_named(self) -> bool:
        """Whether a frame, or the statement that keeps, lies in the scenario's own file."""
        own = Path(self.truth.file).name
        for finding in self.result["findings"]:
            if any(Path(frame["file"]).name == own and frame["line"] > 0 for frame in finding["where"]):
                return True
            if f"{own}:" in finding["kept_by"]:
                return True
        return False

    @property
    def is_holder_named(self) -> bool:
        return any(finding["holder"] for finding in self.result["findings"])


@dataclass(frozen=True)
class Total:
    """One number over all scenarios: `count` of `among` of them, or a median (`among` 0)."""

    count: float
    among: int
    is_better_higher: bool = True

    @property
    def share(self) -> float:
        return self.count / self.among if self.among else self.count

    def is_worse_than(self, stored: Total) -> bool:
        return self.share < stored.share if self.is_better_higher else self.share > stored.share

    def __str__(self) -> str:
        return f"{self.count:g} of {self.among}" if self.among else f"{self.count:g}"


def totals_of(scores: list[Score]) -> dict[str, Total]:
    leaks = [score for score in scores if score.is_leak]
    healthy = [score for score in scores if not score.is_leak]
    held = [score for score in scores if score.is_to_be_held]
    undecided = [score for score in scores if score.result["verdict"] not in ("leak", "clean")]

    def steps_of(verdict: str) -> float:
        return statistics.median([s.result["steps"] for s in scores if s.result["verdict"] == verdict] or [0])

    return {
        "leaks found": Total(sum(score.is_found for score in leaks), len(leaks)),
        "false alarms": Total(sum(score.is_false_alarm for score in healthy), len(healthy), is_better_higher=False),
        "without a verdict": Total(len(undecided), len(scores), is_better_higher=False),
        "right kind": Total(sum(score.is_right for score in leaks), len(leaks)),
        "line named": Total(sum(score.is_line_named for score in leaks), len(leaks)),
        "holder named, where Python holds": Total(sum(score.is_holder_named for score in held), len(held)),
        "median steps, clean": Total(steps_of("clean"), 0, is_better_higher=False),
        "median steps, leak": Total(steps_of("leak"), 0, is_better_higher=False),
    }


def table_of(scores: list[Score]) -> str:
    def mark(is_good: bool) -> str:
        return "yes" if is_good else "NO"

    lines = [
        f"{'':3}{'scenario':<44}{'expected':<10}{'verdict':<14}{'line':<6}{'holder':<8}{'steps':>6}{'s':>7}  kinds"
    ]
    for score in scores:
        truth, result = score.truth, score.result
        lines.append(
            f"{'' if score.is_right else '!!':3}{truth.name:<44}{truth.expected:<10}{result['verdict']:<14}"
            f"{mark(score.is_line_named) if score.is_leak else '':<6}"
            f"{mark(score.is_holder_named) if score.is_to_be_held else '':<8}"
            f"{result['steps']:>6}{result['seconds']:>7.2f}  {' '.join(score.found_kinds)}"
        )
    lines += [f"   {name:<44}{total}" for name, total in totals_of(scores).items()]
    return "\n".join(lines)


def device_class(scores: list[Score]) -> str:
    """As baselines/ names it: cpu, or the GPU's model."""
    for score in scores:
        if model := score.result["conditions"].get("gpu"):
            return str(model).lower().replace(" ", "-")
    return "cpu"


def worse_totals(scores: list[Score]) -> list[str]:
    """One line a total that is worse than the stored one; none where nothing is stored for such a device."""
    file = STORED / f"{device_class(scores)}.json"
    if not file.is_file():
        return []
    now = totals_of(scores)
    worse = []
    for name, (count, among) in json.loads(file.read_text(encoding="utf-8")).items():
        stored = Total(count, among, now[name].is_better_higher)
        if now[name].is_worse_than(stored):
            worse.append(f"{name}: {now[name]}, stored {stored}")
    return worse


def store(scores: list[Score]) -> Path:
    file = STORED / f"{device_class(scores)}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    totals = {name: [total.count, total.among] for name, total in totals_of(scores).items()}
    file.write_text(json.dumps(totals, indent=2) + "\n", encoding="utf-8")
    return file


def scores_of(results: list[dict[str, Any]], truths: list[Truth]) -> list[Score]:
    by_name = {result["target"]: result for result in results}
    return [Score(truth, by_name[truth.name]) for truth in truths if truth.name in by_name]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", action="store_true", help="store the totals instead of comparing them")
    parser.add_argument("results", type=Path, metavar="RESULTS.json")
    arguments = parser.parse_args()
    scores = scores_of(
        json.loads(arguments.results.read_text(encoding="utf-8")), declared_truths(os.environ["STEPLEAK_CLI"])
    )
    if not scores:
        parser.error(f"{arguments.results} holds no result of a scenario: write it with stepleak run '*' --json")
    print(table_of(scores))
    if arguments.store:
        print(f"stored: {store(scores)}", file=sys.stderr)
        return 0
    worse = worse_totals(scores)
    for line in worse:
        print(f"worse: {line}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
