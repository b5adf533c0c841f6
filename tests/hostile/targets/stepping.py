# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the hostile steps have in common: they count themselves, and the fifth is the one that does it."""

from collections.abc import Callable

import torch

_count = 0


def steps() -> int:
    return _count


def nth_step() -> int:
    global _count
    _count += 1
    torch.zeros(4)
    return _count


def in_step_5(action: Callable[[], object]) -> None:
    if nth_step() == 5:
        action()
