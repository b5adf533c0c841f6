# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""`stepleak gate` and `stepleak baseline`: green, red with a leak put in, green again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from conftest import CommandLine, Outcome

# A scenario's hash is part of its baseline's key. The leak is switched from outside, so that the file stays the same.
SCENARIO = '''\
    """A scenario that can be made to leak, and one that can be made to stop."""

    import os

    import torch
    from stepleak.scenario import clean, leak


    def training(device, is_leaky):
        model = torch.nn.Linear(64, 64).to(device)
        losses, last = [], [None]

        def step():
            loss = model(torch.randn(4, 64, device=device)).square().mean()
            model.zero_grad()
            loss.backward()
            last[0] = loss
            if is_leaky:
                losses.append(loss)

        return step


    @clean(report="me/mine#1")
    def mine_clean(device):
        """Keeps the last loss; with the switch, all."""
        return training(device, os.environ.get("SWITCH") == "on")


    @leak(kind=("graph_retention", "attached_activation"), report="me/mine#2")
    def mine_leak(device):
        """Keeps all losses; with the switch, the last one."""
        return training(device, os.environ.get("SWITCH") != "on")
'''

ON = {"SWITCH": "on"}


class Suite:
    """A folder with scenarios and their baselines."""

    def __init__(self, stepleak: CommandLine) -> None:
        self.stepleak = stepleak
        self.scenarios = stepleak.write("mine/scenarios.py", SCENARIO)
        self.baselines = stepleak.folder / "baselines" / "cpu"

    def __call__(self, *verb: str, glob: str = "mine_*", switches: dict[str, str] | None = None) -> Outcome:
        folders = ["--scenarios", "mine", "--baselines", "baselines", "--device", "cpu"]
        return self.stepleak(*verb, "--suite", glob, *folders, switches=switches)

    def baseline(self, name: str) -> dict[str, Any]:
        data: dict[str, Any] = json.loads((self.baselines / f"{name}.json").read_text(encoding="utf-8"))
        return data


