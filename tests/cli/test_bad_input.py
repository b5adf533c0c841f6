# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Everything that a user may get wrong: a clear message, the remedy, the documented exit code."""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from conftest import SCENARIOS, CommandLine, Outcome

WRONG_USE = 64
FAILURE = 3

STEPS = """\
    import ctypes
    import os
    import signal
    import sys
    import time

    import torch

    steps_done = 0
    hoard = []
    number = 3


    def count():
        global steps_done
        steps_done += 1
        torch.zeros(4)
        return steps_done


    def clean():
        count()


    def raises():
        if count() == 5:
            print("last words")
            raise ValueError("no more batches")


    def raises_at_once():
        raise KeyError("first")


    def runs_out_of_shape():
        torch.zeros(2, 3) @ torch.zeros(2, 3)


    def sys_exits():
        if count() == 5:
            sys.exit(0)


    def os_exits():
        if count() == 5:
            os._exit(0)


    def segfaults():
        if count() == 5:
            ctypes.string_at(0)


    def aborts():
        if count() == 5:
            os.abort()


    def is_killed():
        if count() == 5:
            os.kill(os.getpid(), signal.SIGKILL)


    def hangs():
        if count() == 5:
            time.sleep(1000)


    def hoards():
        hoard.append(torch.ones(4 << 20))


    def hoards_python():
        hoard.append(bytearray(16 << 20))


    def needs_arguments(batch, labels):
        pass


    def forks():
        # Both go on: the child's steps keep nothing.
        global is_child
        count()
        is_child = is_child or os.fork() == 0
        if not is_child:
            hoard.append(torch.ones(100))


    is_child = False


    def leaves_its_child_behind():
        if count() == 5 and os.fork() != 0:
            os._exit(0)


    def generates():
        count()
        yield


    class Trainer:
        async def __call__(self):
            await raises_later()


    async def raises_later():
        raises()


    trainer = Trainer()
"""

BROKEN = """\
    import torch

    model = torch.nn.Linear(4, 4)
    weights = torch.load("weights_that_are_not_there.pt")


    def step():
        pass
"""

CRASHES = [
    "raises",
    "raises_at_once",
    "runs_out_of_shape",
    "sys_exits",
    "os_exits",
    "segfaults",
    "aborts",
    "is_killed",
    "trainer",
]


def written(stepleak: CommandLine) -> CommandLine:
    stepleak.write("steps.py", STEPS)
    stepleak.write("broken.py", BROKEN)
    stepleak.write("no_syntax.py", "def step(:\n    pass\n")
    stepleak.write("imports_nothing.py", "import a_module_that_nobody_wrote\n")
    stepleak.write("exits.py", "import sys\nsys.exit('no GPU, no fun')\n")
    stepleak.write("dies.py", "import os\nos._exit(5)\n")
    (stepleak.folder / "loop.py").symlink_to("loop.py")
    stepleak.write("sleeps.py", "import time\ntime.sleep(1000)\n")
    return stepleak


@pytest.fixture(scope="module")
def folder(shared_stepleak: CommandLine) -> CommandLine:
    return written(shared_stepleak)


# --- no GPU: exit code 3 ----------------------------------------------------------------------------------------------


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="here is a GPU")
@pytest.mark.parametrize(
    "arguments",
    [["run", "steps.py:clean", "--device", "cuda"], ["gate", "--device", "cuda:1"], ["run", "cuda_kv_cache_cat"]],
    ids=["run", "gate", "scenario"],
)
def test_a_gpu_that_is_not_there(arguments: list[str], folder: CommandLine) -> None:
    outcome = folder(*arguments)
    assert outcome.code == FAILURE, outcome.text
    assert "there is no NVIDIA driver here" in outcome.err
    assert "remedy: install one, or use --device cpu" in outcome.err


@pytest.mark.skipif(not os.environ.get("STEPLEAK_TEST_OLD_DRIVER"), reason="built without CUDA")
def test_a_driver_older_than_the_runtime(folder: CommandLine) -> None:
    switches = {"LD_PRELOAD": os.environ["STEPLEAK_TEST_OLD_DRIVER"]}
    outcome = folder("run", "steps.py:clean", "--device", "cuda", switches=switches)
    assert outcome.code == FAILURE, outcome.text
    assert "the NVIDIA driver knows CUDA 12.4, and torch's runtime needs 13.0" in outcome.err
    assert "remedy: install a later driver, or use --device cpu" in outcome.err


