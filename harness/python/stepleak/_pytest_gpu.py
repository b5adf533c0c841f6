# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""One test at a time judges a GPU: what another process does there moves the driver's numbers, and its memory."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def alone_on(device: str) -> Iterator[None]:
    """Waits until no other process of this user judges the GPU that `device` stands for; not at all for the CPU."""
    gpu = _gpu_of(device)
    if not gpu:
        yield
        return
    with lock_file(gpu).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        # Given back where the file is closed, also by a process that dies.
        yield


def lock_file(gpu: str) -> Path:
    """Shared by all sessions, and by the workers of pytest-xdist."""
    return Path(tempfile.gettempdir()) / f"stepleak-{os.getuid()}-{gpu}.lock"


def _gpu_of(device: str) -> str:
    """The same name in every process, whatever CUDA_VISIBLE_DEVICES makes of its number; empty: none is judged."""
    torch = sys.modules.get("torch")
    if torch is None or device == "cpu" or not torch.cuda.is_available():
        return ""
    number = int(device.partition(":")[2] or 0)
    if number >= torch.cuda.device_count():
        return ""  # the judge says so
    return str(torch.cuda.get_device_properties(number).uuid)
