# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The page for a browser: whole in one file, safe against what it shows, and drawn without an error."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import CommandLine

_BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_LARGEST = 1_500_000
_HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"

needs_browser = pytest.mark.skipif(_BROWSER is None, reason="no Chromium is installed: apt-get install chromium")


def stored_result(target: str, verdict: str, steps: int, growth: int) -> dict[str, Any]:
    """A result as --json writes it, with ledgers that rise by `growth` a step."""
    names = ("live_bytes", "live_blocks", "live_nodes", "live_tensors", "peak_bytes", "python_objects", "heap_bytes")
    finding = {
        "kind": "growth",
        "device": "cpu",
        "bytes_per_step": float(growth),
        "count_per_step": 1.0,
        "counted": "blocks",
        "since_step": 2,
        "what": f"1 block {_HOSTILE} stays of every step",
        "where": [{"file": "no/such/train.py", "line": 3, "function": "step", "text": _HOSTILE, "owner": "user"}],
        "op": _HOSTILE,
        "holder": f"train.kept (list) [0] -> {_HOSTILE}",
        "holder_shape": "train.kept (list) []",
        "kept_by": "",
        "kept_expression": "",
        "kept_at": {"file": "", "line": 0, "text": "", "expression": ""},
        "structure": {"type": "unknown", "bound": -1, "file": "", "line": 0, "text": ""},
        "kept_count": 16,
        "explained_steps": 16,
        "fix": "",
        "fingerprint": "0123456789abcdef",
    }
    return {
        "schema": 1,
        "target": target,
        "device": "cpu",
        "verdict": verdict,
        "reason": "",
        "steps": steps,
        "seconds": 1.0,
        "limit": {"bytes_per_step": 1, "period_steps": 4},
        "findings": [finding] if verdict == "leak" else [],
        "losses": [{"device": "cpu", "bytes_per_step": float(growth), "full_after_steps": 0}] if growth else [],
        "notes": [_HOSTILE],
        "steady": {},
        "explained_from": -1,
        "explained_steps": 0,
        "explain_stride": 1,
        "series": {f"{name}@cpu": [1000 + growth * step + step % 3 for step in range(steps)] for name in names},
        "sampled": {},
        "conditions": {"torch": "2.11.0", "env": _HOSTILE},
    }


def page_of(stepleak: CommandLine, results: list[dict[str, Any]]) -> Path:
    (stepleak.folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    outcome = stepleak("report", "results.json", "--html", "page.html")
    assert outcome.code in (0, 1), outcome.text
    return stepleak.folder / "page.html"


def drawn(page: Path) -> str:
    """The page's document after its scripts have run in a browser, which said nothing on its console."""
    done = subprocess.run(
        [
            str(_BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
            "--virtual-time-budget=5000", "--window-size=1280,6000", "--dump-dom", page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr, done.stderr
    assert 'data-ready="yes"' in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def page_of_a_run(stepleak: CommandLine) -> Path:
    source = "import torch\nkept = []\ndef step():\n    kept.append(torch.ones(64))  # <kept>\n"
    (stepleak.folder / "train.py").write_text(source, encoding="utf-8")
    outcome = stepleak("run", "train.py:step", "--device", "cpu", "--html", "page.html")
    assert outcome.code == 1 and "more    page.html" in outcome.out
    return stepleak.folder / "page.html"


def test_a_run_writes_a_page_that_holds_its_report_and_its_lines(stepleak: CommandLine) -> None:
    page = page_of_a_run(stepleak).read_text(encoding="utf-8")
    runs = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))  # type: ignore[union-attr]
    assert runs[0]["report"].startswith("train.py:step leaks")
    assert [line for source in runs[0]["sources"] for line in source["lines"] if "<kept>" in line]
    assert runs[0]["ages"][0]["looks"] and runs[0]["survivors"] and runs[0]["looks"]
    assert [pass_["type"] for pass_ in runs[0]["passes"]] == ["screen", "record"]
    assert not re.search(r'(?:src|href)="?(?:http|//)', page.split("<script")[0])


@needs_browser
def test_a_run_is_drawn(stepleak: CommandLine) -> None:
    document = drawn(page_of_a_run(stepleak))
    assert document.count("<svg") >= 4
    assert "kept.append(torch.ones(64))  # &lt;kept&gt;" in document


def test_what_a_page_shows_is_no_script_in_it(stepleak: CommandLine) -> None:
    text = page_of(stepleak, [stored_result(_HOSTILE, "leak", 40, 64)]).read_text(encoding="utf-8")
    assert "<script>document.title" not in text and "<img src=x" not in text


@needs_browser
def test_what_a_page_shows_cannot_run(stepleak: CommandLine) -> None:
    document = drawn(page_of(stepleak, [stored_result(_HOSTILE, "leak", 40, 64)]))
    assert "<title>taken" not in document and not re.search(r"<img src=.?x", document)
    assert "&lt;/script&gt;&lt;script&gt;document.title" in document


def with_marks() -> dict[str, Any]:
    result = stored_result("loop", "leak", 40, 64)
    result["marks"] = [{"step": 10, "type": "epoch"}, {"step": 20, "type": "evaluation"}]
    return result


def test_epochs_are_handed_to_the_pictures(stepleak: CommandLine) -> None:
    page = page_of(stepleak, [with_marks()])
    assert '"marks":[[10,"epoch"],[20,"evaluation"]]' in page.read_text(encoding="utf-8")


@needs_browser
def test_epochs_stand_in_the_pictures(stepleak: CommandLine) -> None:
    document = drawn(page_of(stepleak, [with_marks()]))
    assert ">epoch</text>" in document and ">evaluation</text>" in document
    assert document.count("an epoch began") == 2  # in the script, and in the text
    assert drawn(page_of(stepleak, [stored_result("loop", "leak", 40, 64)])).count("an epoch began") == 1


def page_of_a_suite(stepleak: CommandLine) -> Path:
    results = [stored_result(f"scenario_{i}", "leak" if i % 5 == 0 else "clean", 64, i % 5 == 0) for i in range(200)]
    return page_of(stepleak, results)


def test_ten_thousand_steps_and_two_hundred_runs_stay_small(stepleak: CommandLine) -> None:
    long = page_of(stepleak, [stored_result("train.py:step", "leak", 10_000, 640)])
    assert long.stat().st_size < _LARGEST
    points = json.loads(re.search(r'id="data">(.*?)</script>', long.read_text(), re.DOTALL).group(1))  # type: ignore[union-attr]
    assert points[0]["reduced"] and points[0]["ledgers"][0]["points"][-1][0] == 10_000
    assert page_of_a_suite(stepleak).stat().st_size < _LARGEST


@needs_browser
def test_the_table_of_a_suite_is_drawn_with_what_is_red_first(stepleak: CommandLine) -> None:
    document = drawn(page_of_a_suite(stepleak))
    assert "200 of 200 shown" in document and "40 leak, 160 clean" in document
    assert document.index(">scenario_0<") < document.index(">scenario_1<")


def test_a_file_that_is_no_result_is_told_by_name(stepleak: CommandLine) -> None:
    (stepleak.folder / "notes.json").write_text("what I saw", encoding="utf-8")
    outcome = stepleak("report", "notes.json", "--html", "page.html")
    assert outcome.code == 3 and "notes.json: not a stepleak result" in outcome.err
    assert not (stepleak.folder / "page.html").exists()
