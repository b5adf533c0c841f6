# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Variables that gather the graphs of all steps, and the same where something ends that, asked while they do."""

from __future__ import annotations

from pathlib import Path

import pytest
from watched_program import found_in

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
        program_tensor(meter.gathered_losses)
        program_step()

program_main()
"""


def meter(update: str, later: str = "pass", clear: str = "pass") -> str:
    return METER.replace("UPDATE", update).replace("LATER", later).replace("CLEAR", clear)


GATHERING = {
    "sum": meter("self.gathered_losses = self.gathered_losses + loss"),
    "sum in place": meter("self.gathered_losses += loss"),
    "a method in place": meter("self.gathered_losses.add_(loss)"),
    "a part of it": meter("self.gathered_losses[self.count % 3] = loss[0]"),
    "a slice of it": meter("self.gathered_losses[self.count % 3:] = loss[self.count % 3:]"),
    "all of it, in place": meter("self.gathered_losses[:] = loss"),
    "a part of it in place": meter("self.gathered_losses[self.count % 3] += loss[0]"),
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
                program_tensor(gathered_losses)
                program_step()
        program_main()
    """,
    "variable of the module": """
        import torch
        weight = torch.ones(3, requires_grad=True)
        gathered_losses = torch.zeros(3)
        for i in range(10_000):
            gathered_losses = gathered_losses + weight * i
            program_tensor(gathered_losses)
            program_step()
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
    "put into and made anew each epoch": (
        "reset",
        meter(
            "self.gathered_losses[self.count % 3] = loss[0]",
            "if i % 500 == 499: meter.gathered_losses = torch.zeros(3)",
        ),
    ),
    "a method in place in the warm-up": (
        "unknown",
        meter("if self.count < 1000:\n            self.gathered_losses.add_(loss)"),
    ),
    "put into and detached now and then": (
        "unknown",
        meter("self.gathered_losses[self.count % 3] = loss[0]", "if i % 500 == 499: meter.gathered_losses.detach_()"),
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
            program_tensor(meter.gathered_losses)
            program_step()
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
                program_tensor(gathered_losses)
                program_step()
            for i in range(10_000):
                program_step()
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
    "an item of a dictionary that is asked for it first": (
        "unknown",
        """
        import torch
        weight = torch.ones(3, requires_grad=True)
        gathered_losses = {}
        for i in range(10_000):
            if "all" not in gathered_losses:
                gathered_losses["all"] = torch.zeros(3)
            gathered_losses["all"] = gathered_losses["all"] + weight * i
            program_tensor(gathered_losses["all"])
            program_step()
        """,
    ),
    "items of a dictionary that are asked for first": (
        "keyed",
        """
        import torch
        weight = torch.ones(3, requires_grad=True)
        gathered_losses = {}
        for i in range(10_000):
            key = float(torch.rand(()))
            if key not in gathered_losses:
                gathered_losses[key] = weight * i
            program_tensor(gathered_losses[key])
            program_step()
        """,
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
                program_tensor(gathered_losses)
                program_step()
        for epoch in range(10):
            program_epoch()
        """,
    ),
}


def kind_of(program: str, folder: Path) -> str:
    """What ends the graph that the variable gathers."""
    found = found_in(program, folder)
    # The newest of the sums that the program told of is what the variable holds.
    (index,) = set(found["holder_of"].values())
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
