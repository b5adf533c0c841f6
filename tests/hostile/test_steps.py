# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Hostile targets: many in one call of the command line, since a call's start costs more than a target."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import FOLDER, marks_of, missing_parts, parameters, tables
from sandbox import End, Sandbox
from validators import check_outputs, check_terminal


class Batch:
    """One run of all cases with this name of a batch, and what each came to."""

    def __init__(self, folder: Path, name: str, cases: list[dict[str, Any]], stepleak: list[str]) -> None:
        self.sandbox = Sandbox(folder)
        settings = cases[0]["batches"][name]
        self.file = settings["file"]
        for file in (self.file, "stepping.py"):
            self.sandbox.write(file, (FOLDER / "targets" / file).read_bytes())
        self.sandbox.remember()
        targets = [f"{self.file}:{case.get('target', case['name'])}" for case in cases]
        outputs = ["--json", "r.json", "--junit", "r.xml", "--trace", "r.trace"]
        outputs += ["--sarif", "r.sarif", "--code-quality", "r.quality.json"]
        self.end: End = self.sandbox.call(
            [*stepleak, "run", *targets, *outputs, *settings.get("arguments", [])], settings.get("env", {}), 300
        )
        self.results: dict[str, dict[str, Any]] = {}
        if (self.sandbox.folder / "r.json").exists():
            data = json.loads((self.sandbox.folder / "r.json").read_text(encoding="utf-8"))
            for result in data if isinstance(data, list) else [data]:
                self.results[result["target"].partition(":")[2]] = result
        self.code = settings["code"]
        self.leaves = settings.get("leaves", [])


class Batches:
    def __init__(self, factory: pytest.TempPathFactory, stepleak: list[str], cases: list[dict[str, Any]]) -> None:
        self._factory = factory
        self._stepleak = stepleak
        self._cases = cases
        self._done: dict[str, Batch] = {}

    def __call__(self, case: dict[str, Any]) -> Batch:
        name = case["of"]
        if name not in self._done:
            mates = [mate for mate in self._cases if mate["of"] == name and mate["file"] == case["file"]]
            self._done[name] = Batch(self._factory.mktemp("batch"), name, mates, self._stepleak)
        return self._done[name]


def selected_cases(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    parameters = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    return [given["case"] for given in parameters if "of" in given.get("case", {})]


@pytest.fixture(scope="session")
def batches(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, stepleak: list[str]
) -> Iterator[Batches]:
    """Of what this session selects: a slow batch runs where it is asked for."""
    selected = selected_cases(request)
    yield Batches(tmp_path_factory, stepleak, selected)


@pytest.mark.parametrize("case", parameters("steps"))
def test_target(case: dict[str, Any], batches: Batches) -> None:
    batch = batches(case)
    name = case.get("target", case["name"])
    assert name in batch.results, f"no result of {name}; {batch.end.text[-3000:]}"
    result = batch.results[name]
    failure = json.dumps(result.get("failure", {}), ensure_ascii=False)
    told = failure[:3000]
    assert result["verdict"] == case["verdict"], f"{result['reason']} {told}"
    for key in ("what", "remedy", "output_tail"):
        assert missing_parts(case, key, result.get("failure", {}).get(key, "")) == [], told
    kinds = [finding["kind"] for finding in result["findings"]]
    assert set(case.get("kinds", kinds)) <= set(kinds), kinds
    if "holder" in case:
        assert any(case["holder"] in finding["holder"] for finding in result["findings"]), result["findings"]
    assert missing_parts(case, "notes", "\n".join(result["notes"])) == []
    assert result["steps"] == case.get("steps", result["steps"])
    # A message of megabytes is cut, and says so.
    assert len(failure) < 64 << 10


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=marks_of({**case, "slow": False}))
        for name, case in sorted({case["of"]: case for case in tables("steps")}.items())
    ],
)
def test_batch_as_a_whole(name: str, batches: Batches, request: pytest.FixtureRequest) -> None:
    mates = [case for case in selected_cases(request) if case["of"] == name]
    if not mates:
        pytest.skip("none of it was selected")
    batch = batches(mates[0])
    assert batch.end.code == batch.code, batch.end.text[-3000:]
    check_terminal("stdout", batch.end.out)
    check_terminal("stderr", batch.end.err)
    outputs = ["r.json", "r.xml", "r.trace", "r.sarif", "r.quality.json"]
    check_outputs(batch.sandbox.folder, outputs)
    assert len(batch.end.out) < 1 << 20, "the output is not bounded"
    names = list(outputs)
    for pattern in batch.leaves:
        found = [file.name for file in batch.sandbox.folder.glob(pattern)]
        assert found, f"{pattern} is gone, and was the user's"
        names += found
    for shared in batch.sandbox.folder.glob("shared_name*.txt"):
        assert not Path("/dev/shm", shared.read_text()).exists(), "shared memory is left"
        names.append(shared.name)
    batch.sandbox.check_nothing_left(names)
