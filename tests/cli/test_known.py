# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Leaks that are let be: which ones are, which are not, and how long."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import CommandLine

_LEAK = """
    import torch
    kept = []
    def step(): kept.append(torch.ones(64))
    def clean(): torch.ones(64)
"""


@pytest.fixture(scope="module")
def leaked(shared_stepleak: CommandLine) -> tuple[CommandLine, dict[str, Any]]:
    shared_stepleak.write("train.py", _LEAK)
    outcome = shared_stepleak("run", "train.py:step", "--device", "cpu", "--json", "result.json")
    assert outcome.code == 1, outcome.text
    return shared_stepleak, shared_stepleak.results("result.json")["train.py:step"]


def report(stepleak: CommandLine, entry: str) -> tuple[int, str]:
    stepleak.write("known.toml", entry)
    outcome = stepleak("report", "result.json", "--known", "known.toml", "--junit", "known.xml")
    return outcome.code, outcome.err


def test_an_entry_that_was_added_lets_the_leak_be(leaked: tuple[CommandLine, dict[str, Any]]) -> None:
    stepleak, result = leaked
    added = stepleak(
        "known", "add", "result.json", "--reason", 'it "is" so', "--link", "https://x", "--expires", "2999-01-31"
    )
    assert added.code == 0, added.text
    assert result["findings"][0]["fingerprint"] in (stepleak.folder / "known-leaks.toml").read_text()
    outcome = stepleak("run", "train.py:step", "--device", "cpu", "--known", "known-leaks.toml", "--junit", "known.xml")
    assert outcome.code == 0, outcome.text
    assert 'train.py:step: known: it "is" so (https://x)' in outcome.err
    assert "train.py:step leaks" in outcome.out  # it is one all the same
    assert 'failures="0"' in (stepleak.folder / "known.xml").read_text()
    again = (stepleak.folder / "known-leaks.toml").read_text()
    same = stepleak(
        "known", "add", "result.json", "--reason", 'it "is" so', "--link", "https://x", "--expires", "2999-01-31"
    )
    assert same.code == 0, same.text
    other = stepleak("known", "add", "result.json", "--reason", "twice")
    assert (other.code, "already" in other.err, "until 2999-01-31" in other.err) == (64, True, True), other.text
    assert (stepleak.folder / "known-leaks.toml").read_text() == again


def test_an_entry_goes_to_the_standard_output_alone(leaked: tuple[CommandLine, dict[str, Any]]) -> None:
    stepleak, result = leaked
    printed = stepleak("known", "add", "result.json", "--reason", "so", "--known", "-")
    assert printed.code == 0, printed.text
    assert result["findings"][0]["fingerprint"] in printed.out
    assert "knows the leaks of result.json" in printed.err and "knows the leaks" not in printed.out
    stored = stepleak("known", "add", "result.json", "--reason", "so", "--known", "stored.toml")
    assert "knows the leaks of result.json" in stored.out and not stored.err


@pytest.mark.parametrize("wrong", [["--reason", " "], ["--reason", "so", "--expires", "2020-01-31"]])
def test_an_entry_that_would_fail_is_not_added(leaked: tuple[CommandLine, dict[str, Any]], wrong: list[str]) -> None:
    stepleak, _ = leaked
    outcome = stepleak("known", "add", "result.json", "--known", "wrong.toml", *wrong)
    assert outcome.code == 64, outcome.text
    assert not (stepleak.folder / "wrong.toml").exists()


def test_entries_of_several_processes_are_all_kept(leaked: tuple[CommandLine, dict[str, Any]]) -> None:
    stepleak, result = leaked
    fingerprints = [f"{number:016x}" for number in range(6)]
    for fingerprint in fingerprints:
        finding = {**result["findings"][0], "fingerprint": fingerprint}
        stepleak.write(f"{fingerprint}.json", json.dumps({**result, "findings": [finding]}))

    def add(fingerprint: str) -> int:
        return stepleak("known", "add", f"{fingerprint}.json", "--reason", "so", "--known", "many.toml").code

    with ThreadPoolExecutor(len(fingerprints)) as pool:
        assert set(pool.map(add, fingerprints)) == {0}
    text = (stepleak.folder / "many.toml").read_text()
    assert all(fingerprint in text for fingerprint in fingerprints)