class Story:
    """What happened, in order: each test looks at one chapter."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self.without_baselines = suite("gate", glob="mine_clean")
        self.first_update = suite("baseline", "update")
        self.stored = {name: suite.baseline(name) for name in ("mine_clean", "mine_leak")}
        self.green = suite("gate", "--junit", "green.xml")
        files = ("--junit", "red.xml", "--sarif", "red.sarif", "--code-quality", "red.json")
        self.red = suite("gate", *files, switches={**ON, "GITHUB_ACTIONS": "true"})
        self.refused = suite("baseline", "update", switches=ON)
        self.stored_after_refusal = {name: suite.baseline(name) for name in ("mine_clean", "mine_leak")}
        self.green_again = suite("gate")
        # A leak put into the scenario's own text, as a change of the code would.
        text = suite.scenarios.read_text(encoding="utf-8")
        suite.scenarios.write_text(text.replace('os.environ.get("SWITCH") == "on"', "True"), encoding="utf-8")
        self.edited = suite("gate")
        suite.scenarios.write_text(text, encoding="utf-8")
        self.restored = suite("gate")


@pytest.fixture(scope="module")
def story(shared_stepleak: CommandLine) -> Story:
    return Story(Suite(shared_stepleak))


def junit_of(story: Story, name: str) -> ElementTree.Element:
    suite = ElementTree.parse(story.suite.stepleak.folder / name).getroot().find("testsuite")
    assert suite is not None
    return suite


def test_a_red_gate_leads_ci_systems_to_the_line(story: Story) -> None:
    folder = story.suite.stepleak.folder
    run = json.loads((folder / "red.sarif").read_text(encoding="utf-8"))["runs"][0]
    leaks = [result for result in run["results"] if result["properties"]["target"] == "mine_clean"]
    line = SCENARIO.splitlines().index("                losses.append(loss)") + 1
    (place,) = leaks[0]["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "mine/scenarios.py"
    assert place["physicalLocation"]["region"]["startLine"] == line
    # The other one is worse, too, since it leaks no more: there is no line to show.
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["descriptor"] == {"id": "unexpected"}
    issues = json.loads((folder / "red.json").read_text(encoding="utf-8"))
    assert [issue["location"]["path"] for issue in issues] == ["mine/scenarios.py"] * len(issues) != []
    assert f"::error file=mine/scenarios.py,line={line}," in story.red.err
    assert "::error" not in story.green.err


def test_leak_put_into_a_scenarios_file_turns_the_gate_red_until_it_is_restored(story: Story) -> None:
    assert story.edited.code == 1, story.edited.text
    assert "mine_clean: worse" in story.edited.out
    assert "leak, and the scenario says clean" in story.edited.out
    assert story.restored.code == 0, story.restored.text
    assert "2 same" in story.restored.out


def test_scenario_without_baseline_turns_the_gate_red(story: Story) -> None:
    assert story.without_baselines.code == 1
    assert "mine_clean: new" in story.without_baselines.out
    assert "has no baseline" in story.without_baselines.out
    assert "gate red: 1 scenarios · 1 new" in story.without_baselines.out


def test_update_stores_what_the_scenarios_do(story: Story) -> None:
    assert story.first_update.code == 0
    assert "mine_clean: new" in story.first_update.out
    assert str(story.suite.baselines.name) in story.first_update.out
    assert story.stored["mine_clean"]["verdict"] == "clean"
    assert story.stored["mine_clean"]["kinds"] == []
    assert story.stored["mine_leak"]["verdict"] == "leak"
    assert len(story.stored["mine_leak"]["kinds"]) == 1
    assert {"torch", "threads", "scenario hash"} <= set(story.stored["mine_clean"]["key"])


def test_gate_is_green_where_all_is_as_before(story: Story) -> None:
    assert story.green.code == 0
    assert "gate green: 2 scenarios · 2 same" in story.green.out
    suite = junit_of(story, "green.xml")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "0", "0")


def test_gate_prints_one_plain_line_a_scenario(story: Story) -> None:
    lines = [line.split() for line in story.green.out.splitlines() if line.startswith("  mine_")]
    assert sorted(line[:2] for line in lines) == [["mine_clean", "clean"], ["mine_leak", "leak"]]
    assert "\r" not in story.green.text
    assert "\x1b" not in story.green.text


def test_leak_put_in_turns_the_gate_red(story: Story) -> None:
    assert story.red.code == 1
    assert "mine_clean: worse" in story.red.out
    assert "it is leak, and the scenario says clean" in story.red.out
    assert "leak, was clean" in story.red.out
    assert "gate red: 2 scenarios · 2 worse" in story.red.out
    assert "stepleak baseline update" in story.red.out


def test_red_gate_shows_the_report(story: Story) -> None:
    assert "mine_clean leaks " in story.red.out
    assert "scenarios.py:" in story.red.out
    suite = junit_of(story, "red.xml")
    failed = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
    assert failed == ["mine_clean", "mine_leak"]


def test_leak_that_is_no_longer_found_is_worse(story: Story) -> None:
    assert "mine_leak: worse" in story.red.out
    assert "it is clean, and the scenario says leak" in story.red.out
    assert "clean, was leak" in story.red.out


def test_update_refuses_what_contradicts_the_scenario(story: Story) -> None:
    assert story.refused.code == 1
    assert "refused: it is leak, and the scenario says clean" in story.refused.out
    assert "refused: it is clean, and the scenario says leak" in story.refused.out
    assert story.stored_after_refusal == story.stored


def test_gate_is_green_again_once_the_leak_is_gone(story: Story) -> None:
    assert story.green_again.code == 0
    assert "gate green: 2 scenarios · 2 same" in story.green_again.out


def test_baselines_are_shown_in_short_and_whole(story: Story) -> None:
    show = story.suite.stepleak
    listed = show("baseline", "show", "--baselines", "baselines")
    assert listed.code == 0
    assert [line.split()[:2] for line in listed.out.splitlines()] == [["mine_clean", "clean"], ["mine_leak", "leak"]]
    whole = show("baseline", "show", "mine_leak", "--baselines", "baselines")
    assert json.loads(whole.out) == story.stored["mine_leak"]
    missing = show("baseline", "show", "mine_other", "--baselines", "baselines")
    assert missing.code == 64
    assert "'mine_other' has no baseline" in missing.err
    assert "remedy: " in missing.err


# --- baselines that do not fit ----------------------------------------------------------------------------------------


@pytest.fixture
def copied(story: Story, tmp_path: Path) -> Suite:
    """The suite with its baselines, to be spoilt."""
    suite = Suite(CommandLine(tmp_path))
    suite.baselines.mkdir(parents=True)
    for name, data in story.stored.items():
        (suite.baselines / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
    return suite


def spoil(suite: Suite, **changes: Any) -> None:
    data = {**suite.baseline("mine_clean"), **changes}
    (suite.baselines / "mine_clean.json").write_text(json.dumps(data), encoding="utf-8")


def test_baseline_of_another_machine_is_not_compared(copied: Suite) -> None:
    other = copied.baseline("mine_leak") | {"scenario": "mine_clean"}
    other["key"] = copied.baseline("mine_clean")["key"] | {"torch": "1.0.0"}
    (copied.baselines / "mine_clean.json").write_text(json.dumps(other), encoding="utf-8")
    lenient = copied("gate", glob="mine_clean")
    assert lenient.code == 0
    assert "mine_clean: other key" in lenient.out
    assert "was 1.0.0" in lenient.out
    assert "gate green: 1 scenarios · 1 other key" in lenient.out
    strict = copied("gate", "--fail-on-other-key", glob="mine_clean")
    assert strict.code == 1
    assert "gate red: 1 scenarios · 1 other key" in strict.out


@pytest.mark.parametrize(
    ("name", "verdict", "says"),
    [
        ("mine_clean", "leak", "it is leak, and the scenario says clean"),
        ("mine_leak", "clean", "it is clean, and the scenario says leak"),
    ],
)
def test_baseline_never_overrules_the_scenario(name: str, verdict: str, says: str, copied: Suite) -> None:
    """As a baseline that was stored with the mistake, or edited to agree with it."""
    other = copied.baseline("mine_leak" if verdict == "leak" else "mine_clean")
    key = copied.baseline(name)["key"]
    (copied.baselines / f"{name}.json").write_text(
        json.dumps({**other, "scenario": name, "key": key}), encoding="utf-8"
    )
    outcome = copied("gate", glob=name, switches=ON)
    assert outcome.code == 1, outcome.text
    assert f"{name}: worse" in outcome.out
    assert says in outcome.out


def test_leak_of_another_kind_than_declared_is_worse(copied: Suite) -> None:
    text = copied.scenarios.read_text(encoding="utf-8")
    declared = 'kind=("graph_retention", "attached_activation")'
    assert declared in text
    copied.scenarios.write_text(text.replace(declared, 'kind="pinned_host"'), encoding="utf-8")
    outcome = copied("gate", glob="mine_leak")
    assert outcome.code == 1, outcome.text
    assert "it has no finding pinned_host, and the scenario says so" in outcome.out


def test_scenario_that_no_run_decides_yet_is_left_out(copied: Suite) -> None:
    text = copied.scenarios.read_text(encoding="utf-8")
    copied.scenarios.write_text(text.replace('report="me/mine#2"', 'report="me/mine#2", not_yet="1"'), encoding="utf-8")
    outcome = copied("gate", switches=ON)  # which makes both wrong
    assert outcome.code == 1
    assert "1 left out, which say that no run decides them yet" in outcome.out
    assert "mine_clean" in outcome.out
    assert "mine_leak" not in outcome.out


@pytest.fixture
def lacking(copied: Suite) -> Suite:
    """One of the two scenarios, which has a baseline, needs what is not installed."""
    text = copied.scenarios.read_text(encoding="utf-8")
    needing = text.replace('report="me/mine#2"', 'report="me/mine#2", needs=("json", "no_such")')
    copied.scenarios.write_text(needing, encoding="utf-8")
    return copied


LACK = "mine_leak needs no_such, which is not installed"


@pytest.mark.parametrize("verb", [("gate",), ("baseline", "diff"), ("baseline", "update")], ids=" ".join)
def test_scenario_whose_library_is_missing_is_left_out_and_said(verb: tuple[str, ...], lacking: Suite) -> None:
    before = lacking.baseline("mine_leak")
    outcome = lacking(*verb)
    assert outcome.code == (verb == ("baseline", "diff")), outcome.text  # the other one has another hash
    assert f"  left out: {LACK}; nothing was compared with its baseline\n" in outcome.out
    assert outcome.out.count("left out: ") == 1
    if verb == ("gate",):
        assert "gate green: 1 scenarios · 1 other key · 1 left out · " in outcome.out
    assert lacking.baseline("mine_leak") == before


def test_each_shard_says_what_it_leaves_out_itself(lacking: Suite) -> None:
    said = [LACK in lacking("gate", "--shard", f"{shard}/2").out for shard in (1, 2)]
    assert sorted(said) == [False, True]


def test_scenario_whose_libraries_are_there_is_not_left_out(copied: Suite) -> None:
    text = copied.scenarios.read_text(encoding="utf-8")
    copied.scenarios.write_text(text.replace('#2"', '#2", needs=("json", "torch")'), encoding="utf-8")
    outcome = copied("gate")
    assert "left out" not in outcome.text
    assert "gate green: 2 scenarios · 2 other key · " in outcome.out


def test_scenario_that_needs_a_gpu_is_missed_only_where_it_ran_without(copied: Suite) -> None:
    text = copied.scenarios.read_text(encoding="utf-8")
    copied.scenarios.write_text(text.replace('#2"', '#2", needs_cuda=True'), encoding="utf-8")
    outcome = copied("gate")
    assert "  left out: mine_leak needs a GPU; nothing was compared with its baseline\n" in outcome.out
    (copied.baselines / "mine_leak.json").unlink()
    assert "left out" not in copied("gate").text


def test_glob_of_a_run_says_what_it_leaves_out_and_a_list_shows_it(lacking: Suite) -> None:
    ran = lacking.stepleak("run", "mine_*", "--scenarios", "mine", "--device", "cpu")
    assert ran.code == 0, ran.text
    assert f"left out: {LACK}\n" in ran.err
    named = lacking.stepleak("run", "mine_leak", "--scenarios", "mine", "--device", "cpu")
    assert named.code == 3
    assert "'mine_leak' needs no_such, which is not installed" in named.err
    for declares in ("", "from helper import anything\n"):  # read, and imported
        lacking.stepleak.write("mine/helper.py", "anything = 1\n")
        lacking.stepleak.write("mine/third.py", declares)
        listed = lacking.stepleak("list", "mine_*", "--scenarios", "mine")
        rows = {line.split()[0]: line for line in listed.out.splitlines()}
        assert " needs json, no_such  " in rows["mine_leak"] and rows["mine_leak"].endswith("me/mine#2"), listed.text
        assert "needs" not in rows["mine_clean"]


def test_changed_scenario_is_not_compared(copied: Suite) -> None:
    copied.scenarios.write_text(copied.scenarios.read_text(encoding="utf-8") + "# another one\n", encoding="utf-8")
    outcome = copied("gate", glob="mine_clean")
    assert outcome.code == 0
    assert "mine_clean: other key" in outcome.out
    assert "scenario hash is " in outcome.out


def test_higher_level_turns_the_gate_red(copied: Suite) -> None:
    steady = copied.baseline("mine_clean")["steady"]
    assert steady["live_nodes@cpu"] > 0
    assert steady["peak_bytes@cpu"] > 10**4
    spoil(copied, steady={**steady, "peak_bytes@cpu": 1})
    outcome = copied("gate", glob="mine_clean")
    assert outcome.code == 1
    assert "mine_clean: worse" in outcome.out
    assert "peak_bytes@cpu is " in outcome.out


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('{"schema": 99, "scenario": "mine_clean"}', ["has schema 99", "remedy: remove it and write another"]),
        ('{"schema": 1, "scenario": "mine_cl', ["is no baseline", "remedy: restore it from version control"]),
        ('{"schema": 1}', ["is no baseline", "remedy: restore it from version control"]),
        ("[]", ["is no baseline", "remedy: restore it from version control"]),
        ("", ["is no baseline", "remedy: restore it from version control"]),
    ],
    ids=["other_schema", "cut_off", "without_keys", "no_object", "empty"],
)
def test_unreadable_baseline_is_told_with_the_remedy(text: str, parts: list[str], copied: Suite) -> None:
    (copied.baselines / "mine_clean.json").write_text(text, encoding="utf-8")
    # `show` reads it without the start of an interpreter; the gate's way is tested below.
    outcome = copied.stepleak("baseline", "show", "--baselines", "baselines")
    assert outcome.code == 3, outcome.text
    for part in ["mine_clean.json", *parts]:
        assert part in outcome.err


@pytest.mark.parametrize(
    ("changes", "key"),
    [({"steady": {}}, "steady"), ({"kinds": ["leakage"]}, "kinds"), ({"scenario": "mine_leak"}, "scenario"),
     ({"steps": -1}, "steps"), ({"steady": {"live_bytes@cpu": 1e300}}, "steady.live_bytes@cpu")],
    ids=["emptied", "unknown_kind", "foreign_name", "negative", "beyond_range"],
)  # fmt: skip
def test_malformed_baseline_is_told_by_file_and_key(changes: dict[str, Any], key: str, copied: Suite) -> None:
    spoil(copied, **changes)
    outcome = copied.stepleak("baseline", "show", "--baselines", "baselines")
    assert outcome.code == 3, outcome.text
    assert f"mine_clean.json is no baseline: {key} " in outcome.err


def test_gate_fails_on_unreadable_baseline_before_anything_runs(copied: Suite) -> None:
    (copied.baselines / "mine_clean.json").write_text('{"schema": 99}', encoding="utf-8")
    outcome = copied("gate")
    assert outcome.code == 3, outcome.text
    assert "mine_clean.json has schema 99" in outcome.err
    assert "remedy: remove it and write another" in outcome.err
    assert " steps " not in outcome.out


def test_crashing_scenario_turns_the_gate_red_with_3(copied: Suite) -> None:
    copied.stepleak.write(
        "mine/crash.py",
        '''
        import os
        from stepleak.scenario import clean


        @clean(report="me/mine#3")
        def mine_crash(device):
            """Dies in its first step."""
            return lambda: os._exit(9)
        ''',
    )
    outcome = copied("gate", glob="mine_c*")
    assert outcome.code == 3
    assert "the process exited with code 9 in step 1" in outcome.out
    assert any(
        line.split()[:2] == ["mine_clean", "clean"] for line in outcome.out.splitlines() if line.startswith("  ")
    )
    refused = copied("baseline", "update", glob="mine_crash")
    assert refused.code == 3
    assert "refused: it failed" in refused.out
    assert not (copied.baselines / "mine_crash.json").exists()


@pytest.mark.parametrize(
    ("top_level", "says"),
    [
        ("os._exit(0)", "the process exited with code 0 in the set-up"),
        ("os.abort()", "killed by SIGABRT in the set-up"),
        ("print('still there')\nwhile True: pass", "no end after 30 s: stopped in the set-up"),
    ],
    ids=["exits", "aborts", "hangs"],
)
def test_a_scenario_file_that_ends_or_hangs_its_process_fails_by_name(top_level: str, says: str, copied: Suite) -> None:
    copied.stepleak.write("mine/another.py", f"import os\n{top_level}\n")
    outcome = copied("gate", "--timeout", "30", "--junit", "gate.xml", glob="mine_clean")
    assert outcome.code == 3, outcome.text
    assert "mine/another.py: worse" in outcome.out
    assert says in outcome.out
    assert ("still there" in outcome.out) == ("print" in top_level)
    assert "gate red: 2 scenarios · 1 same · 1 worse" in outcome.out
    suite = ElementTree.parse(copied.stepleak.folder / "gate.xml").getroot()
    failed = {str(case.get("name")): case.find("error") is not None for case in suite.iter("testcase")}
    assert failed == {"mine_clean": False, "mine/another.py": True}


def test_scenario_files_that_end_their_process_cost_neither_an_update_nor_a_run(copied: Suite) -> None:
    copied.stepleak.write("mine/another.py", "import os\nos._exit(0)\n")
    copied.stepleak.write("mine/third.py", "import os\nos._exit(9)\n")
    stored = copied.baselines / "mine_clean.json"
    before = stored.read_text(encoding="utf-8")
    stored.unlink()
    updated = copied("baseline", "update", glob="mine_clean")
    assert updated.code == 3, updated.text
    assert updated.out.count("refused: it failed") == 2
    assert json.loads(stored.read_text(encoding="utf-8"))["key"] == json.loads(before)["key"]
    run = copied.stepleak("run", "mine_clean", "--scenarios", "mine", "--device", "cpu")
    assert run.code == 3, run.text
    assert "mine_clean is clean" in run.out
    assert "the process exited with code 9 in the set-up" in run.out


def test_a_scenario_file_that_takes_long_or_would_end_another_program_loads(copied: Suite) -> None:
    """Each file has the time of a worker, and not all together."""
    for name in ("another", "third"):
        copied.stepleak.write(
            f"mine/{name}.py",
            "import os, time\ntime.sleep(7)\nif __name__ == '__main__': os._exit(9)\n",
        )
    outcome = copied("gate", "--timeout", "12", glob="mine_clean")
    assert outcome.code == 0, outcome.text
    assert "gate green: 1 scenarios · 1 same" in outcome.out


def test_only_prune_removes_baselines_and_only_those_of_these_scenarios(copied: Suite) -> None:
    """Those of another folder that shares the baselines are not even spoken of."""
    (copied.stepleak.folder / "other").mkdir()
    stored = copied.baseline("mine_clean")
    assert stored["scenarios"] == "mine"
    unknown = {key: value for key, value in stored.items() if key != "scenarios"}
    for name, data in (("mine_old", stored), ("mine_unknown", unknown), ("others", {**stored, "scenarios": "other"})):
        (copied.baselines / f"{name}.json").write_text(json.dumps({**data, "scenario": name}), encoding="utf-8")
    kept = copied("baseline", "update", glob="*")
    assert "mine_old: gone" in kept.out
    assert "stays: baselines/cpu/mine_old.json; --prune removes it" in kept.out
    assert (copied.baselines / "mine_old.json").exists()
    pruned = copied("baseline", "update", "--prune", glob="*")
    assert "removed: baselines/cpu/mine_old.json" in pruned.out
    for outcome in (kept, pruned):
        assert "stays: baselines/cpu/mine_unknown.json; it does not say whose it is" in outcome.out
        assert "others" not in outcome.out
    assert not (copied.baselines / "mine_old.json").exists()
    for name in ("mine_clean", "mine_unknown", "others"):
        assert (copied.baselines / f"{name}.json").exists()


def test_a_baseline_is_no_other_folder_s_of_the_same_name(copied: Suite) -> None:
    """It is neither compared with nor overwritten, but for one whose folder has moved."""
    copied.stepleak.write("theirs/scenarios.py", SCENARIO)
    where = ["--scenarios", "theirs", "--baselines", "baselines", "--device", "cpu", "--suite", "mine_clean"]
    before = copied.baseline("mine_clean")
    gate = copied.stepleak("gate", *where)
    assert gate.code == 1
    assert "has no baseline: that by its name is of the scenarios in mine" in gate.out
    update = copied.stepleak("baseline", "update", *where)
    assert update.code == 1
    assert "refused: a scenario in mine has its name: rename one, or remove the baseline if it moved" in update.out
    assert copied.baseline("mine_clean") == before
    (copied.stepleak.folder / "mine").rename(copied.stepleak.folder / "theirs.old")
    moved = copied.stepleak("gate", *where)
    assert moved.code == 0 and "1 same" in moved.out
    assert copied.stepleak("baseline", "update", *where).code == 0
    assert copied.baseline("mine_clean")["scenarios"] == "theirs"


def test_a_scenario_that_got_lost_as_its_folder_moved_is_gone(copied: Suite) -> None:
    """No other folder's gate would miss it. Nor is its baseline removed: that folder may only be missing here."""
    lost = {**copied.baseline("mine_clean"), "scenario": "mine_lost"}
    (copied.baselines / "mine_lost.json").write_text(json.dumps(lost), encoding="utf-8")
    (copied.stepleak.folder / "mine").rename(copied.stepleak.folder / "theirs")
    where = ["--scenarios", "theirs", "--baselines", "baselines", "--device", "cpu", "--effort", "quick"]
    update = copied.stepleak("baseline", "update", "--prune", *where)
    assert "mine_lost: gone" in update.out
    assert "has a baseline and no scenario: that was in mine, which is no folder any more" in update.out
    assert "stays: baselines/cpu/mine_lost.json; remove it yourself if no scenario needs it" in update.out
    assert (copied.baselines / "mine_lost.json").exists()