# --- wrong use: exit code 64 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["run", "nowhere.py:step"], ["there is no file nowhere.py", "remedy: name it as FILE.py:callable"]),
        (["run", "steps.py"], ["steps.py names no callable", "remedy: write steps.py:step"]),
        (["run", "steps.py:clean", "--no-such-option"], ["--no-such-option", "--help"]),
        (["run", "steps.py:clean", "--effort", "nonsense"], ["--effort", "quick", "standard", "nightly"]),
        (["run", "steps.py:clean", "--device", "toaster"], ["toaster", "remedy: "]),
        (["run", "steps.py:clean", "--steps", "-4"], ["--steps"]),
        (["run", "steps.py:clean", "--steps", "many"], ["--steps"]),
        (["run", "steps.py:clean", "--period", "-1"], ["--period"]),
        (["run", "steps.py:clean", "--timeout", "soon"], ["--timeout"]),
        (["run", "steps.py:clean", "--json"], ["--json"]),
        (["run", "steps.py:clean", "--steps", str(2**62)], ["--steps"]),
        (["run", "steps.py:clean", "--seed", "-1"], ["--seed"]),
        (["run", "steps.py:clean", "--threads", "100000"], ["--threads"]),
        (["run", "steps.py:clean", "--timeout", "nan"], ["--timeout"]),
        (["run", "steps.py:clean", "--budget", "inf"], ["--budget"]),
        (["run", "steps.py:clean", "--jobs", "100000"], ["--jobs"]),
        (["doctor", "--self-growth", "-5"], ["--self-growth"]),
        (["run", "x" * 5000 + ".py:clean"], ["there is no file", "remedy: "]),
        (["run", "loop.py:clean"], ["there is no file loop.py", "remedy: "]),
        (["baseline", "show", "../x"], ["'../x' is no scenario's name"]),
        *(
            (["run", "steps.py:clean", "--memory", size], [f"'{size}' is no size", "remedy: "])
            for size in ("nan", "inf", "99999999T", "-1")
        ),
        (["run"], ["target", "--help"]),
        (["dance"], ["dance", "--help"]),
        ([], ["subcommand", "--help"]),
        (["baseline"], ["subcommand", "--help"]),
        (["gate", "--no-such-option"], ["--no-such-option", "--help"]),
    ],
    ids=lambda value: "_".join(value) if value and all(" " not in part for part in value) else "",
)
def test_wrong_use_is_told_before_anything_runs(arguments: list[str], parts: list[str], folder: CommandLine) -> None:
    outcome = folder(*arguments)
    assert outcome.code == WRONG_USE, outcome.text
    for part in parts:
        assert part in outcome.err
    assert "is clean" not in outcome.out


WRONG_NAMES: dict[str, tuple[list[str], list[str]]] = {
    "no_such_callable": (
        ["steps.py:setp"],
        ["has no 'setp'", "remedy: callables there: ", "clean", "count"],
    ),
    "not_a_callable": (
        ["steps.py:number"],
        ["steps.py:number is no callable, but of type int", "remedy: name a function"],
    ),
    "needs_arguments": (
        ["steps.py:needs_arguments"],
        ["steps.py:needs_arguments needs arguments: batch, labels", "remedy: ", "lambda"],
    ),
    "generator": (
        ["steps.py:generates"],
        ["the step returns a generator that nobody runs", "remedy: run it in the step: "],
    ),
    "no_such_scenario": (
        ["no_such_scenario"],
        ["no scenario matches 'no_such_scenario'", "remedy: stepleak list shows all names"],
    ),
    "too_few_steps": (
        ["steps.py:clean", "--steps", "8"],
        ["8 steps are too few to judge", "remedy: give 16 steps at least"],
    ),
    "no_steps_for_a_verdict": (
        ["steps.py:clean", "--steps", "16", "--min-steps", "100"],
        ["no verdict before 100 steps, and no more than 16", "remedy: give fewer at least"],
    ),
    "wrong_memory": (
        ["steps.py:clean", "--memory", "lots"],
        ["lots", "remedy: "],
    ),
}


