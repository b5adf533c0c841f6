# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What scripts do to their own process, and what must be as without us all the same."""

from __future__ import annotations

import os
import subprocess
import sys
import zipapp

import pytest
from conftest import CommandLine

TRAINING = """
import torch
w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
kept = []

def step():
    loss = (w - 1).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    kept.append(loss)
"""


def natively(folder: CommandLine, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, script], cwd=folder.folder, capture_output=True, text=True, timeout=120, check=False
    )


def test_tracebacks_and_warnings_name_no_frame_of_ours(stepleak: CommandLine) -> None:
    stepleak.write(
        "frames.py",
        """
        import sys, traceback
        import torch
        from torch.utils.data import DataLoader, Dataset, IterableDataset

        class Broken(Dataset):
            def __len__(self):
                return 20

            def __getitem__(self, index):
                if index == 9:
                    raise ValueError("a bad sample")
                return torch.zeros(2)

        class Longer(IterableDataset):
            def __len__(self):
                return 3

            def __iter__(self):
                return iter(range(8))

            def __repr__(self):
                return "longer than it says"

        def epoch():
            for _ in DataLoader(Broken(), 2):
                pass

        loader = DataLoader(Longer(), 2)
        assert len(loader) == 2
        for _ in loader:
            pass
        for action in (epoch, lambda: torch.optim.SGD([], lr=0.1)):
            try:
                action()
            except ValueError:
                traceback.print_exc()
        sys.stderr.flush()
        try:
            epoch()
        except ValueError as error:
            raise RuntimeError("it is wrapped") from error
        """,
    )
    native = natively(stepleak, "frames.py")
    watched = stepleak("watch", "frames.py")
    assert native.stderr.count("ValueError: a bad sample") == 2
    assert "frames.py:31: UserWarning: Length of IterableDataset longer" in native.stderr
    assert watched.err.startswith(native.stderr), watched.err
    assert watched.code == native.returncode == 1


def test_calls_of_modules_are_as_without_us(stepleak: CommandLine) -> None:
    stepleak.write(
        "calls.py",
        """
        import copy, traceback, warnings
        import torch
        from torch import nn

        class Nest(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.inner = Nest(depth - 1) if depth > 0 else None

            def forward(self, x, fails=False):
                if self.inner is not None:
                    return self.inner(x, fails)
                warnings.warn("so deep", stacklevel=2)
                if fails:
                    raise ValueError("no further")
                return x + 1

        print(Nest(215)(torch.zeros(1)))
        hooked = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        hooked[0].register_forward_hook(lambda module, args, result: result + 1)
        print(torch.compile(hooked, backend="eager", fullgraph=True)(torch.ones(2)).shape)
        try:
            Nest(2)(torch.zeros(1), fails=True)
        except ValueError:
            traceback.print_exc()

        model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        whole = torch.compile(model, backend="eager", fullgraph=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        torch.jit.script(nn.Linear(2, 2))(torch.ones(2))
        for _ in range(3):
            whole(torch.ones(2)).sum().backward()
            optimizer.step()
        print(torch._dynamo.utils.counters["stats"], torch._dynamo.utils.counters["graph_break"])
        alone = nn.Linear(2, 2)
        print(nn.Module._compiled_call_impl, alone._compiled_call_impl)
        alone.compile(backend="eager", fullgraph=True)
        print(alone(torch.ones(2)).shape, copy.deepcopy(alone)._compiled_call_impl)
        """,
    )
    native = natively(stepleak, "calls.py")
    watched = stepleak("watch", "calls.py")
    assert native.returncode == 0, native.stderr
    assert "ValueError: no further" in native.stderr
    assert watched.out == native.stdout
    assert watched.err.startswith(native.stderr), watched.err


@pytest.mark.parametrize("compiled", ["optimizer.step", "step"])
def test_a_compiled_optimizer_step_runs_as_without_us(compiled: str, stepleak: CommandLine) -> None:
    stepleak.write(
        "compiled.py",
        TRAINING
        + f"""
eager = {compiled}
{compiled} = torch.compile(eager, backend="eager")
model = torch.nn.Linear(3, 1)
for _ in range(20):
    model(torch.ones(3))
    step()
print(torch._dynamo.utils.counters["stats"], torch._dynamo.utils.counters["graph_break"])
""",
    )
    native = natively(stepleak, "compiled.py")
    watched = stepleak("watch", "compiled.py")
    assert native.returncode == 0, native.stderr
    assert (watched.code, watched.out) == (0, native.stdout), watched.text


