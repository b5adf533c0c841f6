# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Declares Python scenarios: a training step with a known truth.

A scenario file holds one mechanism and its clean twin. Each is a function that does the set-up on a
device and returns the step; its docstring is the story. The name of the function is the scenario's name.

    @leak(kind="graph_retention", report="google/brax#152")
    def loss_sum_attached(device):
        \"\"\"A running total of attached losses chains every step's graph.\"\"\"
        ...
        return step
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Step = Callable[[], Any]
SetUp = Callable[[str], Step]


@dataclass(frozen=True)
class Scenario:
    """One declared scenario; `expected` is "leak" or "clean"."""

    name: str
    story: str
    report: str
    file: str
    expected: str
    kinds: tuple[str, ...] = ()
    bytes_per_step: float = -1.0
    needs_cuda: bool = False
    min_gpus: int = 0
    set_up: SetUp = field(default=lambda device: lambda: None, repr=False)


_REGISTRY: dict[str, Scenario] = {}


def registered() -> list[Scenario]:
    """All scenarios declared so far, in order of declaration."""
    return list(_REGISTRY.values())


def forget_all_but(known: list[Scenario]) -> None:
    """Where the file that declared the others does not load."""
    _REGISTRY.clear()
    _REGISTRY.update({scenario.name: scenario for scenario in known})


def leak(
    *,
    kind: str | tuple[str, ...],
    report: str,
    bytes_per_step: float = -1.0,
    needs_cuda: bool = False,
    min_gpus: int = 0,
) -> Callable[[SetUp], SetUp]:
    """Declares a step that leaks. `kind`: the right kind, or all that are right, the best first.

    `bytes_per_step`: the rate known by construction, in bytes; left out where none is.
    """
    kinds = (kind,) if isinstance(kind, str) else tuple(kind)
    return _declare("leak", report, kinds, bytes_per_step, needs_cuda, min_gpus)


def clean(*, report: str, needs_cuda: bool = False, min_gpus: int = 0) -> Callable[[SetUp], SetUp]:
    """Declares a step that does not leak: the twin of a leak, or a healthy look-alike."""
    return _declare("clean", report, (), 0.0, needs_cuda, min_gpus)


def _place_of(set_up: SetUp) -> tuple[Path, int]:
    """File and line: loading a file a second time declares nothing anew."""
    return Path(set_up.__code__.co_filename), set_up.__code__.co_firstlineno


def _declare(
    expected: str,
    report: str,
    kinds: tuple[str, ...],
    bytes_per_step: float,
    needs_cuda: bool,
    min_gpus: int,
) -> Callable[[SetUp], SetUp]:
    def register(set_up: SetUp) -> SetUp:
        name = set_up.__name__
        file = inspect.getsourcefile(set_up) or "?"
        known = _REGISTRY.get(name)
        if known is not None and _place_of(known.set_up) != _place_of(set_up):
            raise ValueError(f"scenario {name!r} is declared twice: {known.file} and {file}")
        story = inspect.cleandoc(set_up.__doc__ or "")
        if not story:
            raise ValueError(f"scenario {name!r} in {file} has no docstring; write its story there")
        _REGISTRY[name] = Scenario(
            name, story, report, file, expected, kinds, bytes_per_step, needs_cuda, min_gpus, set_up
        )
        return set_up

    return register
