# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Counts the tests in JUnit files: prints "PASSED FAILED SKIPPED", and below it a line for each reason to skip.

    python3 ci/count_tests.py FILE...

Meson writes one test case for each of its tests, and each GoogleTest case of a test declared with protocol 'gtest'. A
test that runs pytest names the file of pytest's own cases (tests/cli/run_pytest.py): those count in its stead, as a run
of which half was skipped has passed as far as Meson can see.
A file that is missing or cut off counts as one failure: tests that left no result have not passed.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

MOST_NAMES = 3
"""That a reason lists: it is to stay one line."""

CASES_OF_PYTEST = re.compile(r"^pytest's cases: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    name: str
    outcome: str
    reason: str = ""
    """Why it was skipped, where that is known."""


def outcome_of(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    # GoogleTest marks a disabled test by its status only.
    is_skipped = case.find("skipped") is not None or case.get("status") == "notrun"
    return "skipped" if is_skipped else "passed"


def reason_of(case: ElementTree.Element) -> str:
    skipped = case.find("skipped")
    said = skipped.get("message", "") if skipped is not None else ""
    # Of a test of Meson's only what it printed is known.
    lines = (said or case.findtext("system-out") or "").strip().splitlines()
    return lines[-1].removeprefix("skipped: ") if lines else "no reason was given"


def own_case(case: ElementTree.Element) -> Case:
    outcome = outcome_of(case)
    place = case.get("classname", "").rpartition(".")[2]
    name = "::".join(filter(None, [place, case.get("name", "")]))
    return Case(name, outcome, reason_of(case) if outcome == "skipped" else "")


def cases_of_pytest(path: str, run: Case) -> list[Case]:
    """Those of a run. One that failed without a failing case (a crash, no tests at all) is a case itself."""
    try:
        cases = [own_case(case) for case in ElementTree.parse(path).getroot().iter("testcase")]
    except (OSError, ElementTree.ParseError):
        return [run]
    is_told = run.outcome != "failed" or any(case.outcome == "failed" for case in cases)
    return cases if cases and is_told else [*cases, run]


def cases_in(path: str) -> Iterator[Case]:
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        print(f"{path}: {error}", file=sys.stderr)
        yield Case(path, "failed")
        return
    for case in root.iter("testcase"):
        files = CASES_OF_PYTEST.findall(case.findtext("system-out") or "")
        if files:
            yield from cases_of_pytest(files[-1], own_case(case))
        else:
            yield own_case(case)


def skips(cases: list[Case]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for case in cases:
        if case.outcome == "skipped":
            by_reason.setdefault(case.reason, []).append(case.name)
    for reason, names in sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])):
        more = len(names) - MOST_NAMES
        yield f"{len(names)} x {reason}: {', '.join(names[:MOST_NAMES])}{f' and {more} more' if more > 0 else ''}"


def main() -> int:
    cases = [case for path in sys.argv[1:] for case in cases_in(path)]
    count = Counter(case.outcome for case in cases)
    print(count["passed"], count["failed"], count["skipped"])
    for line in skips(cases):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
