# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""stepleak.check and its kin, used wrongly: a snippet each, in a child of one process that has imported torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cases import FOLDER, missing_parts, parameters


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    snippets = {case.values[0]["name"]: case.values[0]["do"] for case in parameters("api")}
    done = subprocess.run(
        [sys.executable, FOLDER / "api_driver.py"],
        input=json.dumps(snippets),
        capture_output=True,
        text=True,
        cwd=tmp_path_factory.mktemp("api"),
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=20 * len(snippets),  # each ends by itself after a minute
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("case", parameters("api"))
def test_snippet(case: dict[str, Any], answers: dict[str, dict[str, Any]]) -> None:
    answer = answers[case["name"]]
    assert answer["ended"] == "exit 0", answer
    assert answer["raised"] == case.get("raises", ""), answer
    assert missing_parts(case, "says", answer["text"]) == [], answer


def test_no_file_is_left(answers: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    assert answers
    assert not list(Path(tmp_path_factory.getbasetemp()).glob("api*/*"))
