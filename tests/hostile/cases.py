# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The hostile attempts as data: one table a case, in cases/*.toml (cases/README.md says what a table may hold)."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
DATA = FOLDER.parent / "data/traces"


def tables(kind: str) -> list[dict[str, Any]]:
    """All cases of this kind, each with what its file says for all of them."""
    found = []
    for file in sorted((FOLDER / "cases").glob("*.toml")):
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        if content["kind"] != kind:
            continue
        common = content.get("common", {})
        for case in content["case"]:
            found.append({**common, **case, "file": file.stem, "batches": content.get("batch", {})})
    return found


def marks_of(case: dict[str, Any]) -> list[pytest.MarkDecorator]:
    of_batch = case["batches"].get(case.get("of"), {})
    marks = {"slow": case.get("slow"), "daily": case.get("daily") or of_batch.get("daily")}
    return [getattr(pytest.mark, name) for name, is_set in marks.items() if is_set]


def parameters(kind: str) -> list[Any]:
    """The cases as pytest takes them: FILE.NAME or FILE.BATCH.NAME, and the marks of those beyond CI's share and of
    those of each day."""
    cases = tables(kind)
    names = [".".join([case["file"], *([case["of"]] if "of" in case else []), case["name"]]) for case in cases]
    assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
    return [pytest.param(case, id=name, marks=marks_of(case)) for name, case in zip(names, cases, strict=True)]


def missing_parts(case: dict[str, Any], key: str, text: str) -> list[str]:
    """Those of the parts that the case wants in the text and that are not there."""
    wanted = case.get(key, [])
    assert isinstance(wanted, list), f"{key} is a list of texts"
    return [part for part in wanted if part not in text]
