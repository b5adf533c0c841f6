# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Runs snippets (a JSON object on standard input, by name), each in a child of this process, and prints their ends."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import tempfile
from typing import Any

import stepleak
import torch


def answer_of(snippet: str) -> dict[str, str]:
    printed = io.StringIO()
    raised, text = "", ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(snippet, {"stepleak": stepleak, "torch": torch, "__name__": "snippet"})
        except BaseException as error:
            raised, text = type(error).__name__, str(error)
    return {"raised": raised, "text": text + printed.getvalue()}


def in_child(snippet: str) -> dict[str, Any]:
    with tempfile.TemporaryFile("w+") as file:
        process = os.fork()
        if process == 0:
            signal.alarm(60)
            json.dump(answer_of(snippet), file)
            file.flush()
            os._exit(0)
        _, status = os.waitpid(process, 0)
        file.seek(0)
        answer = json.loads(file.read() or '{"raised": "", "text": ""}')
    ended = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
    return {**answer, "ended": ended}


if __name__ == "__main__":
    print(json.dumps({name: in_child(snippet) for name, snippet in json.load(sys.stdin).items()}))
