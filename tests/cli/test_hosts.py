# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The command line in the user's interpreter: `python -m stepleak` says and does what the program does."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import CommandLine, Outcome

TRAIN = """
    import os
    import sys
    import torch

    kept = []

    def leaks():
        kept.append(torch.ones(64))

    def keeps_nothing():
        torch.ones(64)

    def raises():
        raise ValueError("no batch")

    def tells():
        environment = {name: os.environ.get(name) for name in ("PYTHONMALLOC", "PYTHONHASHSEED", "_STEPLEAK_BEFORE")}
        names = [type(handler).__name__ for handler in map(__import__("signal").getsignal, (2, 13))]
        raise ValueError(f"{environment} {names} {hash('a')} {getattr(sys.modules['__main__'], '__file__', None)} "
                         f"{[path for path in sys.path if path.endswith('/stepleak')]}")
"""


class PythonHost(CommandLine):
    """`python -m stepleak` with the package that PYTHONPATH or the environment offers."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.start_with([])

    def start_with(self, switches: list[str]) -> None:
        self._command = [sys.executable, *switches, "-m", "stepleak"]


@pytest.fixture
def in_python(stepleak: CommandLine) -> PythonHost:
    stepleak.write("train.py", TRAIN)
    return PythonHost(stepleak.folder)


def without_figures(outcome: Outcome) -> tuple[int, list[str], list[str]]:
    """Times and rates of the host heap differ between any two runs, and whether that has settled enough to be counted
    in; so may the name of the interpreter, and a slow run tells how far it is."""
    streams = (outcome.out, outcome.err)
    out, err = (re.sub(r"\d[\d.]*", "N", text.replace("/bin/python3", "/bin/python")).splitlines() for text in streams)
    of_rates = ("  full  ", "stepleak: N of N done")
    out, err = ([line for line in lines if not line.startswith(of_rates)] for lines in (out, err))
    return outcome.code, [line.replace(" leaks at least ", " leaks ") for line in out], err


def without_folder(outcome: Outcome, folder: Path) -> Outcome:
    return Outcome(outcome.code, *(text.replace(str(folder), "FOLDER") for text in (outcome.out, outcome.err)))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["--version"],
        ["nothing"],
        ["run"],
        ["list", "loss_sum_*"],
        ["list", "no_such_*"],
        ["run", "missing.py:step"],
        ["run", *(f"train.py:{name}" for name in ("leaks", "keeps_nothing", "raises")), "-j1", "--device", "cpu"],
    ],
    ids=" ".join,
)
def test_both_hosts_say_the_same(arguments: list[str], stepleak: CommandLine, in_python: PythonHost) -> None:
    assert without_figures(in_python(*arguments)) == without_figures(stepleak(*arguments))


SESSION = """
    init --ci gitlab
    init --ci gitlab
    list mine_*
    baseline update --suite mine_* --device cpu --progress never
    baseline show mine_clean
    gate --suite mine_* --device cpu --progress never --junit gate.xml
    run train.py:leaks --device cpu --progress never --json leak.json --trace leak.trace
    analyze leak.trace --sarif leak.sarif
    report leak.json --html leak.html
    report train.py
    known add leak.json --reason later
    known add train.py --reason later
    watch --device cpu --progress never --exit-code script.py
    doctor
    completion bash
    completion zsh
    completion fish
"""
"""Each verb in a user's project: what one stores another one reads, and the second init finds what the first wrote."""

PROJECT = {
    "train.py": TRAIN,
    "script.py": "import torch\nkept = []\nfor _ in range(200):\n    torch.ones(8).sum()\n",
    "leaks/mine.py": """
        from stepleak.scenario import clean

        @clean(report="")
        def mine_clean(device):
            "Keeps nothing."
            return lambda: None
    """,
    "pyproject.toml": '[tool.stepleak]\nscenarios = "leaks"\nbaselines = "accepted"\n',
}


