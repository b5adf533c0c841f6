# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Counts the tests in JUnit files: prints "PASSED FAILED SKIPPED".

    python3 ci/count_tests.py FILE...

Meson writes one test case for each of its tests, and each GoogleTest case of a test declared with protocol 'gtest'.
A file that is missing or cut off counts as one failure: tests that left no result have not passed.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree


def outcome_of(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    # GoogleTest marks a disabled test by its status only.
    is_skipped = case.find("skipped") is not None or case.get("status") == "notrun"
    return "skipped" if is_skipped else "passed"


def main() -> int:
    count = {"passed": 0, "failed": 0, "skipped": 0}
    for path in sys.argv[1:]:
        try:
            root = ElementTree.parse(path).getroot()
        except (OSError, ElementTree.ParseError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            count["failed"] += 1
            continue
        for case in root.iter("testcase"):
            count[outcome_of(case)] += 1
    print(count["passed"], count["failed"], count["skipped"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