@pytest.fixture(scope="module")
def wrong_names(folder: CommandLine) -> dict[str, Outcome]:
    """Each starts an interpreter, which takes seconds: two at a time."""
    with ThreadPoolExecutor(2) as pool:
        outcomes = pool.map(lambda case: folder("run", *case[0]), WRONG_NAMES.values())
        return dict(zip(WRONG_NAMES, outcomes, strict=True))


@pytest.mark.parametrize("case", WRONG_NAMES)
def test_wrong_name_or_value_is_told_with_what_is_right(case: str, wrong_names: dict[str, Outcome]) -> None:
    outcome = wrong_names[case]
    assert outcome.code == WRONG_USE, outcome.text
    for part in WRONG_NAMES[case][1]:
        assert part in outcome.err


# --- steps that end badly: exit code 3 --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crashes(folder: CommandLine) -> Outcome:
    """Every crash in one call, and a healthy target behind them all."""
    targets = [f"steps.py:{step}" for step in [*CRASHES, "clean"]]
    return folder("run", *targets, "--json", "crashes.json", "--junit", "crashes.xml")


@pytest.fixture(scope="module")
def crash_results(folder: CommandLine, crashes: Outcome) -> dict[str, dict[str, Any]]:
    return folder.results("crashes.json")


def test_crashes_exit_with_3(crashes: Outcome) -> None:
    assert crashes.code == FAILURE


def test_next_target_runs_after_crashes(crashes: Outcome, crash_results: dict[str, dict[str, Any]]) -> None:
    assert "steps.py:clean is clean on cpu" in crashes.out
    assert crash_results["steps.py:clean"]["verdict"] == "clean"
    assert len(crash_results) == len(CRASHES) + 1


@pytest.mark.parametrize(
    ("step", "what", "remedy"),
    [
        ("raises", ["ValueError: no more batches", "in raises", "(in step 5)"], ""),
        ("trainer", ["ValueError: no more batches", "in raises_later", "(in step 5)"], ""),
        ("raises_at_once", ["KeyError: 'first'", "(in step 1)"], ""),
        ("runs_out_of_shape", ["mat1 and mat2 shapes cannot be multiplied", "(in step 1)"], ""),
        ("sys_exits", ["SystemExit: 0", "(in step 5)"], "the step must return, not end the process"),
        ("os_exits", ["the process exited with code 0 in step 5"], "the step must return, not end the process"),
        ("segfaults", ["killed by SIGSEGV in step 5"], "under a debugger"),
        ("aborts", ["killed by SIGABRT in step 5"], "under a debugger"),
        ("is_killed", ["killed by SIGKILL in step 5"], "when memory runs out: see dmesg"),
    ],
)
def test_crash_says_what_happened_in_which_step(
    step: str, what: list[str], remedy: str, crashes: Outcome, crash_results: dict[str, dict[str, Any]]
) -> None:
    report = crashes.block_of(f"steps.py:{step}")
    result = crash_results[f"steps.py:{step}"]
    assert result["verdict"] == "failure"
    assert f"steps.py:{step} failed: " in report
    for part in what:
        assert part in report
        assert part in result["failure"]["what"]
    assert remedy in report
    assert remedy in result["failure"]["remedy"]
    assert result["findings"] == []


@pytest.mark.parametrize("step", ["raises", "sys_exits", "os_exits", "segfaults", "aborts", "is_killed"])
def test_crash_keeps_the_ledger_up_to_it(step: str, crash_results: dict[str, dict[str, Any]]) -> None:
    result = crash_results[f"steps.py:{step}"]
    assert result["steps"] == 4
    assert {"live_bytes@cpu", "live_nodes@cpu", "heap_bytes@cpu"} <= set(result["series"])
    assert all(len(series) == 4 for series in result["series"].values())
    assert min(result["series"]["resident_bytes@cpu"]) > 0


