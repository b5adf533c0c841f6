# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A folder for one call of the command line, which tells what the call left behind: processes, files, half of one."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

_MOST_HASHED = 1 << 20
MARK = "STEPLEAK_HOSTILE_CASE"


@dataclass(frozen=True)
class End:
    """How a call ended."""

    code: int
    out: bytes
    err: bytes
    seconds: float = 0

    @property
    def text(self) -> str:
        return (self.out + b"\n" + self.err).decode("utf-8", "replace")


def _state_of(path: Path) -> str:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    if path.is_file() and path.stat().st_size > _MOST_HASHED:
        return f"{path.stat().st_size} bytes, {path.stat().st_mtime_ns}"
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest() + f" {path.stat().st_mode:o}"
    return "folder" if path.is_dir() else "special"


class Sandbox:
    """Everything that is started in it carries a mark in its environment, daemons included."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.temporary = folder / "tmp"
        self.folder.mkdir()
        self.temporary.mkdir()
        self.mark = uuid.uuid4().hex
        self._before: dict[str, str] = {}

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        own = {MARK: self.mark, "TMPDIR": str(self.temporary), "HOME": str(self.temporary.parent)}
        return {**os.environ, **own, **more}

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
        return path

    def remember(self) -> None:
        """What stands now must stand so afterwards."""
        self._before = self._states()

    def _states(self) -> dict[str, str]:
        found = {}
        for path in sorted(self.folder.rglob("*")):
            name = str(path.relative_to(self.folder))
            if "__pycache__" not in name:
                found[name] = _state_of(path)
        return found

    def new_files(self) -> list[str]:
        """What is there beyond what was remembered."""
        return sorted(set(self._states()) - set(self._before))

    def start(self, command: list[str], more: dict[str, str]) -> subprocess.Popen[bytes]:
        """Signals that this process ignores (nohup, a shell's &) reach it."""
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=_heed_signals,
        )

    def call(self, command: list[str], more: dict[str, str], seconds: float = 120) -> End:
        begin = time.monotonic()
        started = self.start(command, more)
        try:
            out, err = started.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.end_processes()
            out, err = started.communicate()
            raise AssertionError(f"no end after {seconds} s: {(out + err)[-2000:]!r}") from None
        return End(started.returncode, out, err, time.monotonic() - begin)

    def processes(self) -> list[int]:
        """Those that carry the mark."""
        found = []
        wanted = f"{MARK}={self.mark}".encode()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                is_zombie = b") Z " in (entry / "stat").read_bytes()
                if not is_zombie and wanted in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
        return found

    def end_processes(self) -> list[int]:
        ended = self.processes()
        for process in ended:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        return ended

    def check_nothing_left(self, outputs: list[str], may_leave_temporary: bool = False) -> None:
        """No process but for the moment that the kernel needs, no file but the named ones, and none changed."""
        deadline = time.monotonic() + 3
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.02)
        left = self.end_processes()
        assert not left, f"processes left: {left}"
        after = self._states()
        new = sorted(set(after) - set(self._before) - set(outputs))
        assert not new, f"files left: {new}"
        lost = sorted(set(self._before) - set(after) - set(outputs))
        assert not lost, f"files gone: {lost}"
        changed = [n for n, state in self._before.items() if n not in outputs and after[n] != state]
        assert not changed, f"files changed: {changed}"
        if not may_leave_temporary:
            # torch's cache of compiled code is for the next run.
            found = [str(path.relative_to(self.temporary)) for path in self.temporary.rglob("*")]
            litter = [name for name in found if not name.startswith("torchinductor_")]
            assert not litter, f"left in the temporary folder: {litter[:5]}"


@dataclass(frozen=True)
class Suite:
    """Scenarios in a sandbox, and what names them and their baselines on the command line."""

    sandbox: Sandbox
    arguments: list[str]


def _heed_signals() -> None:
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
