# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The rules of other tools over the series that stepleak recorded of all scenarios, beside its own verdicts.

    table.py --recorded TRACES.trace --results RESULTS.json           prints the tables
    table.py --recorded TRACES.trace --results RESULTS.json --details     and what each rule says of each scenario

TRACES.trace is what `stepleak run '*' --steps 300 --min-steps 300 --trace` wrote, RESULTS.json a run's --json, and
STEPLEAK_CLI names the program: ci/peers sees to all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scenarios"))

import allocator_rules
import host_rules
from recording import Recording, read_recordings
from rule import CLEAN, LEAK, UNDECIDED, Outcome, Rule
from truth import Truth, declared_truths  # of tests/scenarios

RULES: tuple[Rule, ...] = (*allocator_rules.RULES, *host_rules.RULES)


@dataclass(frozen=True)
class Case:
    """A scenario's truth, and what was recorded of it."""

    truth: Truth
    recording: Recording

    @property
    def is_leak(self) -> bool:
        return self.truth.expected == "leak"

    def is_seen_by(self, rule: Rule) -> bool:
        return rule.reach.covers(self.truth.kinds, is_cpp=self.truth.is_cpp, device=self.recording.device)


@dataclass(frozen=True)
class Row:
    """One rule over all cases that it can see."""

    name: str
    outcomes: list[tuple[Case, Outcome]]
    seconds: float
    out_of_scope: int

    def count(self, verdict: str, *, is_leak: bool) -> int:
        return sum(case.is_leak == is_leak and outcome.verdict == verdict for case, outcome in self.outcomes)

    def among(self, *, is_leak: bool) -> int:
        return sum(case.is_leak == is_leak for case, _ in self.outcomes)

    def cells(self) -> list[str]:
        undecided = sum(outcome.verdict == UNDECIDED for _, outcome in self.outcomes)
        return [
            self.name,
            f"{self.count(LEAK, is_leak=True)} of {self.among(is_leak=True)}",
            f"{self.count(LEAK, is_leak=False)} of {self.among(is_leak=False)}",
            f"{undecided}",
            f"{statistics.median([outcome.steps for _, outcome in self.outcomes] or [0]):g}",
            f"{self.seconds:.1f}",
            f"{self.out_of_scope}",
        ]


def row_of(rule: Rule, cases: list[Case]) -> Row:
    seen = [(case, rule.judge(case.recording)) for case in cases if case.is_seen_by(rule)]
    seconds = sum(outcome.steps * case.recording.seconds_a_step for case, outcome in seen)
    return Row(rule.name, seen, seconds, len(cases) - len(seen))


def own_row(cases: list[Case], results: Path) -> Row:
    """What stepleak says of its own accord, at `standard`."""
    words = {"leak": LEAK, "clean": CLEAN}
    found = {result["target"]: result for result in json.loads(results.read_text(encoding="utf-8"))}
    judged = [(case, found[case.truth.name]) for case in cases if case.truth.name in found]
    outcomes = [(case, Outcome(words.get(r["verdict"], UNDECIDED), r["steps"])) for case, r in judged]
    return Row("**stepleak**", outcomes, sum(r["seconds"] for _, r in judged), 0)


def markdown(heads: list[str], rows: list[list[str]], align: Callable[[int], str]) -> str:
    lines = [heads, [align(column) for column in range(len(heads))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tables(rows: list[Row]) -> str:
    heads = ["rule", "leaks found", "false alarms", "undecided", "steps", "seconds", "out of scope"]
    scores = markdown(heads, [row.cells() for row in rows], lambda column: "---:" if column else "---")
    rules = [[rule.name, rule.reach.value, rule.words, rule.source] for rule in RULES]
    said = markdown(["rule", "reads", "says leak where", "source"], rules, lambda _: "---")
    return f"## Score\n\n{scores}\n\n## The rules\n\n{said}"


def details(rows: list[Row]) -> str:
    lines = []
    for row in rows:
        for case, outcome in row.outcomes:
            if outcome.verdict != case.truth.expected:
                lines.append(
                    f"{row.name:<24}{case.truth.name:<44}{case.truth.expected:<8}{outcome.verdict:<12}{outcome.steps}"
                )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorded", type=Path, required=True, metavar="TRACES.trace")
    parser.add_argument("--results", type=Path, required=True, metavar="RESULTS.json")
    parser.add_argument("--details", action="store_true", help="also each scenario that a rule gets wrong")
    arguments = parser.parse_args()
    truths = {truth.name: truth for truth in declared_truths(os.environ["STEPLEAK_CLI"])}
    cases = [
        Case(truths[r.name], r)
        for r in read_recordings(arguments.recorded)
        if r.name in truths and not truths[r.name].missing
    ]
    if not cases:
        parser.error(f"{arguments.recorded} holds no scenario: write it with stepleak run '*' --trace")
    rows = [own_row(cases, arguments.results), *(row_of(rule, cases) for rule in RULES)]
    print(tables(rows))
    if arguments.details:
        print(f"\n{details(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