def test_exception_names_the_line_that_raised(crashes: Outcome) -> None:
    line = next(i for i, text in enumerate(STEPS.splitlines(), 1) if "no more batches" in text)
    assert f'steps.py", line {line}, in raises' in crashes.block_of("steps.py:raises")


def test_crash_report_shows_the_last_words(crash_results: dict[str, dict[str, Any]]) -> None:
    assert "Segmentation fault" in crash_results["steps.py:segfaults"]["failure"]["output_tail"]
    assert "in segfaults" in crash_results["steps.py:segfaults"]["failure"]["output_tail"]


def test_exception_shows_what_the_step_printed(crash_results: dict[str, dict[str, Any]]) -> None:
    assert "last words" in crash_results["steps.py:raises"]["failure"]["output_tail"]


def test_junit_counts_crashes_as_errors(folder: CommandLine, crashes: Outcome) -> None:
    suite = ElementTree.parse(folder.folder / "crashes.xml").getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("failures"), suite.get("errors")) == ("0", str(len(CRASHES)))


# --- a step that forks ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forks(folder: CommandLine) -> Outcome:
    targets = [f"steps.py:{step}" for step in ("forks", "leaves_its_child_behind")]
    return folder("run", *targets, "--effort", "quick", "--json", "forks.json")


def test_result_is_the_parents(folder: CommandLine, forks: Outcome) -> None:
    result = folder.results("forks.json")["steps.py:forks"]
    assert result["verdict"] == "leak", forks.text
    live = result["series"]["live_bytes@cpu"]
    assert live[20] - live[10] == 4000


def test_childs_verdict_is_never_taken(folder: CommandLine, forks: Outcome) -> None:
    result = folder.results("forks.json")["steps.py:leaves_its_child_behind"]
    assert result["verdict"] == "failure", forks.text
    assert "the process exited with code 0 in step 5" in result["failure"]["what"]


# --- one target's trouble costs no other's result ---------------------------------------------------------------------


def test_wrong_use_in_one_of_many_keeps_the_others(folder: CommandLine) -> None:
    targets = [f"steps.py:{step}" for step in ("setp", "clean", "generates")]
    outcome = folder("run", *targets, "--json", "many.json", "--junit", "many.xml")
    assert outcome.code == WRONG_USE, outcome.text
    assert "has no 'setp'" in outcome.err
    assert "the step returns a generator" in outcome.err
    results = folder.results("many.json")
    assert [results[target]["verdict"] for target in targets] == ["failure", "clean", "failure"]
    suite = ElementTree.parse(folder.folder / "many.xml").getroot().find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("errors")) == ("3", "2")


def test_target_that_is_not_there_keeps_the_others(folder: CommandLine) -> None:
    targets = ["nowhere.py:step", "steps.py:clean", "steps.py", "no_such_scenario"]
    outcome = folder("run", *targets, "--json", "missing.json")
    assert outcome.code == WRONG_USE, outcome.text
    assert "steps.py:clean is clean" in outcome.out
    results = folder.results("missing.json")
    assert [results[target]["verdict"] for target in targets] == ["failure", "clean", "failure", "failure"]
    assert results["nowhere.py:step"]["reason"] == "it was named wrongly"
    for target, what in (
        ("nowhere.py:step", "there is no file nowhere.py"),
        ("steps.py", "steps.py names no callable"),
        ("no_such_scenario", "no scenario matches 'no_such_scenario'"),
    ):
        assert what in results[target]["failure"]["what"]
        assert what in outcome.err


