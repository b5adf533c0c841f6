# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The fresh process of one test: its command line, its files, and that it ends with what started it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stepleak import _pytest_known, _pytest_writer

_SHOWN_LINES = 20
_READ_BYTES = 1 << 16  # of an output that may be as long as all steps print


@dataclass
class Ended:
    """What a fresh process told, how it ended, and the end of its output."""

    told: list[dict[str, Any]]
    status: int
    output: str


def run(item: pytest.Item, effort: str) -> Ended:
    with _terminated_after(), _folder(item.config) as folder:
        reports, output = folder / "reports", folder / "output"
        reports.touch()
        # No pipe, whose end would come only with the last process that the test leaves behind.
        with output.open("wb") as file:
            status = _status_of(_command(item, folder, effort), item.config.invocation_params.dir, file)
        lines = reports.read_text(encoding="utf-8").splitlines()
        return Ended([json.loads(line) for line in lines], status, _end_of(output))


def _status_of(command: list[str], folder: Path, output: Any) -> int:
    """Whatever comes out of waiting, such as the alarm of pytest-timeout, ends the process."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, cwd=folder, **streams) as process:
        try:
            return process.wait()
        except BaseException:
            process.kill()
            raise


def _end_of(file: Path) -> str:
    with file.open("rb") as output:
        output.seek(max(0, file.stat().st_size - _READ_BYTES))
        return "\n".join(output.read().decode(errors="replace").splitlines()[-_SHOWN_LINES:])


@contextlib.contextmanager
def _folder(config: pytest.Config) -> Iterator[Path]:
    """Among the session's temporary files, which pytest clears away even after a session that was killed; the test's
    stay there as long."""
    factory = getattr(config, "_tmp_path_factory", None)
    if factory is None:  # -p no:tmpdir
        with tempfile.TemporaryDirectory(prefix="stepleak-") as name:
            yield Path(name)
        return
    folder = factory.mktemp("stepleak")
    try:
        yield folder
    finally:
        shutil.rmtree(folder / "cache", ignore_errors=True)
        for name in ("reports", "output"):
            (folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the test's files stay
            folder.rmdir()


class _Terminated(BaseException):
    pass


@contextlib.contextmanager
def _terminated_after() -> Iterator[None]:
    """Signals that would end this process at once end what is below first: its process, and its files."""
    is_main = threading.current_thread() is threading.main_thread()
    # Another's handler knows what it does.
    ending = [s for s in (signal.SIGTERM, signal.SIGHUP) if is_main and signal.getsignal(s) == signal.SIG_DFL]

    def end(number: int, _: object) -> None:
        raise _Terminated(number)

    for number in ending:
        signal.signal(number, end)
    try:
        yield
    except _Terminated as error:
        signal.signal(error.args[0], signal.SIG_DFL)
        os.kill(os.getpid(), error.args[0])
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)


def _command(item: pytest.Item, folder: Path, effort: str) -> list[str]:
    config, place = item.config, _pytest_writer.place_of(item)
    command = [
        sys.executable,
        "-m",
        "pytest",
        _argument(item),
        "--stepleak",
        f"--stepleak-reports={folder / 'reports'}",
    ]
    command += [f"--stepleak-place={place}", f"--stepleak-parent={os.getpid()}"]
    command += [f"--stepleak-effort={effort}", f"--rootdir={config.rootpath}"]
    command += _pytest_known.arguments(config)
    for filtered in config.getoption("pythonwarnings") or []:
        command += ["-W", filtered]
    command.append(f"--import-mode={config.getoption('importmode')}")
    if config.pluginmanager.hasplugin("xdist"):
        command += ["-n", "0"]  # whatever the ini file says: this is one test
        worker = getattr(config, "workerinput", None)
        if worker is not None:
            command += ["--stepleak-worker", worker["workerid"], worker["testrunuid"]]
    if config.inipath is not None:
        command += ["-c", str(config.inipath)]
    for plugin in dict.fromkeys([*(config.getoption("plugins") or []), "stepleak.pytest_plugin"]):
        command += ["-p", plugin]
    for setting in config.getoption("override_ini") or []:
        command += ["-o", setting]
    return command + _of_its_own(config, folder)


def _of_its_own(config: pytest.Config, folder: Path) -> list[str]:
    """Files that it would share with the session, which the ini file may name."""
    command = []
    if config.pluginmanager.hasplugin("tmpdir"):
        command.append(f"--basetemp={folder / 'tmp'}")
    if config.pluginmanager.hasplugin("logging"):
        command.append("--log-file=")  # it would begin the session's anew
    if config.pluginmanager.hasplugin("cacheprovider"):
        # Tests and the ini file (`--ff`) may use it; what failed last is for the outer pytest to remember.
        command += ["-o", f"cache_dir={folder / 'cache'}"]
    return command


def _argument(item: pytest.Item) -> str:
    """Its place, or the folder above it whose path has no bracket, after which pytest expects parameters."""
    place, path = _pytest_writer.place_of(item), str(item.path)
    if "[" not in path:
        return place
    from_here = Path(os.path.relpath(path, item.config.invocation_params.dir))
    if "[" not in str(from_here):
        return f"{from_here}{place.removeprefix(path)}"
    return str(next(folder for folder in from_here.parents if "[" not in str(folder)))
