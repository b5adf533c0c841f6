# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Started as nobody would on purpose: streams closed, signals ignored, threads there before, the folder gone."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import CommandLine

STEPS = """\
    import os
    import signal
    import threading

    import torch

    model = torch.nn.Linear(16, 16)
    kept = []


    def clean():
        model.zero_grad()
        model(torch.randn(4, 16)).square().mean().backward()


    def closes_descriptors():
        clean()
        os.closerange(3, 1024)
        for number in range(20):
            descriptor = os.open(f"own-{number}", os.O_CREAT | os.O_WRONLY)
            os.write(descriptor, b"own")
        kept.append(model(torch.randn(4, 16)).sum())


    def has_python_s_interrupt():
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        clean()


    def has_threads():
        assert threading.active_count() > 1
        clean()
"""


@pytest.fixture
def folder(stepleak: CommandLine) -> CommandLine:
    stepleak.write("steps.py", STEPS)
    return stepleak


def through_shell(folder: CommandLine, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line, "bash", os.environ["STEPLEAK_CLI"]],
        cwd=folder.folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("closed", ["0<&-", "0<&- 1>&- 2>&-"])
def test_closed_streams_cost_no_verdict(closed: str, folder: CommandLine) -> None:
    done = through_shell(folder, f'"$1" run steps.py:clean steps.py:closes_descriptors --json results.json {closed}')
    assert done.returncode == 1, done.stdout + done.stderr
    results = folder.results("results.json")
    assert results["steps.py:clean"]["verdict"] == "clean"
    assert results["steps.py:closes_descriptors"]["verdict"] == "leak"
    assert all((folder.folder / f"own-{number}").read_bytes() == b"own" for number in range(20))


def test_report_that_cannot_be_printed_is_a_failure(folder: CommandLine) -> None:
    done = through_shell(folder, '"$1" run steps.py:has_python_s_interrupt >/dev/full')
    assert done.returncode == 3
    assert "standard output did not take the whole report: No space left on device" in done.stderr


def test_threads_of_the_set_up_of_python_cost_no_verdict(folder: CommandLine) -> None:
    folder.write(
        "site/sitecustomize.py",
        """\
        import threading

        threading.Thread(target=threading.Event().wait, daemon=True).start()
        """,
    )
    outcome = folder(
        "run", "steps.py:has_threads", "steps.py:gone", switches={"PYTHONPATH": str(folder.folder / "site")}
    )
    assert outcome.code == 64, outcome.text
    assert "steps.py:has_threads is clean" in outcome.out
    assert "'gone'" in outcome.err


def test_folder_that_is_gone_is_told(folder: CommandLine) -> None:
    done = through_shell(folder, 'mkdir gone; cd gone; rmdir ../gone; "$1" run steps.py:clean')
    assert done.returncode == 3
    assert "the working folder does not exist any more" in done.stderr
    assert "remedy: cd to one that does" in done.stderr


def test_interrupt_during_the_import_ends_it_at_once(folder: CommandLine) -> None:
    started = folder.start("run", "steps.py:clean")
    maps = Path(f"/proc/{started.pid}/maps")
    while "/torch/_C." not in maps.read_text():
        time.sleep(0.01)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=30)
    assert started.returncode == -signal.SIGINT, err
    assert "KeyboardInterrupt" not in err
    assert out == ""


IN_ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    ("name", "switches", "is_whole_path"),
    [
        (b"m\xc3\xa9 \xe4\xb8\xad", {}, False),
        (b"m\xc3\xa9", IN_ASCII, False),
        (b"m\xe9", {}, False),
        (b"m\xe9", {}, True),
    ],
    ids=["no ASCII", "no ASCII in an ASCII locale", "no text", "no text, by its whole path"],
)
def test_names_of_folders_cost_neither_proof_nor_script(
    name: bytes, switches: dict[str, str], is_whole_path: bool, stepleak: CommandLine
) -> None:
    folder = CommandLine(Path(os.fsdecode(os.fsencode(stepleak.folder) + b"/" + name)))
    folder.write("steps.py", STEPS + "\n    def leaks():\n        kept.append(model(torch.randn(4, 16)).sum())\n")
    folder.write("train.py", "import steps\n\nfor _ in range(400):\n    steps.clean()\n    steps.leaks()\n")
    before = f"{folder.folder}/" if is_whole_path else ""
    step = folder("run", f"{before}steps.py:leaks", "--json", "result.json", switches=switches)
    assert step.code == 1, step.text
    script = folder("watch", "--json", "watched.json", f"{before}train.py", switches=switches)
    assert script.code == 0, script.text
    for result in [*folder.results("result.json").values(), *folder.results("watched.json").values()]:
        assert result["verdict"] == "leak", result
        assert result["findings"][0]["structure"]["type"] == "unbounded", result["findings"]
        assert result["findings"][0]["kept_at"]["text"] == "kept.append(model(torch.randn(4, 16)).sum())"