def test_reader_that_is_gone_costs_no_file(folder: CommandLine) -> None:
    done = folder.start("run", "steps.py:clean", "--json", "unread.json", "--junit", "unread.xml")
    assert done.stdout is not None
    done.stdout.close()
    assert done.wait(timeout=120) == 0
    assert folder.results("unread.json")["steps.py:clean"]["verdict"] == "clean"
    assert (folder.folder / "unread.xml").exists()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_writes_what_is_decided(stop: signal.Signals, folder: CommandLine) -> None:
    names = [f"{stop.name}.json", f"{stop.name}.xml"]
    targets = ["steps.py:clean", "steps.py:hangs", "steps.py:raises"]
    run = folder.start("run", *targets, "-j1", "--json", names[0], "--junit", names[1])
    assert run.stdout is not None
    assert "steps.py:clean is clean" in run.stdout.readline()
    time.sleep(1)
    run.send_signal(stop)
    assert run.wait(timeout=20) == 128 + stop
    assert run.stderr is not None
    assert f"stopped by {stop.name}: 1 of 3 targets had ended" in run.stderr.read()
    results = folder.results(names[0])
    assert results["steps.py:clean"]["verdict"] == "clean"
    assert results["steps.py:hangs"]["reason"] == "the run was interrupted"
    assert f"stopped by {stop.name}" in results["steps.py:hangs"]["failure"]["what"]
    assert "steps.py:raises" not in results
    assert (folder.folder / names[1]).exists()


# --- output files -----------------------------------------------------------------------------------------------------


def test_outputs_are_tried_before_the_run(folder: CommandLine) -> None:
    (folder.folder / "taken").mkdir(exist_ok=True)
    for unwritable in ("taken", "/proc/nowhere/result.json", "steps.py/result.json"):
        outcome = folder("run", "steps.py:clean", "--json", unwritable, "--junit", "ok.xml")
        assert outcome.code == FAILURE, outcome.text
        assert f"cannot write {unwritable}" in outcome.err
        assert "is clean" not in outcome.out


@pytest.mark.parametrize("output", ["steps.py", "./steps.py", "other.py"])
def test_output_that_is_code_is_refused(output: str, folder: CommandLine) -> None:
    before = (folder.folder / "steps.py").read_text(encoding="utf-8")
    outcome = folder("run", "steps.py:clean", "--json", output)
    assert outcome.code == WRONG_USE, outcome.text
    assert "is code, and would be overwritten" in outcome.err
    assert (folder.folder / "steps.py").read_text(encoding="utf-8") == before


def test_two_outputs_of_one_name_are_refused(folder: CommandLine) -> None:
    outcome = folder("run", "steps.py:clean", "--json", "same", "--junit", "same")
    assert outcome.code == WRONG_USE, outcome.text
    assert "same is named for two outputs" in outcome.err


def test_link_is_not_written_through(folder: CommandLine) -> None:
    precious = folder.write("precious.txt", "mine")
    link = folder.folder / "link.json"
    link.unlink(missing_ok=True)
    link.symlink_to(precious)
    outcome = folder("run", "steps.py:clean", "--json", "link.json")
    assert outcome.code == FAILURE, outcome.text
    assert "link.json: it is a symbolic link" in outcome.err
    assert link.is_symlink()
    assert precious.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_json_goes_to_the_standard_output(name: str, folder: CommandLine) -> None:
    outcome = folder("run", "steps.py:clean", "--json", name)
    assert outcome.code == 0, outcome.text
    text = outcome.out if name == "-" else outcome.out[outcome.out.index("{") :]
    assert json.loads(text)["verdict"] == "clean"
    assert Path("/dev/stdout").is_symlink()


def test_trace_goes_to_the_standard_output(folder: CommandLine) -> None:
    with (folder.folder / "stored.trace").open("wb") as out, (folder.folder / "stored.txt").open("wb") as err:
        run = folder.start("run", "steps.py:clean", "--trace", "-", out=out, err=err)
        assert run.wait(timeout=300) == 0
    assert (folder.folder / "stored.txt").read_text(encoding="utf-8").startswith("steps.py:clean is clean")
    again = folder("analyze", "stored.trace")
    assert again.code == 0, again.text
    assert "steps.py:clean is clean" in again.out


# --- set-ups that end badly -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def broken_files(folder: CommandLine) -> Outcome:
    targets = [f"{name}.py:step" for name in ("broken", "no_syntax", "imports_nothing", "exits", "dies")]
    return folder("run", *targets, "--json", "broken.json")