def test_both_hosts_do_the_same_with_every_verb(stepleak: CommandLine, tmp_path: Path) -> None:
    calls = [line.split() for line in SESSION.strip().splitlines()]
    verbs = re.findall(r"^  ([a-z]+)  ", stepleak("--help").out.partition("Subcommands:")[2], re.MULTILINE)
    assert {call[0] for call in calls} == {*verbs}

    def outcomes(host: CommandLine) -> list[Outcome]:
        for name, text in PROJECT.items():
            host.write(name, text)
        return [without_folder(host(*call), host.folder) for call in calls]

    hosts = (CommandLine(tmp_path / "program"), PythonHost(tmp_path / "python"))
    with ThreadPoolExecutor(2) as pool:  # most calls start an interpreter with torch
        of_program, of_python = pool.map(outcomes, hosts)
    for call, program, python in zip(calls, of_program, of_python, strict=True):
        assert without_figures(python) == without_figures(program), call
    written = [{path.relative_to(host.folder) for path in host.folder.rglob("*.*")} for host in hosts]
    assert written[0] == written[1]
    assert {Path("leak.html"), Path("leak.sarif"), Path("accepted/cpu/mine_clean.json")} <= written[0]


def test_a_step_finds_the_same_process_in_both(stepleak: CommandLine, in_python: PythonHost) -> None:
    own = {"PYTHONHASHSEED": "7", "_STEPLEAK_UNUSED": ""}
    told = [host("run", "train.py:tells", "--device", "cpu", switches=own) for host in (stepleak, in_python)]
    said = [next(line for line in outcome.out.splitlines() if "ValueError" in line) for outcome in told]
    assert said[0] == said[1]
    assert "'PYTHONHASHSEED': '7'" in said[0]
    assert "'PYTHONMALLOC': None" in said[0]


@pytest.mark.parametrize("before", ["nonsense", "[]", '{"PYTHONMALLOC": 1, "PYTHONHASHSEED": null}', "{}"])
def test_what_another_left_in_the_environment_is_no_start_of_ours(before: str, in_python: PythonHost) -> None:
    outcome = in_python("run", "train.py:leaks", "--device", "cpu", switches={"_STEPLEAK_BEFORE": before})
    assert outcome.code == 1, outcome.text
    assert "Traceback" not in outcome.text


@pytest.mark.parametrize("error", ["OSError", "ImportError"])
def test_what_keeps_torch_from_importing_is_told_from_what_is_installed_wrong(
    stepleak: CommandLine, error: str
) -> None:
    stepleak.write(
        "site/sitecustomize.py",
        f"""
        import sys

        class Finder:
            def find_spec(self, name, *_):
                if name == "torch._dynamo":
                    raise {error}("no space left")

        sys.meta_path.insert(0, Finder())
        """,
    )
    stepleak.write("train.py", "def step():\n    pass\n")
    paths = [str(stepleak.folder / "site"), os.environ.get("PYTHONPATH", "")]
    outcome = stepleak("run", "train.py:step", switches={"PYTHONPATH": os.pathsep.join(filter(None, paths))})
    assert outcome.code == 3, outcome.text
    assert "no space left" in outcome.err
    assert ("mend that first" in outcome.err) is (error == "OSError")


@pytest.mark.parametrize("is_before_torch", [True, False], ids=["sitecustomize", "import_of_torch"])
def test_threads_from_before_the_run_cost_no_verdict(is_before_torch: bool, in_python: PythonHost) -> None:
    """Forked, a worker would have their locks and not them: each starts Python's site and torch by itself."""
    in_python.write(
        "site/sitecustomize.py",
        """
        import os
        import threading

        if os.environ["THREAD"] == "now":
            threading.Thread(target=threading.Event().wait, daemon=True).start()
        """,
    )
    in_python.write(
        "train.py",
        """
        import os
        import sys
        import threading

        import stepleak
        import torch

        kept = []

        def leaks():
            kept.append(torch.ones(64))

        def tells():
            paths = [path for path in sys.path if path.endswith(("/stepleak", "/train"))]
            names = [name for name in os.environ if "STEPLEAK_STARTS" in name]
            raise ValueError(f"{threading.active_count()} threads {sys.prefix} {paths} {names} {exit}")
        """,
    )
    path = os.pathsep.join([str(in_python.folder / "site"), os.environ.get("PYTHONPATH", "")])
    switches = {"PYTHONPATH": path, "THREAD": "now" if is_before_torch else "later", "OPENBLAS_NUM_THREADS": "3"}
    targets = ("train.py:leaks", "train.py:tells", "train.py:gone")
    outcome = in_python("run", *targets, "--device", "auto", "--effort", "quick", switches=switches)
    assert outcome.code == 64, outcome.text
    assert "train.py:leaks leaks at least 256 B/step" in outcome.out
    assert "'gone'" in outcome.err
    count = 2 if is_before_torch else 1
    assert f"ValueError: {count} threads {sys.prefix} [] [] Use exit()" in outcome.out