def test_a_new_optimizer_now_and_then_leaves_nothing_of_ours(stepleak: CommandLine) -> None:
    stepleak.write(
        "sweep.py",
        """
        import torch
        w = torch.zeros(3, requires_grad=True)
        for _ in range(300):
            optimizer = torch.optim.Adam([w])
            for _ in range(2):
                optimizer.zero_grad()
                (w - 1).square().sum().backward()
                optimizer.step()
        """,
    )
    watched = stepleak("watch", "--strict", "--exit-code", "--json", "out.json", "sweep.py")
    assert watched.code == 0, watched.text
    assert stepleak.results("out.json")["sweep.py"]["notes"] == []


def test_threads_that_python_ends_are_waited_for_and_judged(stepleak: CommandLine) -> None:
    stepleak.write(
        "late.py",
        TRAINING
        + """
import atexit
from concurrent.futures import ThreadPoolExecutor

pool = ThreadPoolExecutor(1)
done = [pool.submit(step) for _ in range(70)]
atexit.register(lambda: print("at exit", sum(one.done() for one in done)))
""",
    )
    watched = stepleak("watch", "--json", "out.json", "late.py")
    assert (watched.code, watched.out) == (0, "at exit 70\n"), watched.text
    assert stepleak.results("out.json")["late.py"]["verdict"] == "leak"


def test_nothing_is_written_to_files_that_took_the_place_of_our_descriptors(stepleak: CommandLine) -> None:
    stepleak.write(
        "daemon.py",
        TRAINING
        + """
import os
for _ in range(20):
    step()
os.closerange(3, 64)
files = [open(f"{number}.log", "w") for number in range(8)]
for _ in range(60):
    step()
""",
    )
    watched = stepleak("watch", "daemon.py")
    assert watched.code == 0, watched.text
    assert [(stepleak.folder / f"{number}.log").read_text() for number in range(8)] == [""] * 8
    assert "daemon.py leaks" in watched.err


def test_a_script_that_closes_what_it_inherited_has_its_verdict(stepleak: CommandLine) -> None:
    stepleak.write("daemon.py", "import os\nos.closerange(3, 1024)\n" + TRAINING + "for _ in range(80):\n    step()\n")
    watched = stepleak("watch", "--json", "out.json", "daemon.py")
    assert watched.code == 0, watched.text
    assert stepleak.results("out.json")["daemon.py"]["verdict"] == "leak"


def test_a_script_has_its_own_modules_in_the_place_of_those_that_watching_takes(stepleak: CommandLine) -> None:
    stepleak.write("resource.py", "LIMIT = 3")
    stepleak.write("train.py", "from resource import LIMIT\n" + TRAINING + "print(LIMIT)\n")
    watched = stepleak("watch", "train.py")
    assert (watched.code, watched.out) == (0, "3\n"), watched.text


def test_a_script_may_come_through_a_pipe(stepleak: CommandLine) -> None:
    script = TRAINING + "for _ in range(300):\n    step()\nprint(len(kept))\n"
    watched = stepleak("watch", "--json", "out.json", "/dev/stdin", text=script)
    assert (watched.code, watched.out) == (0, "300\n"), watched.text
    assert stepleak.results("out.json")["/dev/stdin"]["verdict"] == "leak"


def test_a_script_that_starts_itself_anew_finds_its_own_command(stepleak: CommandLine) -> None:
    stepleak.write(
        "again.py",
        """
        import os, sys
        if os.environ.get("AGAIN") != "1":
            os.environ["AGAIN"] = "1"
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
        print("again", sys.argv[1:])
        """,
    )
    watched = stepleak("watch", "again.py", "--x")
    assert (watched.code, watched.out) == (0, "again ['--x']\n"), watched.text


def test_a_script_that_becomes_another_program_says_what_to_watch(stepleak: CommandLine) -> None:
    stepleak.write(
        "again.py",
        """
        import os, sys
        if os.environ.get("AGAIN") != "1":
            os.environ["AGAIN"] = "1"
            os.execv(sys.executable, [sys.executable, *sys.argv])
        print("again")
        """,
    )
    watched = stepleak("watch", "again.py")
    assert (watched.code, watched.out) == (0, "again\n")
    assert "as another program that it became by os.exec" in watched.err


