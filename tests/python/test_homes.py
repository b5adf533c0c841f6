# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Of modules that have the same object, the one that made it is named."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest
from holder_search import appended, holder_of_first, search


def path_by(sources: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """To a list that all of these modules have by one name, as their sources say."""
    kept: list[Any] = []
    for module_name, text in sources.items():
        file = folder / f"{module_name}.py"
        file.write_text(text, encoding="utf-8")
        module = types.ModuleType(module_name)
        vars(module).update(__file__=str(file), kept_of_homes=kept)
        monkeypatch.setitem(sys.modules, module_name, module)
    path: str = holder_of_first(search(None, appended(kept)))["path"]
    return path


@pytest.fixture
def kept_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    return lambda sources: path_by(sources, tmp_path, monkeypatch)


IMPORTED = "from homes_z import kept_of_homes\n"


@pytest.mark.parametrize("made", ["kept_of_homes = []", "kept_of_homes: list[int] = []", "kept_of_homes=[]"])
def test_module_that_makes_what_others_import_is_named(made: str, kept_elsewhere: Any) -> None:
    path = kept_elsewhere({"homes_a": IMPORTED, "homes_z": f"import torch\n{made}\n", "homes_b": IMPORTED})
    assert path.startswith("homes_z.kept_of_homes")


@pytest.mark.parametrize("other", ["", "    kept_of_homes = []", "kept_of_homes == []", "my_kept_of_homes = []"])
def test_where_none_makes_it_the_first_by_name_is_named(other: str, kept_elsewhere: Any) -> None:
    path = kept_elsewhere({"homes_z": f"def make():\n    pass\n{other}\n", "homes_a": IMPORTED})
    assert path.startswith("homes_a.kept_of_homes")
