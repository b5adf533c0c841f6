# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Variables that gather the graphs of all steps, and the same where something ends that, asked while they do."""

from __future__ import annotations

import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import pytest
from stepleak._core import frame_locals
from stepleak._holders import HolderSearch

STEPS = 8

METER = """
import torch
weight = torch.ones(3, requires_grad=True)

class ProgramMeter:
    def __init__(self):
        self.gathered_losses, self.count = torch.zeros(3), 0
    def gather_program_loss(self, loss):
        UPDATE
        self.count += 1
    def clear_program_meter(self):
        CLEAR

def program_main():
    meter = ProgramMeter()
    for i in range(10_000):
        meter.gather_program_loss(weight * i)
        LATER
        program_step(meter.gathered_losses)

program_main()
"""


def meter(update: str, later: str = "pass", clear: str = "pass") -> str:
    return METER.replace("UPDATE", update).replace("LATER", later).replace("CLEAR", clear)


GATHERING = {
    "sum": meter("self.gathered_losses = self.gathered_losses + loss"),
    "sum in place": meter("self.gathered_losses += loss"),
    "moving average": meter("self.gathered_losses = 0.9 * self.gathered_losses + 0.1 * loss"),
    "a method of torch's": meter("self.gathered_losses = self.gathered_losses.mul(0.9).add(loss)"),
    "a function of torch's": meter("self.gathered_losses = torch.maximum(self.gathered_losses, loss)"),
    "every fourth step": meter("if self.count % 4 == 0:\n            self.gathered_losses += loss"),
    "variable of main": """
        import torch
        weight = torch.ones(3, requires_grad=True)
        def program_main():
            gathered_losses = torch.zeros(3)
            for i in range(10_000):
                gathered_losses = gathered_losses + weight * i
                program_step(gathered_losses)
        program_main()
    """,
    "variable of the module": """
        import torch
        weight = torch.ones(3, requires_grad=True)
        gathered_losses = torch.zeros(3)
        for i in range(10_000):
            gathered_losses = gathered_losses + weight * i
            program_step(gathered_losses)
    """,
}
ENDING = {
    "set to zero each epoch": (
        "reset",
        meter("self.gathered_losses += loss", "if i % 500 == 499: meter.gathered_losses = torch.zeros(3)"),
    ),
    "cleared by a method": (
        "reset",
        meter(
            "self.gathered_losses += loss",
            "if i % 500 == 499: meter.clear_program_meter()",
            "self.gathered_losses = torch.zeros(3)",
        ),
    ),
    "detached now and then": (
        "unknown",
        meter(
            "self.gathered_losses += loss",
            "if i % 500 == 499: meter.gathered_losses = meter.gathered_losses.detach()",
        ),
    ),
    "detached in place now and then": (
        "unknown",
        meter("self.gathered_losses += loss", "if i % 500 == 499: meter.gathered_losses.detach_()"),
    ),
    "a function of the user's": (
        "unknown",
        "def combine(a, b):\n    return a + b\n" + meter("self.gathered_losses = combine(self.gathered_losses, loss)"),
    ),
    "computed of what was computed of it": (
        "unknown",
        meter("weighed = self.gathered_losses * 2\n        self.gathered_losses = loss + weighed"),
    ),
    "only in the warm-up": ("unknown", meter("if self.count < 1000:\n            self.gathered_losses += loss")),
    "attribute that nobody is seen to make": (
        "unknown",
        """
        import torch, types
        weight = torch.ones(3, requires_grad=True)
        meter = types.SimpleNamespace(gathered_losses=torch.zeros(3))
        for i in range(10_000):
            meter.gathered_losses = meter.gathered_losses + weight * i
            program_step(meter.gathered_losses)
        """,
    ),
    "evaluation before the training": (
        "unknown",
        """
        import torch
        weight = torch.ones(3, requires_grad=True)
        def program_main():
            gathered_losses = torch.zeros(3)
            for i in range(100):
                gathered_losses = gathered_losses + weight * i
                program_step(gathered_losses)
            for i in range(10_000):
                program_step(None)
        program_main()
        """,
    ),
    "set by its name": (
        "unknown",
        meter(
            "self.gathered_losses += loss",
            "for name in ('gathered_losses',): setattr(meter, name, meter.gathered_losses)",
        ),
    ),
    "a clear that nobody calls": (
        "uncalled",
        meter("self.gathered_losses += loss", clear="self.gathered_losses = torch.zeros(3)"),
    ),
    "another meter each epoch": (
        "reset",
        meter("self.gathered_losses += loss", "if i % 500 == 499: meter = ProgramMeter()"),
    ),
    "variable of a function that is called again": (
        "unknown",
        """
        import torch
        weight = torch.ones(3, requires_grad=True)
        def program_epoch():
            gathered_losses = torch.zeros(3)
            for i in range(500):
                gathered_losses = gathered_losses + weight * i
                program_step(gathered_losses)
        for epoch in range(10):
            program_epoch()
        """,
    ),
}


class _Done(BaseException):
    pass


def kind_of(program: str, folder: Path) -> str:
    """What ends the graph that the variable gathers, as the search finds while the program runs."""
    file = folder / "program.py"
    file.write_text(textwrap.dedent(program), encoding="utf-8")
    search = HolderSearch(None, frame_locals)
    found: dict[str, Any] = {}
    steps = 0

    def step(tensor: Any) -> None:
        nonlocal steps
        steps += 1
        if steps == 2:
            search.begin()
        if steps == 2 + STEPS:
            address = tensor._cdata
            del tensor
            found.update(search.search([address], {str(file): set()}, STEPS))
            raise _Done

    module = types.ModuleType("program")
    module.__file__ = str(file)
    vars(module)["program_step"] = step
    sys.modules["program"] = module
    try:
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), vars(module))
    except _Done:
        pass
    finally:
        del sys.modules["program"]
    (index,) = found["holder_of"].values()
    assert found["holders"][index]["graph"] >= 0
    kind: str = found["holders"][index]["structure"]["kind"]
    return kind


@pytest.mark.parametrize("name", GATHERING)
def test_what_gathers_the_graphs_of_all_steps_is_unbounded(name: str, tmp_path: Path) -> None:
    assert kind_of(GATHERING[name], tmp_path) == "unbounded"


@pytest.mark.parametrize("name", ENDING)
def test_what_something_may_end_is_not(name: str, tmp_path: Path) -> None:
    expected, program = ENDING[name]
    assert kind_of(program, tmp_path) == expected
