# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A watched script behaves as it does without us, and its verdict outlives whatever becomes of it."""

from __future__ import annotations

import os
import py_compile
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import CommandLine, Outcome

TORCHRUN = Path(sys.executable).with_name("torchrun")

TRAIN = '''
"""Trains, and ends as its arguments say."""
import os
import sys

import torch
from torch import nn


def main(steps, end="", keeps="numbers"):
    model = nn.Linear(16, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    history = []
    for _ in range(int(steps)):
        loss = model(torch.randn(8, 16)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss if keeps == "losses" else loss.item())
    print(len(history), flush=True)
    print(__name__, __file__, __spec__ is None, sys.argv, sys.path[0], type(__loader__).__name__)
    if end.isdigit():
        sys.exit(int(end))
    if end.startswith("SIG"):
        os.kill(os.getpid(), getattr(__import__("signal"), end))
    if end == "raise":
        raise ValueError("as it is")
    if end == "_exit":
        os._exit(9)


if __name__ == "__main__":
    main(*sys.argv[1:])
'''


@pytest.fixture(name="folder")
def write_scripts(stepleak: CommandLine) -> CommandLine:
    stepleak.write("train.py", TRAIN)
    stepleak.write("package/__init__.py", "")
    stepleak.write("package/module.py", TRAIN)
    return stepleak


