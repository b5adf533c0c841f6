# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Hooks that gather: those that steps add again and again are to be removed, and of others what they gather bounded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from holder_search import as_text
from watched_program import found_in

PROGRAM = """
import torch

def saver_of_program(kept):
    def hook(module, args, output):
        kept.append(output.detach())
        program_tensor(kept[-1])
    return hook

def other_of_program(kept):
    return lambda module, args, output: None

def probe_program(layer, saver):
    layer.register_forward_hook(saver([]))

def program_main():
    layer = torch.nn.Linear(2, 2)
    {before}
    for step in range(100):
        layer(torch.zeros(1, 2))
        {meanwhile}
        program_step()

program_main()
"""
ADDING = "layer.register_forward_hook(saver([]))"
GATHERING = "kept.append(output.detach())"
PROBE = "probe_program(layer, saver_of_program)"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of other tests are sources of the program, too, and some add hooks."""
    for other in [name for name in sys.modules if name.startswith("test_")]:
        monkeypatch.delitem(sys.modules, other)


def holder_where(before: str, meanwhile: str, folder: Path) -> dict[str, Any]:
    found = found_in(PROGRAM.format(before=before, meanwhile=meanwhile), folder)
    return as_text(found, found["holders"][0])


def test_hooks_that_steps_add_are_told_by_what_adds_them(tmp_path: Path) -> None:
    holder = holder_where(PROBE, f"if step % 2 == 0: {PROBE}", tmp_path)
    assert (holder["text"], holder["container_type"]) == (ADDING, "OrderedDict")


@pytest.mark.parametrize(
    ("before", "meanwhile"),
    [
        (f"for _ in range(4): {PROBE}", "pass"),
        # One hook of a function may be meant, and another function's gathers nothing.
        (PROBE, "if step % 2 == 0: probe_program(layer, other_of_program)"),
    ],
    ids=["before_the_steps", "of_another_function"],
)
def test_hooks_that_were_added_once_are_told_by_what_they_gather(before: str, meanwhile: str, tmp_path: Path) -> None:
    holder = holder_where(before, meanwhile, tmp_path)
    assert (holder["text"], holder["container_type"]) == (GATHERING, "list")
