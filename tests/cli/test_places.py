# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whose frames a finding names: the user's, wherever the project lies; a library's where there is nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import CommandLine

TRAIN = """\
    import torch

    kept = []


    def keep():
        kept.append(torch.ones(256))


    def step():
        keep()
"""

LIBRARY = """\
    import torch

    caches = []


    def make():
        return torch.ones(256)


    def update():
        return make()


    def generate():
        return update()


    def generate_and_keep():
        caches.append(update())


    def call(function):
        function()
"""

USER = """\
    import sys
    from pathlib import Path

    import torch

    sys.path.insert(0, str(Path(__file__).parent / "env" / "site-packages"))

    import trainer

    kept = []


    def keep():
        kept.append(trainer.generate())


    def step():
        keep()


    def leave_it_to_the_library():
        trainer.generate_and_keep()


    def hands_over():
        trainer.call(lambda: kept.append(torch.ones(256)))
"""

LATE = """\
    import torch
    from torch import nn

    encoder, divergences, codes = nn.Linear(8, 8), [], []


    def step(index):
        code = encoder(torch.randn(4, 8))
        divergence = code.square().mean()
        divergence.backward()
        encoder.zero_grad()
        codes.append(code.detach().flatten())
        if index % 25 == 24:
            codes.clear()
        if index >= 100:
            divergences.append(divergence)
"""


def finding_of(stepleak: CommandLine, target: str, *options: str) -> dict[str, Any]:
    done = stepleak("run", target, "--device", "cpu", "--json", "out.json", *options)
    assert done.code == 1, done.text
    return stepleak.results("out.json")[target]["findings"][0]


def frames_of(finding: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(Path(frame["file"]).name, frame["function"], frame["owner"]) for frame in finding["where"]]


@pytest.mark.parametrize("folder", ["c++", "harness/cli", "python/stepleak", "lib/python3.11", "pybind11", "torch"])
def test_a_project_may_lie_in_any_folder(stepleak: CommandLine, folder: str) -> None:
    stepleak.write(f"{folder}/train.py", TRAIN)
    finding = finding_of(stepleak, f"{folder}/train.py:step")
    assert frames_of(finding) == [("train.py", "keep", "user"), ("train.py", "step", "user")]


def test_a_project_may_be_installed_as_a_library_is(stepleak: CommandLine) -> None:
    stepleak.write("site-packages/mine/train.py", TRAIN)
    finding = finding_of(stepleak, "site-packages/mine/train.py:step")
    assert frames_of(finding) == [("train.py", "keep", "user"), ("train.py", "step", "user")]


def test_the_users_frames_come_first_and_a_library_below_them_is_folded(stepleak: CommandLine) -> None:
    stepleak.write("env/site-packages/trainer.py", LIBRARY)
    stepleak.write("train.py", USER)
    finding = finding_of(stepleak, "train.py:step")
    assert frames_of(finding) == [
        ("train.py", "keep", "user"),
        ("train.py", "step", "user"),
        ("trainer.py", "make", "library"),
    ]
    assert finding["where"][2]["folded_count"] == 2
    assert finding["where"][2]["text"] == "return torch.ones(256)"


def test_a_library_that_only_calls_the_user_is_left_out(stepleak: CommandLine) -> None:
    stepleak.write("env/site-packages/trainer.py", LIBRARY)
    stepleak.write("train.py", USER)
    finding = finding_of(stepleak, "train.py:hands_over")
    assert frames_of(finding) == [("train.py", "<lambda>", "user"), ("train.py", "hands_over", "user")]


def test_what_the_library_keeps_is_found_below_the_users_line(stepleak: CommandLine) -> None:
    stepleak.write("env/site-packages/trainer.py", LIBRARY)
    stepleak.write("train.py", USER)
    finding = finding_of(stepleak, "train.py:leave_it_to_the_library")
    assert frames_of(finding) == [("train.py", "leave_it_to_the_library", "user"), ("trainer.py", "make", "library")]
    # The library's source is searched for what keeps it.
    assert finding["kept_by"].endswith("caches.append(update())")


def test_a_list_that_is_flushed_is_not_taken_for_the_one_that_begins_to_grow(stepleak: CommandLine) -> None:
    stepleak.write("train.py", LATE)
    finding = finding_of(stepleak, "train.py:step", "--min-steps", "300")
    assert finding["kind"] == "graph_retention"
    assert finding["kept_at"]["text"] == "divergences.append(divergence)"
    assert finding["holder"].startswith("train.divergences (list")
    assert 100 <= finding["since_step"] <= 102


PROBE = """\
    class Probe:
        def __init__(self, module):
            module.register_buffer("mean", None)

        def attach(self, module):
            self.handle = module.register_forward_hook(lambda *_: self and None)
"""

PROBED = """\
    import torch
    from probe import Probe

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    probe = Probe(model)


    def step():
        for layer in model:
            probe.attach(layer)
"""


def test_a_hook_is_named_where_it_is_registered_whatever_the_module_is_called_there(stepleak: CommandLine) -> None:
    stepleak.write("probe.py", PROBE)
    stepleak.write("train.py", PROBED)
    finding = finding_of(stepleak, "train.py:step")
    assert (Path(finding["kept_at"]["file"]).name, finding["kept_at"]["line"]) == ("probe.py", 6), finding