def natively(folder: CommandLine, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=folder.folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(
    "command",
    [["train.py", "70", "raise"], ["-m", "package.module", "20", "raise"], ["train.py", "70", "SIGINT"]],
    ids=" ".join,
)
def test_an_exception_looks_and_ends_as_without_us(command: list[str], folder: CommandLine) -> None:
    native = natively(folder, *command)
    watched = folder("watch", *command)
    assert watched.out == native.stdout
    assert watched.err.startswith(native.stderr)
    assert watched.err != native.stderr, "the report is missing"
    assert watched.code == native.returncode


TWENTY_STEPS = """
weights = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([weights], lr=0.1)
for _ in range(20):
    (weights * 2).sum().backward()
    optimizer.step()
"""

REFUSING = (
    """
import torch

class Loud(type):
    def __getattribute__(cls, name):
        if name in ("__name__", "__qualname__"):
            raise RuntimeError(name)
        return super().__getattribute__(name)

class Nameless(Exception, metaclass=Loud):
    pass

class Raising(Exception):
    def __str__(self):
        raise ValueError

class Counting(Exception):
    def __str__(self):
        return 5

"""
    + TWENTY_STEPS
    + 'raise KIND("a message")\n'
)


@pytest.mark.parametrize("kind", ["Raising", "Counting", "Nameless", "ValueError"])
def test_an_exception_that_refuses_to_tell_is_shown_as_without_us_and_named(kind: str, folder: CommandLine) -> None:
    folder.write("refusing.py", REFUSING.replace("KIND", kind))
    native = natively(folder, "refusing.py")
    watched = folder("watch", "--json", "out.json", "refusing.py")
    assert watched.code == native.returncode == 1
    assert watched.err.startswith(native.stderr)
    assert "_script" not in watched.err
    failure = folder.results("out.json")["refusing.py"]["failure"]
    assert kind in failure["what"]
    assert ("a message" in failure["what"]) is (kind == "ValueError")


HOOKED = (
    """
import sys, traceback, torch

def hook(kind, error, trace):
    print("hooked", kind.__name__)
    END

sys.excepthook = hook
"""
    + TWENTY_STEPS
    + 'raise ValueError("a message")\n'
)


@pytest.mark.parametrize("end", ["traceback.print_last()", "raise OSError('no mail')", "sys.exit(5)"])
def test_a_hook_of_the_scripts_shows_its_exception_once(end: str, folder: CommandLine) -> None:
    folder.write("hooked.py", HOOKED.replace("END", end))
    native = natively(folder, "hooked.py")
    watched = folder("watch", "hooked.py")
    assert watched.code == native.returncode
    assert watched.out == native.stdout
    assert watched.err.startswith(native.stderr)
    assert "_script_run" not in watched.err


def test_a_compiled_script_runs_as_well(folder: CommandLine) -> None:
    source = folder.write("compiled.py", REFUSING.replace("KIND", "SystemExit"))
    py_compile.compile(str(source), cfile=str(source.with_suffix(".pyc")), doraise=True)
    source.unlink()
    native = natively(folder, "compiled.pyc")
    watched = folder("watch", "compiled.pyc")
    assert watched.code == native.returncode == 1
    assert watched.err.startswith(native.stderr)


@pytest.mark.parametrize(("end", "code"), [("7", 7), ("SIGKILL", -9), ("SIGTERM", -15), ("_exit", 9), ("", 0)])
def test_the_verdict_and_the_exit_code_survive_every_end(end: str, code: int, folder: CommandLine) -> None:
    watched = folder("watch", "--json", "out.json", "train.py", "70", end)
    assert watched.code == code, watched.text
    result = folder.results("out.json")["train.py"]
    assert result["verdict"] == "clean", watched.text
    assert "SGD.step (train.py:" in result["conditions"]["steps found by"]


def test_what_a_killed_script_did_before_a_verdict_is_kept(folder: CommandLine) -> None:
    watched = folder("watch", "--json", "out.json", "train.py", "40", "SIGKILL")
    assert watched.code == -signal.SIGKILL
    result = folder.results("out.json")["train.py"]
    assert result["verdict"] == "failure"
    assert "killed by SIGKILL in step" in result["failure"]["what"]
    assert result["steps"] > 30
    assert any(len(values) == result["steps"] for values in result["series"].values())


@pytest.mark.skipif(not TORCHRUN.exists(), reason="torch's torchrun does not stand beside the interpreter")
@pytest.mark.parametrize("way", ["--no-python", "-m"])
def test_torchrun_runs_it_as_any_program(way: str, folder: CommandLine) -> None:
    program = [way, *folder._command] if way == "--no-python" else [way, "stepleak"]
    watch = ["watch", "--json", "out.json", "train.py", "70"]
    ran = subprocess.run(
        # On a port that is free, since others may test at the same time.
        [str(TORCHRUN), "--standalone", "--nproc-per-node", "1", *program, *watch],
        cwd=folder.folder, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert folder.results("out.json")["train.py"]["verdict"] == "clean", ran.stderr


def test_too_few_steps_are_inconclusive_and_it_says_how_many_are_needed(folder: CommandLine) -> None:
    watched = folder("watch", "--exit-code", "train.py", "30")
    assert watched.code == 2
    assert "before it could be judged: let it run 64 at least" in watched.err


def test_stop_ends_the_script_once_it_is_decided(folder: CommandLine) -> None:
    watched = folder("watch", "--stop", "--trace", "kept.trace", "train.py", "100000000", "", "losses")
    assert watched.code == 1, watched.text
    assert watched.out == ""
    assert "train.py leaks" in watched.err
    again = folder("analyze", "kept.trace")
    assert again.code == 1
    assert "history" in again.out


@pytest.mark.parametrize(
    "statement",
    ["await train()", "task = asyncio.create_task(train()); await asyncio.sleep(1000)"],
    ids=["main", "task"],
)
def test_stop_ends_a_task_without_a_word_of_asyncio(statement: str, folder: CommandLine) -> None:
    folder.write(
        "serve.py",
        f"""
        import asyncio
        import torch

        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        served_losses = []

        async def train():
            while True:
                optimizer.zero_grad()
                loss = model(torch.rand(8, 4)).mean()
                loss.backward()
                optimizer.step()
                served_losses.append(loss)
                await asyncio.sleep(0)

        async def main():
            {statement}

        asyncio.run(main())
        """,
    )
    watched = folder("watch", "--stop", "serve.py")
    assert watched.code == 1, watched.text
    assert "serve.py leaks" in watched.err
    assert "Task exception" not in watched.err
    assert "Traceback" not in watched.err


HANDLERS = {"SIG_DFL": "signal.default_int_handler", "SIG_IGN": "signal.SIG_IGN"}


@pytest.mark.parametrize("sigint", HANDLERS)  # a shell has what runs in its background ignore it
@pytest.mark.parametrize("wait", ["results.get()", "worker.join()"])
def test_stop_in_a_thread_ends_who_waits_for_it(wait: str, sigint: str, folder: CommandLine) -> None:
    folder.write(
        "serve.py",
        f"""
        import queue, signal, threading
        import torch

        model = torch.nn.Linear(4, 1)
        results = queue.Queue()

        def serve():
            with torch.inference_mode():
                for _ in range(100000000):
                    model(torch.rand(8, 4))

        assert signal.getsignal(signal.SIGINT) == {HANDLERS[sigint]}
        worker = threading.Thread(target=serve, daemon=True)
        worker.start()
        {wait}
        """,
    )
    before = signal.signal(signal.SIGINT, getattr(signal, sigint))
    try:
        watched = folder("watch", "--stop", "serve.py")
    finally:
        signal.signal(signal.SIGINT, before)
    assert watched.code == 0, watched.text
    assert "serve.py is clean" in watched.err
    assert "Traceback" not in watched.err


def test_max_steps_ends_the_script(folder: CommandLine) -> None:
    watched = folder("watch", "--max-steps", "20", "--json", "out.json", "train.py", "100000000")
    assert watched.code == 0
    assert folder.results("out.json")["train.py"]["steps"] == 20


COUNTED = """
import atexit
import torch
from torch import nn

class Count(nn.Linear):
    passes = 0
    def forward(self, x):
        Count.passes += 1
        return super().forward(x)

atexit.register(lambda: print(Count.passes, flush=True))
model, kept = Count(8, 4), []
optimizer = {optimizer}
for _ in range(100_000):
    loss = model(torch.rand(2, 8)).sum()
    {step}
    {keeps}
"""


@pytest.mark.parametrize("keeps", ["pass", "kept.append(loss)"])
@pytest.mark.parametrize("optimizer", ["torch.optim.SGD(model.parameters(), lr=0.1)", "None"])
def test_max_steps_ends_the_script_after_its_verdict_too(folder: CommandLine, keeps: str, optimizer: str) -> None:
    trains = optimizer != "None"
    step = "optimizer.zero_grad(); loss.backward(); optimizer.step()" if trains else "pass"
    folder.write("counted.py", COUNTED.format(optimizer=optimizer, step=step, keeps=keeps))
    watched = folder("watch", "--effort", "quick", "--max-steps", "150", "counted.py")
    assert watched.code == 0
    assert ("leaks" if keeps != "pass" else "is clean") in watched.err
    assert 150 < int(watched.out) < 160  # the watch begins where a step has been seen to repeat


def _serving(folder: CommandLine) -> subprocess.Popen[str]:
    """A watched script that ends with code 11 on SIGTERM, once it is ready for that."""
    folder.write(
        "serve.py",
        """
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(11))
        print("ready", flush=True)
        time.sleep(60)
        """,
    )
    process = folder.start("watch", "serve.py")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_signal_reaches_the_script(folder: CommandLine) -> None:
    process = _serving(folder)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 11
    assert "no step was found: the script imported no torch" in err


def test_a_script_that_raises_before_its_steps_is_not_told_to_run_longer(folder: CommandLine) -> None:
    folder.write("broken.py", "import torch\nimport no_module_of_this_name\n")
    watched = folder("watch", "broken.py")
    assert watched.code == 1
    assert "no step was found before the script raised ModuleNotFoundError: No module named" in watched.err
    assert "let it run" not in watched.text


@pytest.mark.parametrize("imported", ["torch", "os"])
@pytest.mark.parametrize(("seconds", "is_told"), [("1.2", True), ("0", False)])
def test_a_script_whose_children_do_the_work_is_told_so(
    folder: CommandLine, imported: str, seconds: str, is_told: bool
) -> None:
    folder.write(
        "work.py", f"import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass\n"
    )
    folder.write("launch.py", f"import subprocess, sys, {imported}\nsubprocess.run([sys.executable, 'work.py'])\n")
    watched = folder("watch", "launch.py")
    assert watched.code == 0
    assert "no step was found" in watched.err
    assert ("its child processes, which are not watched, took 1 s" in watched.err) is is_told
    assert ("let it run longer" in watched.err) is (imported == "torch" and not is_told)


def test_the_script_dies_with_the_command_line(folder: CommandLine) -> None:
    folder.write("sleep.py", "import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n")
    process = folder.start("watch", "sleep.py")
    assert process.stdout is not None
    script = int(process.stdout.readline())
    process.kill()
    process.communicate(timeout=60)
    for _ in range(100):
        if not Path(f"/proc/{script}").exists() or "Z" in Path(f"/proc/{script}/stat").read_text().split()[2]:
            return
        time.sleep(0.1)
    os.kill(script, signal.SIGKILL)
    pytest.fail("the script outlived it")


def test_random_numbers_and_the_environment_are_the_scripts(folder: CommandLine) -> None:
    folder.write(
        "draw.py",
        """
        import os, sys
        assert "torch" not in sys.modules
        os.environ["OMP_NUM_THREADS"] = "1"
        import random, torch
        torch.manual_seed(5); random.seed(5)
        w = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(20):
            (w * torch.rand(2)).sum().backward()
            optimizer.step()
        print(w.tolist(), random.random(), torch.get_num_threads())
        """,
    )
    native = natively(folder, "draw.py")
    watched = folder("watch", "draw.py")
    assert native.returncode == 0, native.stderr
    assert watched.out == native.stdout


def test_files_that_the_script_writes_are_those_of_a_plain_run_byte_for_byte(folder: CommandLine) -> None:
    folder.write(
        "save.py",
        """
        import json, pickle, random
        import torch

        torch.manual_seed(5)
        random.seed(5)
        model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(), torch.nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters())
        losses = []
        for step in range(200):
            optimizer.zero_grad()
            loss = model(torch.randn(4, 8)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if step % 50 == 49:
                states = [model.state_dict(), optimizer.state_dict(), torch.get_rng_state()]
                torch.save(states, f"files/{step}.pt")
        torch.save(model, "files/model.pt")
        with open("files/random.pickle", "wb") as file:  # no tensors: pickle writes the addresses of their storages
            pickle.dump(random.getstate(), file)
        with open("files/losses.json", "w") as file:
            json.dump(losses, file)
        """,
    )
    written = []
    for is_watched in (False, True):
        files = folder.folder / "files"
        files.mkdir()
        ran = folder("watch", "--json", "out.json", "save.py") if is_watched else natively(folder, "save.py")
        assert (ran.code if isinstance(ran, Outcome) else ran.returncode) == 0, ran
        written.append({path.name: path.read_bytes() for path in files.iterdir()})
        files.rename(folder.folder / f"files_{is_watched}")
    assert len(written[0]) == 7
    assert written[0].keys() == written[1].keys()
    assert [name for name, content in written[0].items() if written[1][name] != content] == []
    assert folder.results("out.json")["save.py"]["verdict"] == "clean"
    assert folder.results("out.json")["save.py"]["verdict"] == "clean"


def test_a_script_that_never_repeats_says_what_was_seen(folder: CommandLine) -> None:
    folder.write("once.py", "import torch\ntorch.nn.Linear(2, 2)(torch.ones(1, 2))\n")
    watched = folder("watch", "--json", "out.json", "once.py")
    assert watched.code == 0
    result = folder.results("out.json")["once.py"]
    assert result["verdict"] == "inconclusive"
    assert "0 optimizer steps, 0 batches of a DataLoader and 1 calls of a module" in result["reason"]


def test_makes_room_for_a_script_that_judges_itself(folder: CommandLine) -> None:
    folder.write(
        "self.py",
        """
        import stepleak, torch
        w = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1)

        def step():
            (w * 2).sum().backward()
            optimizer.step()

        for _ in range(5):
            step()
        print(stepleak.check(step, effort="quick").verdict)
        """,
    )
    watched = folder("watch", "self.py")
    assert (watched.code, watched.out) == (0, "clean\n"), watched.text
    assert "the script judges itself" in watched.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no script was named"),
        (["-m"], "-m names no module"),
        (["--speed", "train.py"], "there is no option --speed"),
        (["absent.py"], "there is no file absent.py"),
        (["--json", "-", "train.py"], "the standard output is the script's"),
        (["--steps", "3", "train.py"], "3 steps are too few"),
        (["--steps", "20", "--min-steps", "50", "train.py"], "no verdict before 50 steps, and no more than 20 steps"),
        (["--device", "mps", "train.py"], "'mps' is no device"),
    ],
)
def test_wrong_use_is_refused_before_the_script_runs(arguments: list[str], said: str, folder: CommandLine) -> None:
    watched = folder("watch", *arguments)
    assert watched.code == 64
    assert said in watched.err
    assert watched.out == ""


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_a_gpu_that_is_not_there_is_told_before_the_script_runs(device: str, folder: CommandLine) -> None:
    watched = folder("watch", "--device", device, "train.py", "20", switches={"CUDA_VISIBLE_DEVICES": ""})
    assert (watched.code, watched.out == "") == ((3, True) if device == "cuda" else (0, False)), watched.text
    assert ("stepleak: cuda cannot be used: " in watched.err) is (device == "cuda")