@pytest.mark.parametrize(
    ("file", "parts"),
    [
        ("broken", ["FileNotFoundError", "weights_that_are_not_there.pt", 'broken.py", line 4, in <module>']),
        ("no_syntax", ["SyntaxError", "no_syntax.py", "line 1"]),
        ("imports_nothing", ["No module named 'a_module_that_nobody_wrote'", 'imports_nothing.py", line 1']),
        ("exits", ["SystemExit: no GPU, no fun", 'exits.py", line 2']),
        ("dies", ["the process exited with code 5 in the set-up"]),
    ],
)
def test_failing_set_up_names_its_line(file: str, parts: list[str], broken_files: Outcome, folder: CommandLine) -> None:
    assert broken_files.code == FAILURE
    result = folder.results("broken.json")[f"{file}.py:step"]
    assert result["verdict"] == "failure"
    assert result["steps"] == 0
    assert result["failure"]["remedy"]
    for part in parts:
        assert part in result["failure"]["what"]
        assert part in broken_files.block_of(f"{file}.py:step")


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hangs(folder: CommandLine) -> Outcome:
    targets = ["steps.py:hangs", "sleeps.py:step", "steps.py:clean"]
    return folder("run", *targets, "--timeout", "2", "--jobs", "3", "--json", "hangs.json")


def test_hang_is_stopped_and_names_its_step(hangs: Outcome, folder: CommandLine) -> None:
    assert hangs.code == FAILURE
    result = folder.results("hangs.json")["steps.py:hangs"]
    assert result["failure"]["what"] == "no end after 2 s: stopped in step 5"
    assert "--timeout" in result["failure"]["remedy"]
    assert all(len(series) == 4 for series in result["series"].values())
    # Where it hung: the stack of the moment.
    assert "in hangs" in result["failure"]["output_tail"]


def test_hang_in_the_set_up_is_stopped_too(hangs: Outcome, folder: CommandLine) -> None:
    result = folder.results("hangs.json")["sleeps.py:step"]
    assert result["failure"]["what"] == "no end after 2 s: stopped in the set-up"
    assert "sleeps.py" in result["failure"]["output_tail"]


def test_next_target_runs_beside_a_hang(hangs: Outcome) -> None:
    assert "steps.py:clean is clean on cpu" in hangs.out


def test_memory_limit_stops_the_step_with_the_remedy(folder: CommandLine) -> None:
    targets = ["steps.py:hoards", "steps.py:hoards_python", "steps.py:clean"]
    outcome = folder("run", *targets, "--memory", "300M", "--json", "memory.json")
    assert outcome.code == FAILURE, outcome.text
    results = folder.results("memory.json")
    for step in ("hoards", "hoards_python"):
        result = results[f"steps.py:{step}"]
        assert result["verdict"] == "failure"
        # 16 MiB a step: eighteen fit, less what Python and torch take for themselves.
        assert 5 <= result["steps"] <= 19
        assert "(in step " in result["failure"]["what"]
        assert "raise --memory" in result["failure"]["remedy"]
        assert "raise --memory" in outcome.block_of(f"steps.py:{step}")
    assert results["steps.py:clean"]["verdict"] == "clean"

    # What was live: 16 MiB of each step, told by the steps whose stacks were recorded.
    memory = results["steps.py:hoards"]["failure"]["memory"]
    steps = results["steps.py:hoards"]["steps"]
    assert memory["bytes"] == results["steps.py:hoards"]["series"]["live_bytes@cpu"][-1]
    assert [block["last_step"] for block in memory["newest"][:5]] == [*range(steps, steps - 5, -1)]
    assert memory["largest"][0]["bytes"] == 16 << 20
    assert memory["by_stack"][0]["blocks"] == sum(step <= steps for step in (1, 4, 16))
    assert memory["by_stack"][0]["where"][0]["text"] == "hoard.append(torch.ones(4 << 20))"
    assert "hoard.append(torch.ones(4 << 20))" in outcome.block_of("steps.py:hoards")
    # Python's own memory is no tensor's.
    assert "memory" not in results["steps.py:hoards_python"]["failure"]


# --- places that cannot be written ------------------------------------------------------------------------------------


