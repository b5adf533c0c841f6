# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""`--seed` holds for the set-up too, and the result says under which conditions it ran."""

from __future__ import annotations

import json
import platform

import pytest
from conftest import CommandLine

DRAW = """\
    import json
    import random
    from pathlib import Path

    import numpy
    import torch

    drawn = {
        "torch": torch.rand(4).tolist(),
        "numpy": numpy.random.rand(4).tolist(),
        "python": [random.random() for _ in range(4)],
        "threads": torch.get_num_threads(),
    }
    Path("drawn.json").write_text(json.dumps(drawn))


    def step():
        torch.rand(4)
"""


def drawn_with(stepleak: CommandLine, *options: str) -> dict[str, object]:
    stepleak.write("draw.py", DRAW)
    done = stepleak("run", "draw.py:step", "--device", "cpu", "--effort", "quick", "--json", "out.json", *options)
    assert done.code == 0, done.text
    drawn: dict[str, object] = json.loads((stepleak.folder / "drawn.json").read_text(encoding="utf-8"))
    return drawn


def test_a_seed_gives_the_set_up_the_same_numbers_and_another_one_others(stepleak: CommandLine) -> None:
    first = drawn_with(stepleak, "--seed", "7")
    assert drawn_with(stepleak, "--seed", "7") == first
    other = drawn_with(stepleak, "--seed", "8")
    for generator in ("torch", "numpy", "python"):
        assert other[generator] != first[generator], generator


def test_threads_hold_for_the_set_up(stepleak: CommandLine) -> None:
    assert drawn_with(stepleak, "--threads", "2")["threads"] == 2
    assert stepleak.results("out.json")["draw.py:step"]["conditions"]["threads"] == "2"


def test_versions_are_recorded(stepleak: CommandLine) -> None:
    numpy = pytest.importorskip("numpy")
    drawn_with(stepleak, "--seed", "7")
    conditions = stepleak.results("out.json")["draw.py:step"]["conditions"]
    assert conditions["seed"] == "7"
    assert conditions["python"] == platform.python_version()
    assert conditions["numpy"] == numpy.__version__


def test_what_is_recorded_is_in_force_and_not_asked_for(stepleak: CommandLine) -> None:
    """Python's hash seed and allocator are the command line's, and a step may change torch's threads and flags."""
    stepleak.write(
        "changes.py",
        """
        import torch


        def step():
            torch.set_num_threads(3)
            torch.use_deterministic_algorithms(True)
        """,
    )
    switches = {"PYTHONHASHSEED": "7", "PYTHONMALLOC": "pymalloc"}
    run = ("run", "changes.py:step", "--device", "cpu", "--effort", "quick", "--json", "out.json")
    assert stepleak(*run, switches=switches).code == 0
    conditions = stepleak.results("out.json")["changes.py:step"]["conditions"]
    assert conditions["hash seed"] == "0"
    assert conditions["python malloc"] == "malloc"
    assert (conditions["threads"], conditions["deterministic"]) == ("3", "on")
    assert not [name for name in conditions if name.startswith("env PYTHON")]
