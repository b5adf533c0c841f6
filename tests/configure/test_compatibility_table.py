# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The table that ci/torch-versions writes: a row a release, in their order, and what a release lacks."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ci" / "torch"))
import compatibility

TABLE = """\
# Compatibility

| torch | scenarios |
| --- | --- |
| 2.8.0 | 1/2 |
| 2.11.0 | 2/2 |

Each row is real.
"""


def test_a_new_row_stands_in_the_order_of_releases() -> None:
    text = compatibility.with_row(TABLE, "| 2.9.1 | 2/2 |")
    assert compatibility.rows_of(text) == ["| 2.8.0 | 1/2 |", "| 2.9.1 | 2/2 |", "| 2.11.0 | 2/2 |"]
    assert text.endswith("| 2.11.0 | 2/2 |\n\nEach row is real.\n")


def test_a_row_of_the_same_release_is_replaced_and_no_other() -> None:
    text = compatibility.with_row(TABLE, "| 2.8.0 | 2/2 |")
    assert compatibility.rows_of(text) == ["| 2.8.0 | 2/2 |", "| 2.11.0 | 2/2 |"]
    assert len(compatibility.rows_of(compatibility.with_row(TABLE, "| 2.8.1 | 2/2 |"))) == 3


def test_the_first_row_of_an_empty_table() -> None:
    text = compatibility.with_row("| torch |\n| --- |\n\nMore.\n", "| 2.8.0 |")
    assert text == "| torch |\n| --- |\n| 2.8.0 |\n\nMore.\n"


def test_what_a_release_lacks_is_read_from_its_checks(tmp_path: Path) -> None:
    file = tmp_path / "harness/probes/torch/compat/features.hpp"
    file.parent.mkdir(parents=True)
    file.write_text("#define STEPLEAK_SNAPSHOT_WITHOUT_TRACES\n\n#undef STEPLEAK_CUPTI_NAMES_SUBSCRIBERS\n")
    assert compatibility.lacks_of(tmp_path) == "who else holds CUPTI's subscription is not named"
    file.write_text("#define STEPLEAK_SNAPSHOT_WITHOUT_TRACES\n\n#define STEPLEAK_CUPTI_NAMES_SUBSCRIBERS\n")
    assert compatibility.lacks_of(tmp_path) == "nothing"


def test_every_lack_is_of_a_check_that_is_made() -> None:
    checks = (compatibility.ROOT / "harness/probes/torch/compat/meson.build").read_text(encoding="utf-8")
    assert set(compatibility.LACKS) <= set(re.findall(r"'(STEPLEAK_\w+)':", checks))


def test_what_the_table_says_is_in_results_and_doctor_too() -> None:
    said = (compatibility.ROOT / "harness/probes/torch/compat/lacks.hpp").read_text(encoding="utf-8")
    assert set(compatibility.LACKS) == set(re.findall(r"^#ifndef (STEPLEAK_\w+)$", said, re.MULTILINE))


def test_what_was_not_run_is_a_dash(tmp_path: Path) -> None:
    assert compatibility.tests_of(tmp_path) == "-"
    assert compatibility.scenarios_of(tmp_path) == "-"
