# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the scenarios declare of themselves."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from stepleak import scenario as declared

ROOT = Path(__file__).resolve().parents[2]
PYTHON_FOLDER = ROOT / "scenarios" / "python"
CPP_FOLDER = ROOT / "scenarios" / "cpp"


@dataclass(frozen=True)
class Truth:
    """What a scenario declares, as far as the list and the sources tell it."""

    name: str
    expected: str
    report: str
    kinds: tuple[str, ...]
    file: str
    needs_gpu: bool

    @property
    def is_cpp(self) -> bool:
        return self.file.endswith(".cpp")


def python_truths() -> dict[str, tuple[tuple[str, ...], str]]:
    """Kinds and files of the Python scenarios, by the decorator that declares them."""
    sys.path.insert(0, str(PYTHON_FOLDER))
    for path in sorted(PYTHON_FOLDER.glob("*.py")):
        if path.name.startswith("_"):
            continue
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    return {item.name: (item.kinds, item.file) for item in declared.registered()}


def cpp_truths() -> dict[str, tuple[tuple[str, ...], str]]:
    """Kinds and files of the C++ scenarios, by the text of their registrations."""
    truths = {}
    registration = re.compile(r"Registration\s+\w+\{\{(.*?)\}\};", re.DOTALL)
    for path in sorted(CPP_FOLDER.rglob("*.cpp")):
        for block in registration.findall(path.read_text(encoding="utf-8")):
            name = re.search(r'\.name = "([^"]+)"', block)
            kinds = re.search(r"\.kinds = \{([^}]*)\}", block)
            assert name is not None, f"{path}: a registration without a name"
            truths[name[1]] = (tuple(re.findall(r"Kind::(\w+)", kinds[1])) if kinds else (), str(path))
    return truths


def declared_truths(executable: str) -> list[Truth]:
    """All of them, in the order of `stepleak list`."""
    listed = subprocess.run([executable, "list"], capture_output=True, text=True, encoding="utf-8", check=True)
    sources = {**python_truths(), **cpp_truths()}
    truths = []
    for line in listed.stdout.splitlines():
        # Columns: name, expected, kind (of a leak only), gpu (where it needs one), report.
        name, expected, *middle, report = line.split()
        assert name in sources, f"{name} is listed and its declaration is not found"
        truths.append(Truth(name, expected, report, *sources[name], "gpu" in middle))
    return truths