def test_baselines_of_another_project_are_never_pruned(copied: Suite) -> None:
    folders = ["--scenarios", "mine", "--baselines", "/tmp/elsewhere/baselines", "--device", "cpu"]
    outcome = copied.stepleak("baseline", "update", "--prune", *folders)
    assert outcome.code == 64, outcome.text
    assert "--prune would remove baselines that belong to the scenarios of another project" in outcome.err


def test_baselines_are_those_of_the_scenarios_project(copied: Suite) -> None:
    outcome = copied.stepleak("gate", "--scenarios", "mine", "--device", "cpu", "--suite", "mine_clean")
    assert outcome.code == 0, outcome.text
    assert "1 same" in outcome.out


def test_pipe_as_a_baseline_does_not_block(copied: Suite) -> None:
    (copied.baselines / "mine_clean.json").unlink()
    os.mkfifo(copied.baselines / "mine_clean.json")
    outcome = copied.stepleak("baseline", "show", "--baselines", "baselines")
    assert outcome.code == 3, outcome.text
    assert "mine_clean.json is no baseline" in outcome.err


@pytest.mark.parametrize("shard", ["3/2", "+1/2", "0/2", "1/99999999999999999999", "1/2/3", "1"])
def test_wrong_shard_is_wrong_use(shard: str, copied: Suite) -> None:
    outcome = copied("gate", "--shard", shard)
    assert outcome.code == 64
    assert f"'{shard}' is no shard" in outcome.err
    assert "remedy: write i/n" in outcome.err


