# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The page for a browser: whole in one file, safe against what it shows, and drawn without an error."""

from __future__ import annotations

import json
import random
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
    assert outcome.code in (0, 1, 2), outcome.text
    return stepleak.folder / "page.html"


def runs_of(page: Path) -> list[dict[str, Any]]:
    """What the page's scripts read."""
    found = re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    runs: list[dict[str, Any]] = json.loads(found.group(1))
    return runs


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


def after(page: Path, script: str) -> str:
    """The page's document after a script that runs once all is drawn."""
    run = f"<script>addEventListener('load', () => library.then(() => setTimeout(() => {{ {script} }}, 100)));</script>"
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", run + "</body>"), encoding="utf-8")
    return drawn(page)


def page_of_a_run(stepleak: CommandLine) -> Path:
    source = "import torch\nkept = []\ndef step():\n    kept.append(torch.ones(64))  # <kept>\n"
    (stepleak.folder / "train.py").write_text(source, encoding="utf-8")
    outcome = stepleak("run", "train.py:step", "--device", "cpu", "--html", "page.html")
    assert outcome.code == 1 and "more    page.html" in outcome.out
    return stepleak.folder / "page.html"


def test_a_run_writes_a_page_that_holds_its_report_and_its_lines(stepleak: CommandLine) -> None:
    file = page_of_a_run(stepleak)
    runs = runs_of(file)
    assert runs[0]["report"].startswith("train.py:step leaks")
    assert [line for source in runs[0]["sources"] for line in source["lines"] if "<kept>" in line]
    assert runs[0]["ages"][0]["looks"] and runs[0]["survivors"] and runs[0]["looks"]
    assert [type_ for type_, _, _ in runs[0]["passes"]] == ["record"]
    containers = [what for _, what, is_container in runs[0]["findings"][0]["holder"] if is_container]
    assert len(containers) == 1 and containers[0].startswith("train.kept (list, len ")
    path, count, size, folded = runs[0]["held"][0]
    way = [runs[0]["objects"][number] for number in path]
    assert way == [["", "train.kept (list)", True], ["[]", "Tensor", False]]
    assert size == 256 * count and not folded
    assert not re.search(r'(?:src|href)="?(?:http|//)', file.read_text(encoding="utf-8").split("<script")[0])


def test_a_stored_result_has_all_pictures_of_its_run(stepleak: CommandLine) -> None:
    stepleak.write("train.py", "import torch\nkept = []\ndef step():\n    kept.append(torch.ones(64))\n")
    assert stepleak("run", "train.py:step", "--device", "cpu", "--html", "run.html", "--json", "run.json").code == 1
    assert stepleak("report", "run.json", "--html", "stored.html").code == 1
    of_run, stored = (runs_of(stepleak.folder / name)[0] for name in ("run.html", "stored.html"))
    for what in ("ages", "survivors", "held", "objects", "frames", "passes", "looks", "findings", "ledgers"):
        assert stored[what] == of_run[what], what


@needs_browser
def test_a_run_is_drawn(stepleak: CommandLine) -> None:
    document = drawn(page_of_a_run(stepleak))
    assert document.count("<svg") >= 4
    assert 'role="treeitem"' in document and "train.py:4 in step: " in document
    assert "What stayed, by holder" in document and "train.kept (list): " in document
    assert '<strong class="object root">train.kept (list, len ' in document
    assert '<span><i>3</i><span class="code-keyword">def</span> <span class="code-function">step</span>' in document
    assert "<mark><i>4</i>    <u>kept" in document
    assert '<span class="code-comment"># &lt;kept&gt;</span></u></mark>' in document
    lines = re.findall(r"<(?:span|mark)><i>\d</i>(.*?)</(?:span|mark)>(?=<span><i>|<mark><i>|</pre>)", document)
    assert [re.sub("<[^>]*>", "", line) for line in lines[:4]] == [
        "import torch",
        "kept = []",
        "def step():",
        "    kept.append(torch.ones(64))  # &lt;kept&gt;",
    ]


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
    run = runs_of(long)[0]
    assert run["reduced"] and sum(run["ledgers"][0]["steps"]) == 10_000
    assert page_of_a_suite(stepleak).stat().st_size < _LARGEST


def full_result(number: int) -> dict[str, Any]:
    """One with all that a run can have: noisy ledgers of many steps, looks, and survivors of many stacks."""
    draw = random.Random(number)
    result = stored_result(f"scenario_{number}", "leak", 300, 64)
    for name in ("resident_bytes", "mapped_bytes", "python_blocks", "live_bytes", "shared_bytes", "children_bytes"):
        result["series"][f"{name}@cpu"] = [draw.randrange(1 << 30) for _ in range(300)]
    alive = {"device": "cpu", "birth_steps": list(range(200)), "bytes": [draw.randrange(9999) for _ in range(200)]}
    result["looks"] = [{"step": step, "alive": [{**alive, "blocks": [1] * 200}]} for step in range(100, 300, 10)]
    frame = {"file": "", "function": "step_of_a_trainer", "text": "", "owner": "user"}
    result["survivors"] = {
        "frames": [{**frame, "file": f"/there/module_{number}_{i}.py", "line": i} for i in range(40)],
        "groups": [{"stack": [i, 38, 39], "op": "aten::add", "count": 3, "bytes": 1 << i} for i in range(20)],
    }
    root = {"by": "", "what": f"module_{number}.trainer (Trainer)", "is_container": False}
    lists = [{"by": f".history_{i}", "what": "list", "is_container": True} for i in range(20)]
    result["held"] = [{"path": [root, each], "count": 3, "bytes": 1 << i} for i, each in enumerate(lists)]
    return result


