# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A training report that is kept as text in memory until somebody saves it."""

import io
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn


class Report:
    """Lines about each step, for the end of the run."""

    def __init__(self) -> None:
        self.text = io.StringIO()

    def add(self, output: torch.Tensor) -> None:
        """Writes a step's outputs."""
        self.text.write(" ".join(f"{value:.6f}" for value in output.flatten().tolist()) + "\n")

    def begin_again(self) -> None:
        """Begins an empty page."""
        self.text.seek(0)
        self.text.truncate()


@leak(kind="host_heap", report="hatchet-dev/hatchet#4432", line="self.text.write(", holder=".text")
def report_in_memory(device: str) -> Callable[[], None]:
    """Some 2 KB of text a step in one buffer: no object stays but the buffer, which grows."""
    torch.manual_seed(0)
    model = nn.Linear(32, 32).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    report = Report()

    def step() -> None:
        output = model(torch.rand(8, 32, device=device))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        report.add(output)

    return step


@clean(report="hatchet-dev/hatchet#4432")
def report_in_memory_clean(device: str) -> Callable[[], None]:
    """The same page is written over from its begin after every 16 steps."""
    torch.manual_seed(0)
    model = nn.Linear(32, 32).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    report = Report()
    done = 0

    def step() -> None:
        nonlocal done
        output = model(torch.rand(8, 32, device=device))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        report.add(output)
        done += 1
        if done % 16 == 0:
            report.begin_again()

    return step