def test_a_folder_with_a_module_of_our_name_is_no_trouble(stepleak: CommandLine, in_python: PythonHost) -> None:
    in_python.write("stepleak.py", "raise SystemExit('the wrong one')\n")
    in_python.write("scenario.py", "raise SystemExit('the wrong one')\n")
    command = "import sys; sys.argv[0] = 'stepleak'; from stepleak.__main__ import main; main()"
    # As the console script does: its own folder comes first, and not the user's.
    in_python._command = [sys.executable, "-c", f"import sys; sys.path.remove(''); {command}"]
    for host in (stepleak, in_python):
        outcome = host("run", "train.py:keeps_nothing", "--device", "cpu", "--effort", "quick")
        assert outcome.code == 0, outcome.text


NAMES_OF_PYTHON = ("json", "signal", "typing", "random", "ctypes", "pickle")
"""Not those that `python -m` imports itself before it comes to us."""


def test_a_folder_with_modules_of_python_s_names_is_no_trouble(in_python: PythonHost) -> None:
    for name in NAMES_OF_PYTHON:
        in_python.write(f"{name}.py", "raise SystemExit('the wrong one')\n")
    assert "stepleak repeats a training step" in in_python("--help").out
    in_python.write("elsewhere/train.py", TRAIN)
    outcome = in_python("run", "elsewhere/train.py:keeps_nothing", "--device", "cpu", "--effort", "quick")
    assert outcome.code == 0, outcome.text


THREADS = """
    import os
    import torch

    def tell():
        names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTORCH_NVML_BASED_CUDA_CHECK")
        print([os.environ.get(name) for name in names], torch.get_num_threads(), flush=True)
        os.system('echo "$OPENBLAS_NUM_THREADS $MKL_NUM_THREADS $PYTORCH_NVML_BASED_CUDA_CHECK"')

    if __name__ == "__main__":
        tell()
"""