def test_two_hundred_full_runs_stay_small(stepleak: CommandLine) -> None:
    page = page_of(stepleak, [full_result(number) for number in range(200)])
    assert page.stat().st_size < _LARGEST
    run = runs_of(page)[0]
    assert len(run["ledgers"]) > 10 and len(run["survivors"]) >= 8 and len(run["held"]) >= 4 and run["ages"]
    assert min(len(ledger["steps"]) for ledger in run["ledgers"]) >= 4


@needs_browser
def test_a_browser_that_cannot_unpack_the_pictures_shows_the_rest(stepleak: CommandLine) -> None:
    page = page_of(stepleak, [stored_result("loop", "leak", 40, 64)])
    text = page.read_text(encoding="utf-8")
    page.write_text(
        text.replace("<style>", "<script>delete window.DecompressionStream</script><style>", 1), encoding="utf-8"
    )
    document = drawn(page)
    assert "This browser cannot unpack the pictures" in document and "<svg" not in document
    assert "loop leaks" in document and "train.kept (list) [0]" in document


@needs_browser
def test_a_ledger_is_zoomed_by_keys(stepleak: CommandLine) -> None:
    page = page_of(stepleak, [stored_result("loop", "leak", 40, 64)])
    document = after(
        page,
        """
        const box = document.querySelector('.chart[tabindex]');
        box.drawNow();
        for (const key of ['+', '+', 'ArrowRight'])
          box.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
        """,
    )
    assert re.search(r"steps 18 to 28 of 40: [^<]* to ", document)


@needs_browser
def test_the_stacks_are_walked_by_keys_and_read_aloud(stepleak: CommandLine) -> None:
    document = after(
        page_of_a_run(stepleak),
        """
        const said = [];
        const press = (key) => {
          document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
          const { ariaLabel, ariaLevel } = document.activeElement;
          said.push(ariaLabel + ' at level ' + ariaLevel);
        };
        document.querySelector('[role=treeitem][tabindex="0"]').focus();
        press('ArrowDown');
        document.activeElement.click();  // as Enter does with a button
        press('ArrowUp');
        press('Escape');
        document.body.dataset.said = said.join(' | ');
        """,
    )
    said = re.search(r'data-said="([^"]*)"', document)
    assert said is not None
    down, up, back = said.group(1).split(" | ")
    assert re.fullmatch(r"train\.py:4 in step: \d+ alive, [^,]* [KM]?i?B(, made by .*)? at level 2", down)
    assert up.startswith("the recorded steps: ") and up.endswith(" at level 1")
    assert back == up


@needs_browser
def test_no_line_of_the_report_runs_out_of_its_box(stepleak: CommandLine) -> None:
    document = after(
        page_of_a_run(stepleak),
        """
        const [box] = document.getElementsByClassName('report');
        const tallest = Math.max(...[...box.children].map((line) => line.getClientRects()[0].height));
        document.body.dataset.box = [box.scrollWidth <= box.clientWidth, tallest > 1.5 * box.children[0].clientHeight];
        """,
    )
    assert 'data-box="true,true"' in document, "and its longest one goes on below"


@needs_browser
def test_a_long_path_in_a_reason_leaves_room_for_the_other_columns(stepleak: CommandLine) -> None:
    result = stored_result("waits", "inconclusive", 40, 0)
    result["reason"] = f"it is bounded by /{'a_folder_of_a_project/' * 8}train.py:4"
    page = page_of(stepleak, [result, stored_result("loop", "leak", 40, 64)])
    assert 'data-fits="true"' in after(
        page,
        """
        const [box] = document.getElementsByClassName('wide');
        document.body.dataset.fits = box.scrollWidth <= box.clientWidth;
        """,
    )


@needs_browser
def test_the_table_of_a_suite_is_drawn_with_what_is_red_first(stepleak: CommandLine) -> None:
    document = drawn(page_of_a_suite(stepleak))
    assert "200 of 200 shown" in document and "40 leak, 160 clean" in document
    assert document.index(">scenario_0<") < document.index(">scenario_1<")


def test_a_wrong_entry_of_a_list_costs_no_other_of_it(stepleak: CommandLine) -> None:
    good = [stored_result(name, "clean", 64, 0) for name in ("first", "third")]
    stepleak.write("list.json", json.dumps([good[0], {"schema": 1}, good[1]]))
    outcome = stepleak("report", "list.json", "--json", "again.json")
    assert outcome.code == 3, outcome.text
    assert "result 2 of list.json: not a stepleak result" in outcome.err
    assert "first is clean" in outcome.out and "third is clean" in outcome.out
    assert set(stepleak.results("again.json")) == {"first", "third"}


def test_a_file_that_is_no_result_is_told_by_name(stepleak: CommandLine) -> None:
    (stepleak.folder / "notes.json").write_text("what I saw", encoding="utf-8")
    outcome = stepleak("report", "notes.json", "--html", "page.html")
    assert outcome.code == 3 and "notes.json: not a stepleak result" in outcome.err
    assert not (stepleak.folder / "page.html").exists()