_NESTED = """
    import torch
    def made():
        kept = []
        def step(): kept.append(torch.ones(64))
        return step
    one = made()
    def made_otherwise():
        kept = []
        def step(): kept.append(torch.zeros(32))
        return step
    two = made_otherwise()
"""


def test_an_entry_of_one_step_lets_no_other_be(stepleak: CommandLine) -> None:
    stepleak.write("nested[1].py", _NESTED)
    outcome = stepleak("run", "nested[1].py:one", "nested[1].py:two", "--device", "cpu", "--json", "both.json")
    assert outcome.code == 1, outcome.text
    one, two = stepleak.results("both.json").values()
    assert one["findings"][0]["fingerprint"] == two["findings"][0]["fingerprint"]
    for name, result in (("one.json", one), ("two.json", two)):
        # As from another machine.
        stepleak.write(name, json.dumps({**result, "target": f"/home/me.py/{result['target']}"}))
    assert stepleak("known", "add", "one.json", "--reason", "so").code == 0
    assert stepleak("report", "one.json", "--known", "known-leaks.toml").code == 0
    assert stepleak("run", "nested[1].py:one", "--device", "cpu", "--known", "known-leaks.toml").code == 0
    assert stepleak("report", "two.json", "--known", "known-leaks.toml").code == 1
    assert stepleak("known", "add", "both.json", "--reason", "so").code == 0
    assert (stepleak.folder / "known-leaks.toml").read_text().count("[[known]]") == 2
    assert stepleak("report", "both.json", "--known", "known-leaks.toml").code == 0


def test_a_finding_that_is_let_be_is_no_problem_beside_another(leaked: tuple[CommandLine, dict[str, Any]]) -> None:
    stepleak, result = leaked
    first = result["findings"][0]
    stepleak.write("two.json", json.dumps({**result, "findings": [first, {**first, "fingerprint": "0" * 16}]}))
    stepleak.write("one.toml", f'[[known]]\nreason = "so"\nfingerprint = "{first["fingerprint"]}"\n')
    outcome = stepleak("report", "two.json", "--known", "one.toml", "--sarif", "s.json", "--code-quality", "q.json")
    assert outcome.code == 1, outcome.text
    found = json.loads((stepleak.folder / "s.json").read_text())["runs"][0]["results"]
    assert [list(each["partialFingerprints"].values()) for each in found] == [["0" * 16]]
    assert len(json.loads((stepleak.folder / "q.json").read_text())) == 1


@pytest.mark.parametrize(
    "match", ['where = "train.py:step"', 'where = "*train.py:step"', 'holder = "*kept*"\nkind = "growth"']
)
def test_a_pattern_matches(leaked: tuple[CommandLine, dict[str, Any]], match: str) -> None:
    stepleak, result = leaked
    match = match.replace('"growth"', json.dumps(result["findings"][0]["kind"]))
    code, said = report(stepleak, f'[[known]]\n{match}\nreason = "so"\nversions = ["torch>=2.11", "torch<3"]\n')
    assert (code, "matches nothing" in said) == (0, False), said


@pytest.mark.parametrize(
    "entry",
    [
        'fingerprint = "0000000000000000"',
        'where = "rain.py:step"',
        'where = "*train.py:step"\nkind = "raw_cuda"',
        'where = "*train.py:step"\ntarget = "other.py:*"',
        'where = "*train.py:step"\nversions = "torch<2"',
        'where = "*train.py:step"\nversions = "nothing>1"',
    ],
)
def test_an_entry_that_does_not_match_is_reported(leaked: tuple[CommandLine, dict[str, Any]], entry: str) -> None:
    code, said = report(leaked[0], f'[[known]]\nreason = "so"\n{entry}\n')
    assert code == 1
    assert "an entry that matches nothing here" in said