@pytest.mark.parametrize("of_the_user", [{}, {"MKL_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}], ids=["", "set"])
def test_scripts_and_steps_have_the_users_threads_and_environment(
    of_the_user: dict[str, str], stepleak: CommandLine, in_python: PythonHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PYTORCH_NVML_BASED_CUDA_CHECK"):
        monkeypatch.delenv(name, raising=False)
    script = str(stepleak.write("threads.py", THREADS))
    environment = {**os.environ, **of_the_user}
    alone = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, check=True).stdout
    asked = ["run", "threads.py:tell", "--effort", "quick", "--device", "cpu", "--show-output"]
    for host in (stepleak, in_python):
        assert host("watch", "threads.py", switches=of_the_user).out == alone
        assert host(*asked, "--threads", "0", switches=of_the_user).out.startswith(alone)
        of_one_thread = re.sub(r"\] \d+", "] 1", alone)
        assert host(*asked, switches=of_the_user).out.startswith(of_one_thread)


TELLS_SWITCHES = """
    import sys
    import torch

    def step():
        torch.ones(64)
        flags = sys.flags
        switches = flags.optimize, flags.dont_write_bytecode, flags.dev_mode, sys.warnoptions, sys._xoptions
        raise ValueError(*switches)
"""


@pytest.mark.parametrize(
    ("switches", "told"),
    [
        (
            ["-OO", "-W", "error::UserWarning", "-X", "faulthandler"],
            "(2, 0, False, ['error::UserWarning'], {'faulthandler': ",
        ),
        (["-X", "dev", "-B"], "(0, 1, True, ['default'], {'dev': True})"),
        ([], "(0, 0, False, [], {})"),
    ],
)
def test_a_step_has_the_switches_that_python_was_started_with(
    switches: list[str], told: str, in_python: PythonHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONWARNINGS", "PYTHONOPTIMIZE"):
        monkeypatch.delenv(name, raising=False)
    in_python.write("switches.py", TELLS_SWITCHES)
    in_python.start_with(switches)
    assert told in in_python("run", "switches.py:step").out


def test_a_signal_ends_it_as_it_ends_the_program(in_python: PythonHost) -> None:
    in_python.write("slow.py", "import time\ndef step():\n    time.sleep(0.05)\n")
    process = in_python.start("run", "slow.py:step", "--device", "cpu", "--steps", "1000")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    until = time.monotonic() + 60
    while not children.read_text() and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT, err
    assert "stopped by SIGINT" in err


def test_an_interrupt_that_the_caller_ignores_stays_ignored(in_python: PythonHost) -> None:
    script = """
        import os, signal
        import torch

        for _ in range(20):
            torch.ones(8)
        os.kill(os.getpid(), signal.SIGINT)
        print("went on")
    """
    in_python.write("script.py", script)
    in_python._command = ["bash", "-c", 'trap "" INT; exec "$@"', "bash", *in_python._command]
    outcome = in_python("watch", "script.py")
    assert outcome.out == "went on\n", outcome.text
    assert outcome.code == 0, outcome.text


@pytest.mark.parametrize("arguments", [["run", "train.py:leaks"], ["doctor"]], ids=["run", "doctor"])
def test_another_torch_than_that_of_the_build_is_refused(arguments: list[str], in_python: PythonHost) -> None:
    in_python.write(
        "sitecustomize.py",
        """
        from stepleak import _torch
        _torch.builds = lambda: [_torch.Build("1.0.0", "", _torch._PACKAGE)]
        """,
    )
    path = os.pathsep.join(filter(None, [str(in_python.folder), os.environ.get("PYTHONPATH")]))
    outcome = in_python(*arguments, switches={"PYTHONPATH": path})
    assert outcome.code == 3, outcome.text
    assert "stepleak was built against torch 1.0.0, and torch 2." in outcome.err
    assert "pip install 'torch==1.0.*'" in outcome.err


def test_a_package_that_nobody_may_write_to_does(in_python: PythonHost) -> None:
    spec = importlib.util.find_spec("stepleak")
    assert spec is not None and spec.submodule_search_locations
    folder = spec.submodule_search_locations[0]
    # Root may write where the permissions say no, so it is mounted.
    mounted = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" || exit 77; touch "$0/new" && exit 78; exec "$@"'
    in_python._command = ["unshare", "-rm", "bash", "-c", mounted, folder, *in_python._command]
    outcome = in_python("run", "train.py:leaks", "train.py:keeps_nothing", "--device", "cpu", "--effort", "quick")
    if outcome.code == 77 or "unshare failed" in outcome.err:
        pytest.skip(f"no folder can be mounted here: {outcome.err}")
    assert "Read-only file system" in outcome.err
    assert outcome.code == 1, outcome.text
    assert "train.py:keeps_nothing is clean" in outcome.out
    assert "kept by train.py:" in outcome.block_of("train.py:leaks")


HEAVY = {
    *("torch", "numpy", "stepleak._core", "stepleak._check", "stepleak._load"),
    *(
        "ast",
        "dataclasses",
        "datetime",
        "inspect",
        "json",
        "linecache",
        "pathlib",
        "platform",
        "re",
        "tomllib",
        "typing",
    ),
}
"""What takes long to import, and is needed only once a step is judged."""


def test_importing_the_package_imports_no_torch() -> None:
    # Some of them may be there before, by what an environment imports as Python starts.
    code = "import sys; before = {*sys.modules}; import stepleak; print(*sorted({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "stepleak" in done.stdout.split()
    assert not HEAVY & set(done.stdout.split())


def test_help_imports_nothing_that_judges(in_python: PythonHost) -> None:
    outcome = in_python("--help", switches={"PYTHONPROFILEIMPORTTIME": "1"})
    imported = set(re.findall(r"^import time:.*\| +(\S+)$", outcome.err, re.MULTILINE))
    assert "stepleak._cli" in imported
    assert not imported & (HEAVY - {"json", "pathlib", "re", "typing"})  # those an environment may import itself


def test_all_that_is_public_is_there_once_it_is_asked_for() -> None:
    code = """
        import stepleak
        assert {*stepleak.__all__} <= {*dir(stepleak)}
        assert all(getattr(stepleak, name).__name__ == name for name in stepleak.__all__)
        assert stepleak.scenario.__name__ == "stepleak.scenario"
        assert repr(stepleak.LeakError) == "<class 'stepleak.LeakError'>"
        assert not hasattr(stepleak, "checks")
        from stepleak import *
        assert watch is stepleak.watch
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