def test_the_least_steps_may_be_all_that_there_are(folder: CommandLine) -> None:
    watched = folder("watch", "--steps", "80", "--min-steps", "80", "--exit-code", "train.py", "100")
    assert watched.code == 0, watched.text


def test_junit_has_the_verdict(folder: CommandLine) -> None:
    assert folder("watch", "--junit", "out.xml", "train.py", "70").code == 0
    assert 'name="train.py"' in (folder.folder / "out.xml").read_text()


def test_a_script_is_read_whatever_its_name_ends_in(folder: CommandLine) -> None:
    folder.write(
        "train",
        """
        import torch
        from torch import nn

        model, history = nn.Linear(8, 1), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(800):
            x = torch.rand(4, 8)
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            history.append(x)
            if len(history) > 400:
                history.pop(0)
        """,
    )
    watched = folder("watch", "--json", "out.json", "train")
    result = folder.results("out.json")["train"]
    assert result["verdict"] == "clean", watched.text
    assert any("bounded at 400" in note for note in result["notes"]), result["notes"]


@pytest.mark.parametrize(("keeps", "verdict"), [("losses", "leak"), ("numbers", "clean")])
def test_a_torch_that_was_imported_before_us_is_followed(keeps: str, verdict: str, folder: CommandLine) -> None:
    folder.write("site/sitecustomize.py", "import torch")
    paths = os.pathsep.join([str(folder.folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    watched = folder("watch", "--json", "out.json", "train.py", "70", "", keeps, switches={"PYTHONPATH": paths})
    assert watched.code == 0
    assert folder.results("out.json")["train.py"]["verdict"] == verdict, watched.text


LIMITED = """
import resource, signal, torch

signal.signal(signal.SIGXFSZ, signal.HANDLER)
weights = torch.ones(64, requires_grad=True)
optimizer = torch.optim.SGD([weights], lr=0.1)
kept = []
resource.setrlimit(resource.RLIMIT_FSIZE, (MOST, MOST))
for _ in range(80):
    loss = (weights * 2).sum()
    loss.backward()
    optimizer.step()
    kept.append(KEPT)
"""


@pytest.mark.parametrize(("kept", "verdict"), [("loss", "leak"), ("loss.item()", "clean")])
@pytest.mark.parametrize(("most", "handler"), [(0, "SIG_IGN"), (0, "SIG_DFL"), (20_000, "SIG_IGN")])
def test_a_limit_of_the_size_of_files_costs_neither_script_nor_verdict(
    most: int, handler: str, kept: str, verdict: str, folder: CommandLine
) -> None:
    script = LIMITED.replace("MOST", str(most)).replace("HANDLER", handler).replace("KEPT", kept)
    folder.write("limited.py", script)
    watched = folder("watch", "--json", "out.json", "limited.py")
    assert watched.code == 0, watched.text
    assert "Traceback" not in watched.err
    result = folder.results("out.json")["limited.py"]
    assert (result["verdict"], result.get("failure")) == (verdict, None), watched.text


INTERRUPTED = """
import os, signal, sys, threading, time, torch

def interrupt(main):
    while not any(map(is_ours, frames_of(sys._current_frames()[main]))):
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)

def is_ours(frame):
    code = frame.f_code
    return code.co_filename.endswith("/stepleak/_holders.py") and code.co_name in ("begin", "halfway", "search")

def frames_of(frame):
    while frame is not None:
        yield frame
        frame = frame.f_back

HANDLER
threading.Thread(target=interrupt, args=(threading.get_ident(),), daemon=True).start()
weights = torch.ones(64, requires_grad=True)
optimizer = torch.optim.SGD([weights], lr=0.1)
kept = []
for _ in range(4000):
    kept.append((weights * 2).sum())
    kept[-1].backward()
    optimizer.step()
"""


@pytest.mark.parametrize("has_handler", [False, True])
def test_an_interrupt_while_we_look_shows_no_frame_of_ours(has_handler: bool, folder: CommandLine) -> None:
    handler = "def stop(*_): raise ValueError('stopped')\nsignal.signal(signal.SIGINT, stop)" if has_handler else ""
    folder.write("interrupted.py", INTERRUPTED.replace("HANDLER", handler))
    watched = folder("watch", "--json", "out.json", "interrupted.py")
    shown, _, _ = watched.err.partition("interrupted.py failed")
    assert watched.code == (1 if has_handler else -signal.SIGINT), watched.text
    assert shown.rstrip().endswith("ValueError: stopped" if has_handler else "KeyboardInterrupt"), watched.text
    assert "stepleak/" not in shown
    assert "optimizer.step()" in shown
    assert ("in stop" in shown) is has_handler


@pytest.mark.parametrize("whom", ["group", "command"])
def test_a_signal_reaches_the_script_once(whom: str, folder: CommandLine) -> None:
    # Supervisors send to all processes of a group (systemd, Slurm), or to the one that they began.
    folder.write(
        "serve.py",
        """
        import signal, time
        signals = []
        signal.signal(signal.SIGTERM, lambda *_: signals.append("TERM"))
        signal.signal(signal.SIGINT, lambda *_: signals.append("INT"))
        print("ready", flush=True)
        while len(signals) < 3:
            time.sleep(0.01)
        time.sleep(1)
        print(*signals)
        """,
    )
    process = folder.start("watch", "serve.py", is_of_own_group=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    send = os.killpg if whom == "group" else os.kill
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
        send(process.pid, number)
        time.sleep(0.3)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "TERM INT TERM\n"), err


def test_a_signal_to_all_of_our_name_reaches_the_script(folder: CommandLine) -> None:
    process = _serving(folder)
    ours = Path(f"/proc/{process.pid}")
    name = (ours / "comm").read_bytes()
    children = [other for other in Path("/proc").glob("[0-9]*") if _parent_of(other) == process.pid]
    others = [o for o in children if (o / "comm").read_bytes() == name or b"watch\0" in (o / "cmdline").read_bytes()]
    assert len(children) == 2
    for one in [ours, *others]:  # as pkill does
        os.kill(int(one.name), signal.SIGTERM)
    assert process.wait(timeout=60) == 11


def _parent_of(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return -1
