# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Checks who includes whom: includes go strictly downwards, neighbours never include each other.

    python3 ci/check_layers.py [ROOT]       every C++ source below ROOT (default: this repository)
    python3 ci/check_layers.py --self-test  the checks themselves, each with a near miss that must pass

Prints one "FILE:LINE: rule" and its remedy for each wrong include. Exit status 1 where there is one.
"""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

# A folder may include itself and any folder of a lower level. The one between: the back ends' common headers
# (harness/probes/*.hpp) stand below the back ends (harness/probes/torch/...), which do not see each other; only CUDA's
# stands on torch's, whose allocator it watches.
LEVELS = {
    "harness/base": 0.0,
    "harness/trace": 1.0,
    "harness/probes": 2.0,
    "harness/probes/host": 2.5,
    "harness/probes/python": 2.5,
    "harness/probes/torch": 2.5,
    "harness/probes/cuda": 2.6,
    "harness/analyse": 3.0,
    "harness/observe": 3.0,
    "harness/report": 3.0,
    "harness/scenario": 3.0,
    "harness/sources": 3.0,
    "harness/explain": 4.0,
    "harness/gate": 4.0,
    "harness/session": 5.0,
    "harness/drive": 6.0,
    "detectors": 6.0,
    "scenarios": 6.0,
    "harness/api": 7.0,
    "harness/cli": 8.0,
    "harness/gtest": 8.0,
    "harness/python": 8.0,
}

# These see less than their level would let them: content knows its seam only, reports are handed values.
ONLY = {
    "detectors": {"harness/base", "harness/trace", "harness/analyse"},
    "scenarios": {"harness/base", "harness/trace", "harness/scenario"},
    "harness/analyse": {"harness/base", "harness/trace"},
    "harness/report": {"harness/base", "harness/trace"},
}

# Users write "stepleak/gtest.hpp"; the folders that hold such headers are include paths of their own.
ALIASES = {"stepleak/gtest": "harness/gtest/stepleak/gtest", "stepleak/stepleak": "harness/api/stepleak/stepleak"}

# Types of others stay in .cpp files, and in the headers of the folder that wraps them.
THIRD_PARTY = re.compile(
    r"(nlohmann|c10|ATen|torch|pybind11|CLI)/|Python\.h$|(cuda|cupti|nvml|pugixml)[\w.]*$|(gtest|gmock)/"
)
THIRD_PARTY_IN = {
    # How results and stored runs write the same values, for that folder's own sources.
    "harness/trace": re.compile(r"nlohmann/"),
    "harness/probes/cuda": re.compile(r"cuda|cupti|nvml|c10/|ATen/|torch/"),
    "harness/probes/python": re.compile(r"pybind11/|Python\.h|c10/|ATen/|torch/"),
    "harness/probes/torch": re.compile(r"c10/|ATen/|torch/|cuda"),
    "harness/gtest": re.compile(r"(gtest|gmock)/"),
}
# Headers under these are checked; scenarios exercise an SDK and may show it.
GUARDED_HEADERS = ("harness/", "detectors/")

CHECKED_FOLDERS = ("harness", "detectors", "scenarios")
SOURCE_SUFFIXES = {".hpp", ".cpp", ".cu", ".cuh", ".h", ".hxx", ".cc"}
HEADER_SUFFIXES = {".hpp", ".cuh", ".h", ".hxx"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class Wrong(NamedTuple):
    file: str
    line: int
    rule: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}\n    remedy: {self.remedy}"


@dataclass(frozen=True)
class Include:
    """One include line: where it stands, and what it names as a path from the root."""

    file: str
    line: int
    target: str
    is_quoted: bool


def unit_of(path: str) -> str | None:
    """The longest folder of the table that holds the path."""
    folders = [folder for folder in LEVELS if path.startswith(folder + "/")]
    return max(folders, key=len, default=None)


def detector_of(path: str) -> str | None:
    """The folder of one detector; none for what all detectors share (detectors/*.hpp)."""
    parts = path.split("/")
    return parts[1] if parts[0] == "detectors" and len(parts) > 2 else None


def check_folders(include: Include) -> tuple[str, str] | None:
    """The rule that an include of our own breaks and its remedy, if it breaks one."""
    if include.target.startswith("tests/"):
        return "only tests include tests", "move what is shared into the layer that owns it"
    source, target = unit_of(include.file), unit_of(include.target)
    if source is None or target is None:
        unknown = include.file if source is None else include.target
        return f"{unknown} is in no known folder", "add the folder to LEVELS in ci/check_layers.py, or move the file"
    if source == target:
        both = detector_of(include.file), detector_of(include.target)
        if all(both) and both[0] != both[1]:
            return f"detector {both[0]} includes detector {both[1]}", "move what both need into detectors/"
        return None
    if source in ONLY and target not in ONLY[source]:
        allowed = ", ".join(sorted(ONLY[source]))
        return f"{source} includes {target}, but sees only {allowed}", "hand the value in, or move the code up"
    if LEVELS[target] >= LEVELS[source]:
        relation = "its neighbour" if LEVELS[target] == LEVELS[source] else "a higher layer,"
        return (
            f"{source} (level {LEVELS[source]:g}) includes {relation} {target} (level {LEVELS[target]:g})",
            "pass what is needed in from above (session/ injects the parts), or move the type into a lower layer",
        )
    return None


def check_third_party(include: Include) -> tuple[str, str] | None:
    if not include.file.startswith(GUARDED_HEADERS) or Path(include.file).suffix not in HEADER_SUFFIXES:
        return None
    if not THIRD_PARTY.match(include.target):
        return None
    allowed = THIRD_PARTY_IN.get(unit_of(include.file) or "")
    if allowed is not None and allowed.match(include.target):
        return None
    return (
        f"the header includes third-party <{include.target}>",
        "include it in the .cpp, and forward-declare or hide its types in the header",
    )


def includes_of(root: Path, path: Path) -> list[Include]:
    file = path.relative_to(root).as_posix()
    includes = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = INCLUDE.match(text)
        if match is None:
            continue
        target = match[2]
        for alias, folder in ALIASES.items():
            target = folder + target.removeprefix(alias) if target.startswith(alias) else target
        includes.append(Include(file, number, target, match[1] == '"'))
    return includes


def check_include(root: Path, include: Include) -> Wrong | None:
    is_ours = include.target.startswith((*[folder + "/" for folder in CHECKED_FOLDERS], "tests/"))
    broken = check_folders(include) if is_ours else check_third_party(include)
    if not is_ours and include.is_quoted and (root / include.file).parent.joinpath(include.target).exists():
        full = (Path(include.file).parent / include.target).as_posix()
        broken = f'"{include.target}" is relative', f'include by the full path from the root: "{full}"'
    return Wrong(include.file, include.line, *broken) if broken else None


def check_tree(root: Path) -> list[Wrong]:
    paths = (path for folder in CHECKED_FOLDERS for path in sorted((root / folder).rglob("*")))
    sources = (path for path in paths if path.suffix in SOURCE_SUFFIXES and path.is_file())
    checked = (check_include(root, include) for path in sources for include in includes_of(root, path))
    return [wrong for wrong in checked if wrong is not None]


# --- self-test --------------------------------------------------------------------------------------------------------

# File, its one include, and the words of the rule it breaks; None: a near miss that must pass.
CASES = [
    ("harness/trace/a.hpp", '"harness/analyse/b.hpp"', "a higher layer"),
    ("harness/analyse/a.hpp", '"harness/trace/b.hpp"', None),
    ("harness/analyse/a.cpp", '"harness/observe/b.hpp"', "sees only"),
    ("harness/analyse/a.cpp", '"harness/analyse/b.hpp"', None),
    ("harness/analyse/a.cpp", '"harness/probes/b.hpp"', "sees only"),
    ("harness/gate/a.cpp", '"harness/explain/b.hpp"', "its neighbour"),
    ("harness/gate/a.cpp", '"harness/analyse/b.hpp"', None),
    ("harness/probes/torch/a.cpp", '"harness/probes/host/b.hpp"', "its neighbour"),
    ("harness/probes/torch/a.cpp", '"harness/probes/b.hpp"', None),
    ("harness/probes/a.hpp", '"harness/probes/torch/b.hpp"', "a higher layer"),
    ("harness/report/a.cpp", '"harness/probes/b.hpp"', "sees only"),
    ("harness/report/a.cpp", '"harness/trace/b.hpp"', None),
    ("detectors/growth/a.cpp", '"harness/session/b.hpp"', "sees only"),
    ("detectors/growth/a.cpp", '"harness/analyse/b.hpp"', None),
    ("detectors/growth/a.cpp", '"detectors/cycle/b.hpp"', "includes detector cycle"),
    ("detectors/growth/a.cpp", '"detectors/windows.hpp"', None),
    ("detectors/all.cpp", '"detectors/cycle/b.hpp"', None),
    ("scenarios/cpp/a.cpp", '"detectors/growth/b.hpp"', "sees only"),
    ("scenarios/cpp/a.cpp", '"harness/scenario/b.hpp"', None),
    ("harness/drive/a.cpp", '"detectors/all.hpp"', "its neighbour"),
    ("harness/drive/a.cpp", '"harness/session/b.hpp"', None),
    ("harness/session/a.cpp", '"harness/drive/b.hpp"', "a higher layer"),
    ("harness/cli/a.cpp", '"detectors/all.hpp"', None),
    ("harness/cli/a.cpp", '"stepleak/gtest.hpp"', "its neighbour"),
    ("harness/gtest/stepleak/a.hpp", '"stepleak/gtest.hpp"', None),
    ("harness/gtest/a.cpp", '"tests/support/b.hpp"', "only tests"),
    ("harness/new/a.hpp", '"harness/base/b.hpp"', "no known folder"),
    ("harness/base/a.hpp", "<nlohmann/json.hpp>", "third-party"),
    ("harness/base/a.cpp", "<nlohmann/json.hpp>", None),
    ("harness/trace/a.hpp", "<nlohmann/json.hpp>", None),
    ("harness/observe/a.hpp", "<Python.h>", "third-party"),
    ("harness/probes/python/a.hpp", "<Python.h>", None),
    ("harness/probes/host/a.hpp", "<ATen/core/Tensor.h>", "third-party"),
    ("harness/probes/torch/a.hpp", "<ATen/core/Tensor.h>", None),
    ("harness/analyse/a.hpp", "<gtest/gtest.h>", "third-party"),
    ("harness/gtest/stepleak/a.hpp", "<gtest/gtest.h>", None),
    ("scenarios/cpp/a.hpp", "<torch/torch.h>", None),
    ("harness/base/a.hpp", "<fmt/format.h>", None),
    ("harness/base/a.cpp", '"a.cpp"', "is relative"),
    ("harness/base/a.cpp", '"generated.hpp"', None),
]


def self_test() -> int:
    failures = 0
    for file, included, expected in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, file)
            path.parent.mkdir(parents=True)
            path.write_text(f"#pragma once\n// #include <Python.h>\n#include {included}\n", encoding="utf-8")
            found = check_tree(Path(folder))
        is_right = (
            not found if expected is None else len(found) == 1 and expected in found[0].rule and found[0].line == 3
        )
        if not is_right:
            failures += 1
            print(f"self-test: {file} with {included}: expected {expected!r}, found {[str(wrong) for wrong in found]}")
    print(f"check_layers self-test: {len(CASES) - failures} passed, {failures} failed")
    return 1 if failures else 0


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    wrongs = check_tree(root)
    for wrong in wrongs:
        print(wrong)
    return 1 if wrongs else 0


if __name__ == "__main__":
    sys.exit(main())
