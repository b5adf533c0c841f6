# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Runs pytest on a folder, as one test of Meson's.

    python3 run_pytest.py [--needs MODULE]... PYTEST-ARGUMENT...

Exits with 77, which Meson takes for "skipped", where pytest or another needed module is missing. STEPLEAK_TEST_CASES
names a folder for a JUnit file of pytest's own cases, which the last line then names: ci/count_tests.py reads it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path


def main() -> int:
    arguments = sys.argv[1:]
    needed = ["pytest"]
    while arguments[:1] == ["--needs"]:
        needed.append(arguments[1])
        arguments = arguments[2:]
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: {sys.executable} has no {', '.join(missing)}; remedy: ci/setup")
        return 77
    import pytest

    cases = None
    # A test may run pytest too: its cases are none of ours.
    if folder := os.environ.pop("STEPLEAK_TEST_CASES", ""):
        cases = Path(folder).resolve() / f"{os.getpid()}.xml"
        arguments = [*arguments, f"--junitxml={cases}"]
    # No cache folders: a test run leaves the source tree as it was.
    sys.dont_write_bytecode = True
    status = int(pytest.main(["-q", "-p", "no:cacheprovider", "--durations=5", *arguments]))
    if cases:
        print(f"pytest's cases: {cases}")
    return status


if __name__ == "__main__":
    sys.exit(main())
