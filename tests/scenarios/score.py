# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The score of all scenarios: what each declares beside what came of it, and totals against the stored ones.

    score.py RESULTS.json               prints the table; fails where a total is worse than the stored one
    score.py --store RESULTS.json       stores the totals

Right is a line, or a holder, that the scenario declares as its truth; wrong ones are listed below the totals. Marked
are with !! a wrong verdict or kind, and with ~~ one that the scenario declares to be out of reach yet.

RESULTS.json is what `stepleak run '*' --json` wrote, and STEPLEAK_CLI names the program: ci/score sees to both.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truth import Truth, declared_truths  # beside this file

STORED = Path(__file__).resolve().parents[1] / "data" / "score"


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
    def is_right(self) -> bool:
        if self.result["verdict"] != self.truth.expected:
            return False
        return self.truth.expected == "clean" or not set(self.truth.kinds).isdisjoint(self.found_kinds)

    @property
    def mark(self) -> str:
        if self.is_right:
            return ""
        return "~~" if self.truth.not_yet else "!!"

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Those of a right kind: what else is found is about something else."""
        return [finding for finding in self.result["findings"] if finding["kind"] in self.truth.kinds]

    @property
    def has_line(self) -> bool:
        """Whether it was found, and there is a line to be named."""
        return self.is_found and bool(self.truth.lines)

    @property
    def has_holder(self) -> bool:
        """Whether it was found, and there is a holder to be named: none of a cycle, nor in C++."""
        return self.is_found and bool(self.truth.holders)

    @property
    def is_line_right(self) -> bool:
        right = {(Path(self.truth.file).name, line) for line in self.truth.lines}
        return any((Path(file).name, line) in right for file, line, _ in map(self._line_to_change, self.findings))

    @property
    def is_holder_right(self) -> bool:
        return any(is_in_path(piece, finding["holder"]) for finding in self.findings for piece in self.truth.holders)

    def _line_to_change(self, finding: dict[str, Any]) -> tuple[str, int, str]:
        """What a reader goes to first: the statement that keeps, else the innermost frame of the scenario's file."""
        own = Path(self.truth.file).name
        frames = [frame for frame in finding["where"] if Path(frame["file"]).name == own]
        kept_at = finding.get("kept_at", {"line": 0})
        place = kept_at if kept_at["line"] > 0 else next(iter(frames), {"file": "", "line": 0, "text": ""})
        return place["file"], place["line"], place["text"]

    def wrong(self) -> list[str]:
        """What was said in place of the truth, a line each."""
        said = []
        if self.has_line and not self.is_line_right:
            lines = Path(self.truth.file).read_text(encoding="utf-8").splitlines()
            places = (self._line_to_change(finding) for finding in self.findings)
            named = " and ".join(f"{line} ({text})" for _, line, text in places if line > 0) or "none"
            right = " or ".join(f"{line} ({lines[line - 1].strip()})" for line in self.truth.lines)
            said.append(f"line of {self.truth.name}: {named}, right is {right}")
        if self.has_holder and not self.is_holder_right:
            named = " and ".join(finding["holder"] for finding in self.findings if finding["holder"]) or "none"
            said.append(f"holder of {self.truth.name}: {named}, right is {' or '.join(self.truth.holders)}")
        return said


def is_in_path(piece: str, path: str) -> bool:
    """Whether a holder's path has the piece, whole names of it, without regard to types and lengths in parentheses."""

    def plain(text: str) -> str:
        return re.sub(r"\([^()]*\)|\s", "", text)

    return re.search(re.escape(plain(piece)) + r"(?!\w)", plain(path)) is not None


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
    lined = [score for score in scores if score.has_line]
    held = [score for score in scores if score.has_holder]
    undecided = [score for score in scores if score.result["verdict"] not in ("leak", "clean")]

    def steps_of(verdict: str) -> float:
        return statistics.median([s.result["steps"] for s in scores if s.result["verdict"] == verdict] or [0])

    return {
        "leaks found": Total(sum(score.is_found for score in leaks), len(leaks)),
        "false alarms": Total(sum(score.is_false_alarm for score in healthy), len(healthy), is_better_higher=False),
        "without a verdict": Total(len(undecided), len(scores), is_better_higher=False),
        "right kind": Total(sum(score.is_right for score in leaks), len(leaks)),
        "right line, of those found": Total(sum(score.is_line_right for score in lined), len(lined)),
        "right holder, of those found": Total(sum(score.is_holder_right for score in held), len(held)),
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
            f"{score.mark:3}{truth.name:<44}{truth.expected:<10}{result['verdict']:<14}"
            f"{mark(score.is_line_right) if score.has_line else '':<6}"
            f"{mark(score.is_holder_right) if score.has_holder else '':<8}"
            f"{result['steps']:>6}{result['seconds']:>7.2f}  {' '.join(score.found_kinds)}"
        )
    lines += [f"   {name:<44}{total}" for name, total in totals_of(scores).items()]
    lines += [f"   not yet {score.truth.name}: {score.truth.not_yet}" for score in scores if score.truth.not_yet]
    lines += [f"   wrong {said}" for score in scores for said in score.wrong()]
    return "\n".join(lines)


def stored_file(scores: list[Score]) -> Path:
    """By the class of the device, as baselines/ names it (cpu, or the GPU's model), and by the effort."""
    conditions = [score.result["conditions"] for score in scores]
    gpu = next((str(of_one["gpu"]) for of_one in conditions if of_one.get("gpu")), "cpu")
    effort = next((str(of_one["effort"]) for of_one in conditions if of_one.get("effort")), "standard")
    return STORED / f"{gpu.lower().replace(' ', '-')}{'' if effort == 'standard' else '-' + effort}.json"


def worse_totals(scores: list[Score]) -> list[str]:
    """One line a total that is worse than the stored one; none where nothing is stored for such a device and effort."""
    file = stored_file(scores)
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
    file = stored_file(scores)
    file.parent.mkdir(parents=True, exist_ok=True)
    totals = {name: [total.count, total.among] for name, total in totals_of(scores).items()}
    file.write_text(json.dumps(totals, indent=2) + "\n", encoding="utf-8")
    return file


def scores_of(results: list[dict[str, Any]], truths: list[Truth]) -> list[Score]:
    """But for those whose library is not installed: nothing came of them."""
    by_name = {result["target"]: result for result in results}
    return [Score(truth, by_name[truth.name]) for truth in truths if truth.name in by_name and not truth.missing]


def left_out(truths: list[Truth]) -> list[str]:
    """Those whose library is not installed, a line each."""
    return [f"   left out {truth.name}: it needs {truth.missing}" for truth in truths if truth.missing]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", action="store_true", help="store the totals instead of comparing them")
    parser.add_argument("results", type=Path, metavar="RESULTS.json")
    arguments = parser.parse_args()
    truths = declared_truths(os.environ["STEPLEAK_CLI"])
    scores = scores_of(json.loads(arguments.results.read_text(encoding="utf-8")), truths)
    if not scores:
        parser.error(f"{arguments.results} holds no result of a scenario: write it with stepleak run '*' --json")
    print("\n".join([table_of(scores), *left_out(truths)]))
    if arguments.store:
        print(f"stored: {store(scores)}", file=sys.stderr)
        return 0
    worse = worse_totals(scores)
    for line in worse:
        print(f"worse: {line}", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
