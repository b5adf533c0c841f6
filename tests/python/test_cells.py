# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Sources that no disk has: cells of a notebook, and modules of an archive. Each in a program of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import zipapp
from pathlib import Path
from typing import Any

import pytest
from stepleak import _source_text

NOTEBOOK = """
import json, linecache, sys
pattern, cells = json.loads(sys.argv[1])
for number, cell in enumerate(cells):
    file = pattern % number
    linecache.cache[file] = len(cell), None, cell.splitlines(True), file
    exec(compile(cell, file, "exec"), sys.modules["__main__"].__dict__)
"""

IPYTHON = "<ipython-input-%d-0a1b2c>"
PATTERNS = [IPYTHON, "/tmp/ipykernel_0/%d.py"]

MODEL = """
import torch, stepleak
from torch import nn
model = nn.Linear(16, 16)
losses_of_cells = []
"""
LEAKING = """
def train(x):
    loss = model(x).square().mean()
    losses_of_cells.append(loss)
"""
BOUNDED = (
    LEAKING
    + """
    if len(losses_of_cells) > 60:
        losses_of_cells.clear()
"""
)
LOOP = """
with stepleak.watch(device="cpu", on_leak=lambda _: None) as w:
    for _ in range(400):
        train(torch.randn(4, 16))
        if not w.step():
            break
print(stepleak_json(w.result.json))
"""


def judged(pattern: str, *cells: str) -> dict[str, Any]:
    """What a watch in the last of these cells came to."""
    told = json.dumps([pattern, ["from json import dumps as stepleak_json", *cells]])
    return result_of([sys.executable, "-c", NOTEBOOK, told])


def result_of(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_leak_of_a_cell_is_proven_and_told_as_one_of_a_file(pattern: str) -> None:
    result = judged(pattern, MODEL, LEAKING, LOOP)
    assert (result["verdict"], result["steps"]) == ("leak", 50)
    finding = result["findings"][0]
    innermost = finding["where"][0]
    assert (innermost["file"], innermost["line"], innermost["function"]) == (pattern % 2, 3, "train")
    assert innermost["text"] == "loss = model(x).square().mean()"
    assert finding["kept_by"] == f"{pattern % 2}:4  losses_of_cells.append(loss)"
    assert finding["fix"].endswith("losses_of_cells.append(loss.item())")


def test_what_another_cell_takes_out_bounds_it() -> None:
    tidying = "kept = losses_of_cells\ndef tidy():\n    if len(kept) > 60:\n        kept.clear()\n"
    loop = LOOP.replace("        if not", "        tidy()\n        if not")
    assert judged(IPYTHON, MODEL, LEAKING, tidying, loop)["verdict"] == "clean"


def test_a_cell_that_is_run_anew_replaces_its_functions() -> None:
    result = judged(IPYTHON, MODEL, BOUNDED, LEAKING, LOOP)
    assert (result["verdict"], result["steps"]) == ("leak", 50)
    assert result["findings"][0]["kept_by"].startswith(IPYTHON % 3)
    assert judged(IPYTHON, MODEL, LEAKING, BOUNDED, LOOP)["verdict"] == "clean"


def test_a_leak_in_a_module_of_an_archive_is_told_with_its_statement(tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "trained.py").write_text(MODEL + LEAKING)
    loop = "from json import dumps as stepleak_json\nimport torch, stepleak\nfrom trained import train\n" + LOOP
    (folder / "__main__.py").write_text(loop)
    zipapp.create_archive(folder, tmp_path / "program.pyz")
    result = result_of([sys.executable, str(tmp_path / "program.pyz")])
    assert (result["verdict"], result["steps"]) == ("leak", 50)
    finding = result["findings"][0]
    assert finding["where"][0]["text"] == "loss = model(x).square().mean()"
    assert finding["kept_by"].endswith("program.pyz/trained.py:9  losses_of_cells.append(loss)")


def test_what_a_library_generates_is_no_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    cache: dict[str, Any] = {
        "<attrs generated init x.Y>": (1, None, ["a\n"], "a"),
        "/nowhere/read_from_a_disk.py": (1, 1.0, ["b\n"], "b"),
        "/nowhere/not_read_yet.py": (lambda: "c",),
        __file__: (1, None, ["d\n"], __file__),
        IPYTHON % 1: (1, None, ["e\n"], IPYTHON % 1),
    }
    monkeypatch.setattr("linecache.cache", cache)
    assert dict(_source_text.cells()) == {IPYTHON % 1: "e\n"}
    assert _source_text.text_of("<attrs generated init x.Y>") is None
    assert _source_text.text_of("/nowhere/read_from_a_disk.py") == "b\n"
    assert _source_text.text_of("/nowhere/not_read_yet.py") is None
    assert _source_text.text_of(__file__) == Path(__file__).read_text(encoding="utf-8")
    assert _source_text.absent_lines(__file__.encode()) == []
    assert len(cache) == 5, "nothing is read into it"


def test_a_damaged_archive_has_no_text(tmp_path: Path) -> None:
    archive = tmp_path / "broken.pyz"
    archive.write_bytes(b"PK\3\4 and no more")
    assert _source_text.text_of(str(archive / "module.py")) is None
    assert _source_text.text_of(str(tmp_path / "missing" / "module.py")) is None
