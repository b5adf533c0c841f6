# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A signal at a chosen moment: it ends soon, keeps what is decided, and leaves nothing that runs."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from cases import FOLDER, missing_parts, parameters
from sandbox import Sandbox
from validators import check_outputs, check_terminal


def is_pending(process: int, number: int) -> bool:
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return bool(int(status["ShdPnd"], 16) & 1 << (number - 1))


@pytest.mark.parametrize("case", parameters("signals"))
def test_signal(case: dict[str, Any], sandbox: Sandbox, stepleak: list[str]) -> None:
    sandbox.write("waits.py", (FOLDER / "targets/waits.py").read_bytes())
    sandbox.write("old.json", "old")
    sandbox.remember()
    outputs = ["r.json", "r.xml", "r.trace", "r.sarif", "r.quality.json"]
    arguments = ["run", "waits.py:quick", "waits.py:step", "-j1", "--effort", "quick"]
    written = ["--json", "r.json", "--junit", "r.xml", "--trace", "r.trace"]
    written += ["--sarif", "r.sarif", "--code-quality", "r.quality.json"]
    started = sandbox.start([*stepleak, *arguments, *written], {"WAITS_IN": case["at"]})
    deadline = time.monotonic() + 100
    while not (sandbox.folder / "reached").exists():
        assert started.poll() is None, started.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    number = getattr(signal, case["signal"])
    begin = time.monotonic()
    started.send_signal(number)
    if case.get("again"):
        # Two of one number are one where the first is still pending.
        while is_pending(started.pid, number) and time.monotonic() < deadline:
            time.sleep(0.001)
        started.send_signal(number)
    out, err = started.communicate(timeout=60)
    seconds = time.monotonic() - begin
    assert started.returncode == case["code"], (out + err).decode()
    # A second of its own, on a machine that others use too.
    assert seconds < case.get("within", 8)
    check_terminal("stdout", out)
    check_terminal("stderr", err)
    assert missing_parts(case, "err", err.decode()) == []
    check_outputs(sandbox.folder, outputs)
    if case.get("keeps", True):
        data = json.loads((sandbox.folder / "r.json").read_text(encoding="utf-8"))
        results = {result["target"]: result for result in (data if isinstance(data, list) else [data])}
        assert {name: result["verdict"] for name, result in results.items()} == case["verdicts"]
    sandbox.check_nothing_left([*outputs, "reached"])


@pytest.mark.parametrize("again", [False, True])
def test_signal_while_outputs_are_written(again: bool, sandbox: Sandbox, stepleak: list[str]) -> None:
    """A pipe that nobody reads keeps it there for two seconds; a second signal ends it at once."""
    sandbox.write("waits.py", (FOLDER / "targets/waits.py").read_bytes())
    os.mkfifo(sandbox.folder / "pipe")
    sandbox.remember()
    written = ["--code-quality", "pipe", "--json", "r.json", "--html", "r.html", "--trace", "r.trace"]
    started = sandbox.start([*stepleak, "run", "waits.py:quick", "--effort", "quick", *written], {"WAITS_IN": ""})
    assert started.stdout is not None
    assert any(b"is clean" in line for line in started.stdout)
    time.sleep(0.3)  # the last worker is gone by then
    started.send_signal(signal.SIGINT)
    if again:
        while is_pending(started.pid, signal.SIGINT) and started.poll() is None:
            time.sleep(0.001)
        started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    outputs = ["r.json", "r.trace", "r.html"]
    assert started.returncode == (-2 if again else 130), (out + err).decode()
    assert [name for name in outputs if (sandbox.folder / name).exists()] == ([] if again else outputs)
    check_outputs(sandbox.folder, outputs)
    sandbox.check_nothing_left(outputs)
