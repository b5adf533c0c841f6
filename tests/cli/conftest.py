# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The command line as its users have it: a process, its exit code, and what it prints."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest


@dataclass(frozen=True)
class Outcome:
    """How a call of the command line ended."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    def block_of(self, target: str) -> str:
        """What was printed about one target: its headline and the indented lines below."""
        lines = self.out.splitlines()
        starts = [i for i, line in enumerate(lines) if line.startswith(f"{target} ")]
        assert len(starts) == 1, f"{len(starts)} headlines of {target} in:\n{self.text}"
        block = [lines[starts[0]]]
        for line in lines[starts[0] + 1 :]:
            if not line.startswith("  "):
                break
            block.append(line)
        return "\n".join(block)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "default: run with the tests of each day (test_scripts.py)")


def _heed_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class CommandLine:
    """Calls stepleak in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._command = shlex.split(os.environ.get("STEPLEAK_CLI", ""))
        if not self._command:
            pytest.skip("STEPLEAK_CLI names no command; run by: ci/test cli")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def __call__(self, *arguments: str, switches: dict[str, str] | None = None, text: str | None = None) -> Outcome:
        """`switches`: environment variables that the step reads. `text`: what its input is in the place of ours."""
        done = subprocess.run(
            [*self._command, *arguments],
            cwd=self.folder,
            env={**os.environ, **(switches or {})},
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=300,  # not a matter of how busy the machine is
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def start(
        self,
        *arguments: str,
        out: int | IO[bytes] = subprocess.PIPE,
        err: int | IO[bytes] = subprocess.PIPE,
        is_of_own_group: bool = False,
    ) -> subprocess.Popen[str]:
        """The same, and does not wait for the end. Signals that this process ignores (nohup) reach it."""
        return subprocess.Popen(
            [*self._command, *arguments],
            cwd=self.folder,
            stdout=out,
            stderr=err,
            text=True,
            encoding="utf-8",
            start_new_session=is_of_own_group,
            preexec_fn=_heed_signals,
        )

    def results(self, name: str) -> dict[str, dict[str, Any]]:
        """The results in a JSON file, by target."""
        data = json.loads((self.folder / name).read_text(encoding="utf-8"))
        return {result["target"]: result for result in (data if isinstance(data, list) else [data])}


SCENARIOS = os.environ.get("STEPLEAK_TEST_SCENARIOS")
"""Of what is installed, which has none of its own: the checkout's as a user's. None where it is a checkout's."""


def with_scenarios(stepleak: CommandLine) -> CommandLine:
    if SCENARIOS:
        stepleak.write("pyproject.toml", f"[tool.stepleak]\nscenarios = {json.dumps(SCENARIOS)}\n")
    return stepleak


@pytest.fixture
def stepleak(tmp_path: Path) -> CommandLine:
    return with_scenarios(CommandLine(tmp_path))


@pytest.fixture(scope="module")
def shared_stepleak(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """One folder for all tests of a file, for calls that several tests look at."""
    return with_scenarios(CommandLine(tmp_path_factory.mktemp("shared")))