@pytest.mark.parametrize("how", ["folder", "archive"])
def test_a_folder_and_an_archive_with_a_main_run_as_under_python(stepleak: CommandLine, how: str) -> None:
    stepleak.write("app/__main__.py", "import sys\nimport other\nprint(__name__, sys.argv[1:], other.NAME)\n")
    stepleak.write("app/other.py", "NAME = __file__.rpartition('/')[2]\n")
    app = "app"
    if how == "archive":
        app = "app.pyz"
        zipapp.create_archive(stepleak.folder / "app", stepleak.folder / app)
    watched = stepleak("watch", app, "--its")
    assert (watched.code, watched.out) == (0, "__main__ ['--its'] other.py\n"), watched.text


WHEREABOUTS = """
import os, sys
print(sys.path[0], __file__, sys.argv, flush=True)
os.chdir("/")
import late
"""


@pytest.mark.parametrize("script", ["app.pyz", "./app.pyz", "app", "../{}/app.pyz", "../{}/app/__main__.py"])
def test_a_script_is_where_it_is_without_us(script: str, stepleak: CommandLine) -> None:
    stepleak.write("app/__main__.py", WHEREABOUTS)
    stepleak.write("app/late.py", "print(__file__)\n")
    zipapp.create_archive(stepleak.folder / "app", stepleak.folder / "app.pyz")
    script = script.format(stepleak.folder.name)
    native = natively(stepleak, script)
    assert native.returncode == 0, native.stderr
    assert stepleak("watch", script).out == native.stdout


def test_a_separator_before_the_script_is_none_of_its_words(stepleak: CommandLine) -> None:
    stepleak.write("shown.py", "import sys\nprint(sys.argv)\n")
    assert stepleak("watch", "--effort", "quick", "--", "shown.py", "--", "x").out == "['shown.py', '--', 'x']\n"
    assert stepleak("watch", "shown.py", "--", "x").out == "['shown.py', '--', 'x']\n"


def test_a_script_that_patches_what_we_ask_for_is_watched_all_the_same(stepleak: CommandLine) -> None:
    patched = "import os\nos.getpid = lambda: 1 / 0\n"
    stepleak.write("patched.py", TRAINING + patched + "for _ in range(80):\n    step()\n")
    watched = stepleak("watch", "patched.py")
    assert watched.code == 0, watched.text
    assert "patched.py leaks" in watched.err


def test_a_limit_of_file_sizes_is_named(stepleak: CommandLine) -> None:
    stepleak.write("shown.py", "print('shown')\n")
    line = f"ulimit -f 100; exec '{os.environ['STEPLEAK_CLI']}' watch shown.py"
    done = subprocess.run(["bash", "-c", line], cwd=stepleak.folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "ulimit -f" in done.stderr


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
def test_where_stderr_takes_nothing_the_exit_code_is_the_scripts(stderr: str, stepleak: CommandLine) -> None:
    stepleak.write("shown.py", "print('shown')\n")
    line = f"exec '{os.environ['STEPLEAK_CLI']}' watch --json result.json shown.py {stderr}"
    done = subprocess.run(["bash", "-c", line], cwd=stepleak.folder, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "shown\n")
    assert "shown.py" in stepleak.results("result.json")


# Its time is up while stepleak's own code runs: in a function, or below it.
TIMED = """
import signal

class TimeIsUp(Exception):
    pass

def stop(number, frame):
    while frame is not None:
        code = frame.f_code
        if code.co_filename.endswith("stepleak/{file}") and code.co_name == "{function}":
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise TimeIsUp
        frame = frame.f_back

signal.signal(signal.SIGALRM, stop)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
try:
    for _ in range(2000):
        step()
    print("never")
except TimeIsUp:
    print("stopped")
"""


@pytest.mark.parametrize(
    ("file", "function", "verdict"),
    [
        ("_holders.py", "search", "is inconclusive"),
        ("_script_watch.py", "_step", "failed"),
        ("_script_watch.py", "_begin", ""),
    ],
)
def test_what_a_handler_raises_in_our_code_reaches_the_script(
    file: str, function: str, verdict: str, stepleak: CommandLine
) -> None:
    timed = TIMED.replace("{file}", file).replace("{function}", function)
    stepleak.write("timed.py", TRAINING + timed)
    watched = stepleak("watch", "timed.py")
    assert (watched.code, watched.out) == (0, "stopped\n"), watched.text
    assert "stepleak itself" not in watched.err
    assert f"timed.py {verdict}" in watched.err
