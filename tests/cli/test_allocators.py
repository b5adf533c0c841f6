# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps under another malloc: the host heap is observed through it, or said to be unseen. Never silently clean."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import CommandLine

# What `leaks` keeps is no object of the collector's: it shows in the host heap alone.
STEPS = """\
    import os

    import torch

    model = torch.nn.Linear(16, 16)
    kept = []


    def clean():
        model.zero_grad()
        model(torch.randn(4, 16)).square().mean().backward()


    def leaks():
        clean()
        kept.append(os.urandom(3000))  # written to: zeroed memory need not be resident


    def leaks_fast():
        clean()
        kept.append(os.urandom(256 << 10))  # RSS is all that shows it: more than an allocator holds in reserve
"""

SEEN = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}
INCONCLUSIVE = 2
HARNESS_FAILURE = 3


def is_there(library: str) -> bool:
    """The loader only warns of what it cannot preload; what is preloaded may not be loadable later."""
    done = subprocess.run(["/bin/true"], env={"LD_PRELOAD": library}, capture_output=True, check=False)
    return done.returncode == 0 and not done.stderr


# Debian 13 has the 3, Debian 12 the 2.
UNSEEN = {"mimalloc": next(filter(is_there, ("libmimalloc.so.3", "libmimalloc.so.2")), "libmimalloc.so")}


def with_library(name: str, library: str) -> Any:
    return pytest.param(name, library, id=name, marks=pytest.mark.skipif(not is_there(library), reason=f"no {library}"))


@pytest.fixture
def folder(stepleak: CommandLine) -> CommandLine:
    stepleak.write("steps.py", STEPS)
    return stepleak


@pytest.mark.parametrize(("name", "library"), [with_library(*item) for item in SEEN.items()])
def test_host_heap_is_seen_through(name: str, library: str, folder: CommandLine) -> None:
    run = ["run", "steps.py:clean", "steps.py:leaks", "--json", "results.json"]
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(folder, *words, switches={"LD_PRELOAD": library}) for words in (run, ["doctor"])]
        outcome, doctor = (call.result() for call in calls)
    results = folder.results("results.json")
    assert results["steps.py:clean"]["verdict"] == "clean", outcome.text
    assert results["steps.py:clean"]["conditions"]["malloc"] == name
    assert "not seen" not in outcome.text
    assert [finding["kind"] for finding in results["steps.py:leaks"]["findings"]] == ["host_heap"], outcome.text
    assert 3000 <= results["steps.py:leaks"]["findings"][0]["bytes_per_step"] < 3600
    assert f"yes: through {name}" in doctor.out


@pytest.mark.parametrize(("name", "library"), [with_library(*item) for item in UNSEEN.items()])
def test_host_heap_that_is_unseen_is_said_to_be(name: str, library: str, folder: CommandLine) -> None:
    run = ["run", "steps.py:leaks_fast", "--json", "results.json"]
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(folder, *words, switches={"LD_PRELOAD": library}) for words in (run, ["doctor"])]
        outcome, doctor = (call.result() for call in calls)
    assert outcome.code == INCONCLUSIVE, outcome.text
    assert "RSS or Python objects still grow, and the host heap is not seen" in outcome.out
    assert "; the host heap was not seen" in outcome.out
    result = folder.results("results.json")["steps.py:leaks_fast"]
    assert any(note.startswith("the host heap is not seen: ") and name in note for note in result["notes"])
    assert "heap_bytes@cpu" not in result["series"]
    line = next(line for line in doctor.out.splitlines() if line.strip().startswith("host heap"))
    assert " no: " in line
    assert name in line


@pytest.mark.parametrize(("name", "library"), [with_library(*item) for item in UNSEEN.items()])
def test_an_interpreter_is_not_taken_for_the_allocator(name: str, library: str, folder: CommandLine) -> None:
    # Debian's python3 lies at a fixed address, and has an entry for malloc of its own.
    in_python = [sys.executable, "-m", "stepleak", "doctor"]
    environment = {**os.environ, "LD_PRELOAD": library}
    done = subprocess.run(in_python, cwd=folder.folder, env=environment, capture_output=True, text=True, check=False)
    line = next(line for line in done.stdout.splitlines() if line.strip().startswith("host heap"))
    assert f"lib{name}" in line and "python" not in line


@pytest.mark.skipif(not is_there(SEEN["jemalloc"]), reason="no jemalloc")
def test_the_thread_of_an_allocator_has_its_remedy(folder: CommandLine) -> None:
    switches = {"LD_PRELOAD": SEEN["jemalloc"], "MALLOC_CONF": "background_thread:true"}
    outcome = folder("run", "steps.py:clean", "--device", "cpu", switches=switches)
    assert outcome.code == HARNESS_FAILURE, outcome.text
    assert "jemalloc_bg_thd" in outcome.err
    assert "MALLOC_CONF=background_thread:false" in outcome.err
    assert "sitecustomize" not in outcome.err
