# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether torch records the collectives of a process group: its flight recorder keeps the newest 2,000 of them."""

from __future__ import annotations

import os
import sys

_SIZES = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")
"""Environment variables that say how many; of several the first counts."""


def is_recording_collectives() -> bool:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return False
    return next((os.environ[name] for name in _SIZES if name in os.environ), "") != "0"
