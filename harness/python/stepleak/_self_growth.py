# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that keep nothing from one to the next, for `stepleak doctor`: what grows under them is stepleak's own.

Each makes the harness see something that it has never seen before: addresses, shapes, stacks, operators' outputs.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from typing import Any

Step = Callable[[], None]

# Set-ups by name: each takes the device and returns the step.
STEPS: dict[str, Callable[[str], Step]] = {}


def _declare(name: str) -> Callable[[Callable[[str], Step]], Callable[[str], Step]]:
    def declare(set_up: Callable[[str], Step]) -> Callable[[str], Step]:
        STEPS[name] = set_up
        return set_up

    return declare


def _level_peak(device: str) -> None:
    """More than the rest of a step needs: its peak is a ledger too, and must not follow the step's own sizes."""
    import torch

    torch.empty(1 << 20, device=device)


@_declare("nothing")
def _nothing(_device: str) -> Step:
    return lambda: None


@_declare("ever new addresses")
def _new_addresses(device: str) -> Step:
    """As many live blocks at each boundary, at other places: the newest is made before the oldest is freed."""
    import torch

    numbers = itertools.count()
    live: deque[Any] = deque((torch.empty(64, device=device) for _ in range(32)), maxlen=32)

    def step() -> None:
        _level_peak(device)
        number = next(numbers)
        for i in range(8):
            between = torch.empty(64 * (1 + (number * 8 + i) % 61), device=device)
            live.append(torch.empty(64, device=device))
            del between

    return step


@_declare("ever new shapes")
def _new_shapes(device: str) -> Step:
    import torch

    numbers = itertools.count(1)

    def step() -> None:
        _level_peak(device)
        number = next(numbers)
        tensors = [torch.empty(number % 1009 + 1, i + 1, device=device) for i in range(8)]
        # Freed in another order than they were made in.
        del tensors[::2]

    return step


@_declare("ever new stacks")
def _new_stacks(device: str) -> Step:
    """Each step runs code of its own: new code objects, in a new file, at a new depth."""
    import torch

    numbers = itertools.count()

    def step() -> None:
        number = next(numbers)
        names = {"make": lambda: torch.ones(16, device=device) + 1}
        lines = "".join(
            f"def at_{number}_{depth}():\n    return {f'at_{number}_{depth - 1}' if depth else 'make'}()\n"
            for depth in range(number % 7 + 1)
        )
        exec(compile(lines, f"<step {number}>", "exec"), names)
        names[f"at_{number}_{number % 7}"]()

    return step


@_declare("ever new graphs")
def _new_graphs(device: str) -> Step:
    """Operators that return one tensor, several and lists, with a graph that is used and dropped."""
    import torch

    numbers = itertools.count(1)

    def step() -> None:
        _level_peak(device)
        x = torch.ones(4, next(numbers) % 127 + 4, device=device, requires_grad=True)
        parts = [*x.split(2), *x.unbind(), *torch.chunk(x, 2, dim=1), *torch.max(x, dim=1)[:1]]
        torch.stack([part.sum() for part in parts]).sum().backward()

    return step
