# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/compatibility.md: a row for each release of torch that was built and tested.

    python3 ci/torch/compatibility.py versions TABLE.md       the releases in it, one a line
    PYTHON ci/torch/compatibility.py add TABLE.md BUILD_DIR   writes the row of PYTHON's torch

`add` reads what `meson test` left in BUILD_DIR: its JUnit file, and the results of the scenarios. A row of the same
release is replaced. What could not be read is a dash: nothing was shown. Used by ci/torch-versions.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "ci" / "torch"), str(ROOT / "ci"), str(ROOT / "tests" / "scenarios")]

NOT_SHOWN = "-"
LACKS = {
    "STEPLEAK_SNAPSHOT_WITHOUT_TRACES": "a history that you record is copied at each look at a GPU's allocator",
    "STEPLEAK_CUPTI_NAMES_SUBSCRIBERS": "who else holds CUPTI's subscription is not named",
}
"""What a user misses where a check of harness/probes/torch/compat fails; the others have an equal adapter."""

ROW = re.compile(r"^\| (\d+\.\d+\.\d+)[ +|]")


def version_of(row: str) -> tuple[int, ...]:
    found = ROW.match(row)
    return tuple(map(int, found[1].split("."))) if found else ()


def rows_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if ROW.match(line)]


def with_row(text: str, row: str) -> str:
    """The text with the row in the order of releases, in the place of an older one of the same release."""
    lines = text.splitlines()
    rows = [index for index, line in enumerate(lines) if ROW.match(line)]
    start = rows[0] if rows else next(i for i, line in enumerate(lines) if line.startswith("| ---")) + 1
    kept = [lines[index] for index in rows if version_of(lines[index]) != version_of(row)]
    lines[start : start + len(rows)] = sorted([*kept, row], key=version_of)
    return "\n".join(lines) + "\n"


def tests_of(build: Path) -> str:
    log = build / "meson-logs" / "testlog.junit.xml"
    if not log.is_file():
        return NOT_SHOWN
    count = [sys.executable, str(ROOT / "ci" / "count_tests.py"), str(log)]
    counted = subprocess.run(count, capture_output=True, text=True, check=True).stdout.splitlines()
    passed, failed, _ = counted[0].split()
    return f"{passed} passed, {failed} failed"


def scenarios_of(build: Path) -> str:
    results = build / "tests" / "scenarios" / "scenarios.json"
    if not results.is_file():
        return NOT_SHOWN
    from score import scores_of
    from truth import declared_truths

    truths = declared_truths(str(build / "harness" / "cli" / "stepleak"))
    scores = scores_of(json.loads(results.read_text(encoding="utf-8")), truths)
    wrong = [f"`{score.truth.name}`" for score in scores if score.mark == "!!"]
    return f"{len(scores) - len(wrong)}/{len(scores)}" + (f"; wrong: {', '.join(wrong)}" if wrong else "")


def lacks_of(build: Path) -> str:
    features = (build / "harness/probes/torch/compat/features.hpp").read_text(encoding="utf-8")
    return "; ".join(text for name, text in LACKS.items() if f"#undef {name}" in features) or "nothing"


def add(table: Path, build: Path) -> None:
    import torch_facts

    folder = torch_facts.torch_folder()
    if folder is None:
        sys.exit(f"{sys.executable} has no torch")
    version, cuda = torch_facts.about(folder)
    cells = [
        version.split("+")[0],
        cuda or "none",
        platform.python_version(),
        datetime.date.today().isoformat(),
        "ok",
        tests_of(build),
        scenarios_of(build),
        lacks_of(build),
    ]
    row = f"| {' | '.join(cells)} |"
    table.write_text(with_row(table.read_text(encoding="utf-8"), row), encoding="utf-8")
    print(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("versions").add_argument("table", type=Path)
    adding = verbs.add_parser("add")
    adding.add_argument("table", type=Path)
    adding.add_argument("build", type=Path)
    arguments = parser.parse_args()
    if arguments.verb == "versions":
        for row in rows_of(arguments.table.read_text(encoding="utf-8")):
            print(".".join(map(str, version_of(row))))
    else:
        os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
        add(arguments.table, arguments.build.resolve())


if __name__ == "__main__":
    main()
