# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Scenarios as their source says: all of them, or that they must be imported to be known."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from stepleak import _declarations

PLAIN = '''
    from __future__ import annotations

    import random
    from collections.abc import Callable

    import torch
    from stepleak.scenario import clean, leak


    @leak(kind=("growth", "host_heap"), report="me/mine#1", bytes_per_step=4 * 16)
    def mine(device):
        """Keeps all."""
        model = torch.nn.Linear(2, 2).to(device).eval()
        return lambda: model


    @clean(report="me/mine#1")
    def mine_clean(device):
        """Keeps nothing."""
        return lambda: None
'''


def names(folder: Path, text: str) -> list[str]:
    (folder / "mine.py").write_text(textwrap.dedent(text), encoding="utf-8")
    return [declared["name"] for declared in _declarations.declarations(folder)]


def test_plain_declarations_are_read(tmp_path: Path) -> None:
    assert names(tmp_path, PLAIN) == ["mine", "mine_clean"]
    first = next(_declarations.declarations(tmp_path))
    assert (first["expected"], first["kinds"], first["story"]) == ("leak", ["growth", "host_heap"], "Keeps all.")


@pytest.mark.parametrize(
    "more",
    [
        # called in a function, in a loop, later, by another name
        "def make(name):\n    leak(kind='growth', report='x')(lambda device: None)\nmake('zz_made')",
        "for name in 'ab':\n    clean(report='x')(make(name))",
        "if torch.cuda.is_available():\n    @clean(report='x')\n    def zz(device):\n        'x'",
        "mark = clean(report='x')\n@mark\ndef zz(device):\n    'x'",
        "declare = leak",
        "from stepleak.scenario import clean as healthy\n@healthy(report='x')\ndef zz(device):\n    'x'",
        "import stepleak.scenario as s\ns.clean(report='x')(make('zz'))",
        "from stepleak import scenario",
        "from stepleak.scenario import *",
        "import stepleak",
        # another decorator may change the name
        "@renamed\n@clean(report='x')\ndef zz(device):\n    'x'",
        "def clean(**given):\n    return lambda set_up: set_up",
        # arguments that are no constants
        "@clean(report=REPORT)\ndef zz(device):\n    'x'",
        "@clean(**GIVEN)\ndef zz(device):\n    'x'",
        # what declares may be elsewhere
        "import _helpers",
        "from . import helpers",
        "def later():\n    import helpers",
        "import importlib",
        "exec('x = 1')",
    ],
)
def test_what_must_be_run_to_be_known_is_told(more: str, tmp_path: Path) -> None:
    with pytest.raises(_declarations.NotPlain, match=r"mine\.py:\d+"):
        names(tmp_path, textwrap.dedent(PLAIN) + more + "\n")


def test_all_scenarios_of_the_checkout_are_plain() -> None:
    folder = Path(__file__).parents[2] / "scenarios/python"
    assert len(list(_declarations.declarations(folder))) > 100