def test_unwritable_folder_fails_with_the_remedy(folder: CommandLine) -> None:
    # Below a file no folder can be made, not even by root.
    outcome = folder("run", "steps.py:clean", "--json", "steps.py/out/result.json")
    assert outcome.code == FAILURE
    assert "cannot write steps.py/out/result.json: " in outcome.err
    assert "remedy: name a folder that you may write to" in outcome.err
    # Said before the first step, so that no work is lost.
    assert outcome.out == ""


def test_full_disk_fails_with_the_remedy(folder: CommandLine) -> None:
    outcome = folder("run", "steps.py:clean", "--json", "/dev/full")
    assert outcome.code == FAILURE
    assert "cannot write /dev/full: No space left on device" in outcome.err
    assert "remedy: free some space" in outcome.err
    assert "steps.py:clean is clean" in outcome.out
    assert "more" not in outcome.out


# --- scenario folders -------------------------------------------------------------------------------------------------


def test_scenario_that_does_not_load_is_named(stepleak: CommandLine) -> None:
    stepleak.write("mine/broken_scenario.py", "raise RuntimeError('not today')\n")
    outcome = stepleak("run", "anything", "--scenarios", "mine")
    assert outcome.code == FAILURE
    assert "not today" in outcome.err
    assert "broken_scenario.py" in outcome.err
    assert "remedy: " in outcome.err


TWICE = '''
    from stepleak.scenario import clean


    @clean(report="me/mine#1")
    def cpp_loss_sum_attached(device):
        """Has the name of a C++ scenario."""
        return lambda: None
'''


SET_UPS = """
    import asyncio

    import torch
    from stepleak.scenario import clean


    @clean(report="me/mine#1")
    def mine_counts(device):
        "Its step takes the index, as that of a file may."
        expected = iter(range(10**6))

        def step(index):
            assert index == next(expected)
            torch.ones(8)

        return step


    @clean(report="me/mine#1")
    def mine_awaits(device):
        "Its step is async."

        async def step():
            await asyncio.sleep(0)

        return step


    @clean(report="me/mine#1")
    def mine_forgets(device):
        "Returns no step."


    @clean(report="me/mine#1")
    async def mine_promises(device):
        "Would return a step if somebody awaited it."
        return lambda: None


    @clean(report="me/mine#1")
    def mine_wants(device):
        "Returns a step that takes more than the index."
        return lambda index, batch: None
"""


@pytest.fixture(scope="module")
def set_ups(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    stepleak = CommandLine(tmp_path_factory.mktemp("set_ups"))
    stepleak.write("mine/set_ups.py", SET_UPS)
    return stepleak("run", "mine_*", "--scenarios", "mine", "--device", "cpu", "--effort", "quick")


def test_step_of_a_scenario_takes_nothing_or_the_index(set_ups: Outcome) -> None:
    for name in ("mine_counts", "mine_awaits"):
        assert f"{name} is clean" in set_ups.block_of(name)


@pytest.mark.parametrize(
    ("name", "what", "remedy"),
    [
        ("mine_forgets", "the set-up of mine_forgets returned nothing, and no step", "end it with `return step`"),
        (
            "mine_promises",
            "the set-up of mine_promises did not run: it is an `async def`",
            "the step itself may be async",
        ),
        ("mine_wants", "mine_wants:<lambda> needs arguments: index, batch", "takes none, or the step index"),
    ],
)
def test_set_up_that_gives_no_step_is_said_before_step_1(name: str, what: str, remedy: str, set_ups: Outcome) -> None:
    assert set_ups.code == 3, set_ups.text
    block = " ".join(set_ups.block_of(name).split())
    assert "the set-up failed" in block
    assert what in block and remedy in block
    assert "step 1" not in block


def test_scenario_name_used_twice_names_both_files(stepleak: CommandLine) -> None:
    stepleak.write("mine/twice.py", TWICE)
    other = "loss_sum_attached.cpp"
    if SCENARIOS:  # none in C++ is installed
        stepleak.write(f"mine/{(other := 'again.py')}", TWICE)
    outcome = stepleak("list", "--scenarios", "mine")
    assert outcome.code == FAILURE
    assert "scenario 'cpp_loss_sum_attached' is declared twice" in outcome.err
    assert other in outcome.err
    assert "twice.py" in outcome.err
    assert "remedy: rename one of them" in outcome.err
