# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Drawn known leaks and settings: read or refused in words, and what is added to a file can be read again."""

from __future__ import annotations

import importlib.util
import json
import random
import sys
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest
from draws import result, text, toml, word
from validators import CONTROL

PACKAGE = Path(__file__).parents[2] / "harness/python/stepleak"
DRAWS = [pytest.param(500, id="500"), pytest.param(20000, id="20000", marks=pytest.mark.slow)]


def module(name: str) -> ModuleType:
    """As the command line runs it, without the package around it, which imports torch."""
    spec = importlib.util.spec_from_file_location(name, PACKAGE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


known = module("_known")
settings = module("_settings")


@pytest.mark.parametrize("count", DRAWS)
def test_known_leaks(count: int, tmp_path: Path) -> None:
    headers = ["[[known]]", "[[known]]", "[[known]]", "[known]", "[other]", ""]
    read = 0
    for number in range(count):
        draw = random.Random(number)
        file = tmp_path / "known.toml"
        keys = ["reason", "fingerprint"] if draw.random() < 0.5 else list(known._KEYS)
        file.write_bytes(toml(draw, headers, keys))
        results = [result(draw) for _ in range(draw.randrange(3))]
        try:
            answer = known.apply(file, results, date(2027, 1, 1))
        except known.KnownError as wrong:
            assert all(isinstance(part, str) and part for part in wrong.args), number
            continue
        read += 1
        assert len(answer["known"]) == len(results), number
        json.dumps(answer)
    assert read > count // 20, "hardly any could be read: nothing was tried"


@pytest.mark.parametrize("count", DRAWS)
def test_what_is_added_can_be_read_again(count: int, tmp_path: Path) -> None:
    added = 0
    for number in range(count):
        draw = random.Random(number)
        file = tmp_path / "known.toml"
        before = b"" if draw.random() < 0.5 else toml(draw, ["[[known]]"], ["reason", "fingerprint"])
        file.write_bytes(before)
        results = [result(draw) for _ in range(draw.randrange(3))]
        try:
            expires = draw.choice(["", "2027-01-31", word(draw)])
            content = known.add(file, results, date(2027, 1, 1), text(draw), text(draw), expires)["text"]
        except known.KnownError:
            assert file.read_bytes() == before, number
            continue
        added += 1
        assert content.encode("utf-8").startswith(before), number
        assert CONTROL.search(content[len(before.decode("utf-8")) :].replace("\r\n", "\n")) is None, number
        file.write_bytes(content.encode("utf-8"))
        for each in results:
            each["verdict"] = "leak"
            each["findings"] = [finding for finding in each["findings"] if finding["fingerprint"]]
        answer = known.apply(file, results, date(2027, 1, 1))
        assert answer["known"] == [bool(each["findings"]) for each in results], number
    assert added > count // 20, "hardly any could be added to: nothing was tried"


@pytest.mark.parametrize("count", DRAWS)
def test_settings(count: int, tmp_path: Path) -> None:
    headers = ["[tool.stepleak]", "[tool.stepleak]", "[tool]", "[[tool.stepleak]]", "[project]"]
    read = 0
    for number in range(count):
        draw = random.Random(number)
        file = tmp_path / "pyproject.toml"
        file.write_bytes(toml(draw, headers, ["scenarios", "baselines"]))
        try:
            found = settings.settings_of(file)
        except settings.SettingsError as wrong:
            assert all(isinstance(part, str) and part for part in wrong.args), number
            continue
        read += 1
        assert all(isinstance(part, str) for part in found.values()), number
    assert read > count // 20, "hardly any could be read: nothing was tried"
