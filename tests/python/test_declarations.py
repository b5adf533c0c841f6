# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Scenarios as their source says: all of them, or that they must be imported to be known."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
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
        "run = eval",
        # where a line does not tell
        "import torch, helpers",
        "import random; import helpers",
        "from torch import nn; from helpers import zz",
        "if True: import helpers",
        "from torch import (\n    nn,\n); import helpers",
        "(make('x')\n@leak(kind='growth', report='x')(make('zz')))",
        "text = '@leak()'\ndeclare = leak",
        "torch.leak = 1",
        # another way to write a name
        "declare = \uff4ceak",
    ],
)
def test_what_must_be_run_to_be_known_is_told(more: str, tmp_path: Path) -> None:
    with pytest.raises(_declarations.NotPlain, match=r"mine\.py:\d+"):
        names(tmp_path, textwrap.dedent(PLAIN) + more + "\n")


@pytest.mark.parametrize(
    "more",
    [
        "from torch import (\n    nn,\n    optim as o,\n)",
        "def later():\n    import torch.nn.functional as F, random\n    from collections import deque as d, Counter",
        'text = """\n@leak(kind=\'x\')\nimport helpers, a leak that eval finds\n"""',
        "def evaluate(model):\n    # a clean import\n    return model.eval()",
        "unclean, important, leaks, m\u00f6gl\u00edch = range(4)",
    ],
)
def test_what_only_looks_like_a_declaration_is_none(more: str, tmp_path: Path) -> None:
    assert names(tmp_path, textwrap.dedent(PLAIN) + more + "\n") == ["mine", "mine_clean"]


def test_library_that_a_scenario_needs_declares_none(tmp_path: Path) -> None:
    more = "@clean(report='x', needs=('timm', 'helpers'))\ndef zz(device):\n    'Trains.'\n    import timm\n"
    assert names(tmp_path, textwrap.dedent(PLAIN) + more) == ["mine", "mine_clean", "zz"]
    *_, last = _declarations.declarations(tmp_path)
    assert (last["needs"], last["story"]) == (["timm", "helpers"], "Trains.\n\nNeeds timm, helpers.")
    with pytest.raises(_declarations.NotPlain, match=r"mine\.py:\d+"):
        names(tmp_path, textwrap.dedent(PLAIN) + more + "    from lightning import Fabric\n")


def test_a_file_that_does_not_parse_is_told(tmp_path: Path) -> None:
    with pytest.raises(SyntaxError, match=r"mine\.py"):
        names(tmp_path, textwrap.dedent(PLAIN) + "def (:\n")


@pytest.mark.parametrize(
    "text", ["", "  One.", "One.\n\n    Two.\n      Three.\n    ", "\n\n\tOne.\n  Two.\n", "One.\n  \n    \n  Two.\n"]
)
def test_a_story_is_shown_as_by_its_own_docstring(text: str) -> None:
    assert _declarations.without_indentation(text) == inspect.cleandoc(text)


@pytest.mark.parametrize("folder", ["", ".", "./there/", "there//here/../here", "/", "/there/./here/"])
def test_files_are_named_as_where_they_are_loaded(folder: str) -> None:
    assert _declarations._path_of(folder, "mine.py") == str(Path(folder) / "mine.py")


def test_reading_imports_little(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(textwrap.dedent(PLAIN), encoding="utf-8")
    command = [sys.executable, "-I", "-S", "-X", "importtime", _declarations.__file__, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert '"mine_clean"' in done.stdout
    imported = set(re.findall(r"^import time:.*\| +(\S+)$", done.stderr, re.MULTILINE))
    assert "_ast" in imported
    assert not imported & {"ast", "contextlib", "dataclasses", "inspect", "pathlib", "typing"}


def test_all_scenarios_of_the_checkout_are_plain() -> None:
    folder = Path(__file__).parents[2] / "scenarios/python"
    assert len(list(_declarations.declarations(folder))) > 100