def test_shard_runs_its_part_of_the_suite(copied: Suite) -> None:
    # The second of two, in the order of names.
    outcome = copied("gate", "--shard", "2/2", "--json", "gate.json")
    assert outcome.code == 0
    assert "mine_leak" in outcome.out
    assert "mine_clean" not in outcome.out
    results = copied.stepleak.results("gate.json")
    assert {name: result["verdict"] for name, result in results.items()} == {"mine_leak": "leak"}


# --- another leak of the same kind and rate ---------------------------------------------------------------------------

# What the scenario exercises lies in a file of its own, as a user's code does: the scenario's hash does not see it.
TRAINING = """\
    import torch


    class Training:
        def __init__(self, device):
            self.device = device
            self.model = torch.nn.Linear(16, 16).to(device)
            self.losses, self.scores = [], []

        def step(self):
            loss = self.model(torch.randn(4, 16, device=self.device)).square().mean()
            self.model.zero_grad()
            loss.backward()
            self.losses.append(loss)
"""


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """A scenario with a known leak, and its baseline."""
    suite = Suite(CommandLine(tmp_path_factory.mktemp("moved")))
    suite.stepleak.write("code/training.py", TRAINING)
    suite.stepleak.write(
        "mine/scenarios.py",
        '''
        import sys
        from pathlib import Path

        from stepleak.scenario import leak

        sys.path.insert(0, str(Path(__file__).parents[1] / "code"))


        @leak(kind="graph_retention", report="me/mine#4")
        def mine_leak(device):
            """Keeps all losses somewhere."""
            from training import Training

            return Training(device).step
        ''',
    )
    assert suite("baseline", "update").code == 0
    return suite