def test_an_expired_entry_fails_even_where_all_is_clean(leaked: tuple[CommandLine, dict[str, Any]]) -> None:
    stepleak, _ = leaked
    entry = '[[known]]\nreason = "so"\nwhere = "*train.py:step"\nexpires = 2020-01-31\n'
    code, said = report(stepleak, entry)
    assert code == 1 and "has expired" in said
    assert stepleak("run", "train.py:clean", "--device", "cpu", "--known", "known.toml").code == 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("known = 3", "something else than entries"),
        ("[[known]]\nfingerprint = '1'", "has no reason"),
        ("[[known]]\nreason = 'so'\nkind = 'growth'", "would match too much"),
        ("[[known]]\nreason = 'so'\nwhen = 'now'", "unknown key 'when'"),
        ("[[known]]\nreason = 'so'\nwhere = 'x'\nexpires = 'soon'", "expires is no date"),
        ("[[known]]\nreason = 'so'\nwhere = 'x'\nversions = 'torch new'", "versions cannot be read"),
        ("[[known", "is no TOML"),
    ],
)
def test_a_wrong_file_is_wrong_use(leaked: tuple[CommandLine, dict[str, Any]], text: str, complaint: str) -> None:
    code, said = report(leaked[0], text)
    assert code == 64
    assert complaint in said and "remedy" in said


_SCENARIO = """
    import torch
    from stepleak.scenario import leak

    @leak(kind="growth", report="me/mine#1")
    def mine(device):
        '''Keeps a tensor of every step.'''
        kept = []

        def step():
            kept.append(torch.ones(64, device=device))

        return step
"""
_GATE = ["gate", "--scenarios", "mine", "--baselines", "none", "--device", "cpu", "--suite", "mine"]


def test_a_gate_lets_known_leaks_be_and_its_page_says_how_it_differs(stepleak: CommandLine) -> None:
    stepleak.write("mine/scenarios.py", _SCENARIO)
    stepleak.write("other.toml", '[[known]]\nreason = "so"\nholder = "*another*"\n')
    red = stepleak(*_GATE, "--known", "other.toml", "--html", "gate.html")
    assert red.code == 1, red.text
    assert "an entry that matches nothing here" in red.out
    page = (stepleak.folder / "gate.html").read_text(encoding="utf-8")
    run = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))[0]  # type: ignore[union-attr]
    assert (run["change"], run["differences"]) == ("new", ["has no baseline"])
    stepleak.write("known.toml", '[[known]]\nreason = "so"\nholder = "*kept*"\n')
    green = stepleak(*_GATE, "--known", "known.toml")
    assert green.code == 0, green.text
    assert "known   mine: known: so" in green.out


def test_a_watched_script_may_leak_what_is_known(stepleak: CommandLine) -> None:
    stepleak.write(
        "train.py",
        """
        import torch
        w = torch.zeros(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        curve = []
        for _ in range(70):
            loss = (w - 1).square().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            curve.append(loss)
        """,
    )
    stepleak.write("known.toml", '[[known]]\nreason = "so"\nholder = "*curve*"\n')
    known = stepleak("watch", "--exit-code", "--known", "known.toml", "train.py")
    assert known.code == 0, known.text
    assert "train.py: known: so" in known.err
    stepleak.write("known.toml", '[[known]]\nreason = "so"\nholder = "*another*"\n')
    assert stepleak("watch", "--exit-code", "--known", "known.toml", "train.py").code == 1


@pytest.mark.parametrize("verb", [_GATE, ["watch", "train.py"]], ids=["gate", "watch"])
def test_a_wrong_file_is_said_before_anything_runs(verb: list[str], stepleak: CommandLine) -> None:
    stepleak.write("mine/scenarios.py", "raise SystemExit('it ran')\n")
    stepleak.write("train.py", "print('it ran')\n")
    stepleak.write("known.toml", "[[known]]\n")
    outcome = stepleak(verb[0], "--known", "known.toml", *verb[1:])
    assert outcome.code == 64, outcome.text
    assert "it ran" not in outcome.text
