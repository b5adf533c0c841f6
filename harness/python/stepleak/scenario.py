# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Declares Python scenarios: a training step with a known truth.

A scenario file holds one mechanism and its clean twin. Each is a function that does the set-up on a
device and returns the step; its docstring is the story. The name of the function is the scenario's name.

    @leak(kind="graph_retention", report="google/brax#152", line="total = total + loss", holder=".total")
    def loss_sum_attached(device):
        \"\"\"A running total of attached losses chains every step's graph.\"\"\"
        ...
        return step
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Step = Callable[..., Any]
"""Takes nothing, or the step index (from 0)."""
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
    lines: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    bytes_per_step: float = -1.0
    not_yet: str = ""
    needs_cuda: bool = False
    min_gpus: int = 0
    needs: tuple[str, ...] = ()
    set_up: SetUp = field(default=lambda device: lambda: None, repr=False)

    @property
    def missing(self) -> str:
        """Which of the libraries that it needs are not installed; empty where all are."""
        return ", ".join(name for name in self.needs if importlib.util.find_spec(name) is None)


@dataclass(frozen=True)
class Truth:
    """What a scenario declares beside its verdict; the fields are those of `Scenario`."""

    kinds: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()
    bytes_per_step: float = -1.0
    not_yet: str = ""
    needs: tuple[str, ...] = ()


_REGISTRY: dict[str, Scenario] = {}
_running: Scenario | None = None


def registered() -> list[Scenario]:
    """All scenarios declared so far, in order of declaration."""
    return list(_REGISTRY.values())


def set_up(name: str, device: str) -> Step:
    """The step of a scenario, in the process that runs this one only."""
    global _running
    _running = _REGISTRY[name]
    if missing := _running.missing:
        raise ModuleNotFoundError(f"{name} needs {missing}, which is not installed")
    return _running.set_up(device)


def files_of_others() -> list[str]:
    """Files of scenarios that are loaded, but for the one that runs; none where none does."""
    return [] if _running is None else sorted({s.file for s in _REGISTRY.values()} - {_running.file})


def forget_all_but(known: list[Scenario]) -> None:
    """Where the file that declared the others does not load."""
    _REGISTRY.clear()
    _REGISTRY.update({scenario.name: scenario for scenario in known})


def leak(
    *,
    kind: str | tuple[str, ...],
    report: str,
    line: str | tuple[str, ...] = (),
    holder: str | tuple[str, ...] = (),
    bytes_per_step: float = -1.0,
    not_yet: str = "",
    needs: str | tuple[str, ...] = (),
    needs_cuda: bool = False,
    min_gpus: int = 0,
) -> Callable[[SetUp], SetUp]:
    """Declares a step that leaks. `kind`: the right kind, or all that are right, the best first.

    `line`: the statement that a user would have to change, as a piece of its text that is in no other line of the file
    (declarations aside); `holder`: what keeps it, as a piece of the path that a report must name (".losses"). Of either
    several may be right. `bytes_per_step`: the rate known by construction, in bytes; left out where none is.
    `not_yet`: what would be needed for the right verdict, where a run is known not to reach it; gates leave it out.
    `needs`: libraries that the set-up imports, by their modules; left out of suites where one is not installed.
    """
    truth = Truth(_several(kind), _several(line), _several(holder), bytes_per_step, not_yet, _several(needs))
    return _declare("leak", report, truth, needs_cuda, min_gpus)


def clean(
    *,
    report: str,
    not_yet: str = "",
    needs: str | tuple[str, ...] = (),
    needs_cuda: bool = False,
    min_gpus: int = 0,
) -> Callable[[SetUp], SetUp]:
    """Declares a step that does not leak: the twin of a leak, or a healthy look-alike. The others as in `leak`."""
    truth = Truth(bytes_per_step=0.0, not_yet=not_yet, needs=_several(needs))
    return _declare("clean", report, truth, needs_cuda, min_gpus)


def line_numbers(file: str, pieces: tuple[str, ...]) -> list[int]:
    """The lines that hold these pieces, declarations aside. Raises ValueError where one is in none, or in several."""
    lines = _lines_without_declarations(file) if pieces else []
    numbers = []
    for piece in pieces:
        found = [number for number, line in lines if piece in line]
        if len(found) != 1:
            places = f"lines {', '.join(map(str, found))}" if found else "no line"
            raise ValueError(f"{piece!r} must be in exactly one line of {file}, and is in {places}: name another piece")
        numbers.append(found[0])
    return numbers


def _lines_without_declarations(file: str) -> list[tuple[int, str]]:
    """With their numbers, from 1 on."""
    text = Path(file).read_text(encoding="utf-8")
    declaring = {
        number
        for node in ast.walk(ast.parse(text))
        for decorator in getattr(node, "decorator_list", ())
        if isinstance(decorator, ast.Call) and any(keyword.arg == "line" for keyword in decorator.keywords)
        for number in range(decorator.lineno, (decorator.end_lineno or decorator.lineno) + 1)
    }
    return [(number, line) for number, line in enumerate(text.splitlines(), 1) if number not in declaring]


def _several(one_or_more: str | tuple[str, ...]) -> tuple[str, ...]:
    return (one_or_more,) if isinstance(one_or_more, str) else tuple(one_or_more)


def _place_of(set_up: SetUp) -> tuple[Path, int]:
    """File and line: loading a file a second time declares nothing anew."""
    return Path(set_up.__code__.co_filename), set_up.__code__.co_firstlineno


def _declare(
    expected: str,
    report: str,
    truth: Truth,
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
        line_numbers(file, truth.lines)
        _REGISTRY[name] = Scenario(
            name,
            f"{story}\n\nNeeds {', '.join(truth.needs)}." if truth.needs else story,
            report,
            file,
            expected,
            truth.kinds,
            truth.lines,
            truth.holders,
            truth.bytes_per_step,
            truth.not_yet,
            needs_cuda,
            min_gpus,
            truth.needs,
            set_up,
        )
        return set_up

    return register