def test_another_leak_in_the_place_of_a_known_one_turns_the_gate_red(moved: Suite) -> None:
    moved.stepleak.write("code/training.py", TRAINING.replace("losses.append", "scores.append"))
    outcome = moved("gate")
    assert outcome.code == 1, outcome.text
    assert "mine_leak: worse" in outcome.out
    assert ".scores (list) []" in outcome.out
    assert ".losses (list) []" in outcome.out
    assert "  another graph_retention: held by " in outcome.out


def test_known_leak_on_another_line_is_the_same(moved: Suite) -> None:
    moved.stepleak.write("code/training.py", TRAINING.replace("import torch", "import math\n    import torch"))
    outcome = moved("gate")
    assert outcome.code == 0, outcome.text
    assert "gate green: 1 scenarios · 1 same" in outcome.out


def test_baseline_of_another_fingerprint_rule_does_not_fail_and_is_written_again(moved: Suite) -> None:
    moved.stepleak.write("code/training.py", TRAINING)
    data = moved.baseline("mine_leak")
    assert [leak["kind"] for leak in data["leaks"].values()] == ["graph_retention"]
    old = {key: value for key, value in data.items() if key not in ("leaks", "fingerprint_rule")}
    old["fingerprints"] = ["0123456789abcdef"]
    (moved.baselines / "mine_leak.json").write_text(json.dumps(old), encoding="utf-8")
    outcome = moved("gate")
    assert outcome.code == 0, outcome.text
    assert "mine_leak: same" in outcome.out
    assert "fingerprints are of another rule" in outcome.out
    assert moved("baseline", "update").code == 0
    assert moved.baseline("mine_leak") == data
