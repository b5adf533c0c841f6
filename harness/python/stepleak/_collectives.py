# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether there is a process group, and whether torch records its collectives: its flight recorder keeps the newest
2,000 of them."""

from __future__ import annotations

import os
import sys
from typing import Any

_SIZES = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")
"""Environment variables that say how many; of several the first counts."""


def distributed_in_use() -> Any:
    """torch.distributed where it has a process group; None elsewhere. Imports nothing."""
    distributed: Any = sys.modules.get("torch.distributed")
    is_in_use = distributed is not None and distributed.is_available() and distributed.is_initialized()
    return distributed if is_in_use else None


def is_recording_collectives() -> bool:
    return (
        distributed_in_use() is not None
        and next((os.environ[name] for name in _SIZES if name in os.environ), "") != "0"
    )
