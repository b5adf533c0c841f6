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
    lines: tuple[int, ...] = ()
    """Numbers of the lines that are right: what a user must change; in C++ also what makes what stays."""
    holders: tuple[str, ...] = ()
    """Pieces of the holder's path that are right."""
    not_yet: str = ""
    """What would be needed for the right verdict, where a run is known not to reach it."""
    missing: str = ""
    """Libraries that it needs and that are not installed here."""

    @property
    def is_cpp(self) -> bool:
        return self.file.endswith(".cpp")


@dataclass(frozen=True)
class Declaration:
    """What the source alone tells."""

    kinds: tuple[str, ...]
    file: str
    lines: tuple[int, ...] = ()
    holders: tuple[str, ...] = ()
    not_yet: str = ""
    missing: str = ""


def python_truths() -> dict[str, Declaration]:
    """Of the Python scenarios, by the decorator that declares them."""
    sys.path.insert(0, str(PYTHON_FOLDER))
    for path in sorted(PYTHON_FOLDER.glob("*.py")):
        if path.name.startswith("_"):
            continue
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    return {
        item.name: Declaration(
            item.kinds,
            item.file,
            tuple(declared.line_numbers(item.file, item.lines)),
            item.holders,
            item.not_yet,
            item.missing,
        )
        for item in declared.registered()
    }


REGISTRATION = re.compile(r"Registration\s+\w+\{\{(.*?)\}\};", re.DOTALL)
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def cpp_truths(folder: Path = CPP_FOLDER) -> dict[str, Declaration]:
    """Of the C++ scenarios, by the text of their registrations."""
    truths = {}
    for path in sorted(folder.rglob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        # What a registration quotes is not the line itself.
        code = REGISTRATION.sub(lambda block: "\n" * block[0].count("\n"), text).splitlines()
        for block in REGISTRATION.findall(text):
            name = re.search(r'\.name = "([^"]+)"', block)
            kinds = re.search(r"\.kinds = \{([^}]*)\}", block)
            lines = re.search(r'\.lines = \{((?:\s*"(?:[^"\\]|\\.)*",?)*)\s*\}', block)
            assert name is not None, f"{path}: a registration without a name"
            pieces = [piece.replace('\\"', '"') for piece in LITERAL.findall(lines[1] if lines else "")]
            truths[name[1]] = Declaration(
                tuple(re.findall(r"Kind::(\w+)", kinds[1])) if kinds else (),
                str(path),
                tuple(line_in(code, piece, path) for piece in pieces),
            )
    return truths


def line_in(code: list[str], piece: str, path: Path) -> int:
    """Its number."""
    found = [number for number, line in enumerate(code, 1) if piece in line]
    assert len(found) == 1, f"{piece!r} must be in exactly one line of {path}, and is in {found or 'none'}"
    return found[0]


def declared_truths(executable: str) -> list[Truth]:
    """All of them, in the order of `stepleak list`."""
    listed = subprocess.run([executable, "list"], capture_output=True, text=True, encoding="utf-8", check=True)
    sources = {**python_truths(), **cpp_truths()}
    truths = []
    for line in listed.stdout.splitlines():
        # Columns: name, expected, kind (of a leak only), gpu (where it needs one), report.
        name, expected, *middle, report = line.split()
        assert name in sources, f"{name} is listed and its declaration is not found"
        source = sources[name]
        truths.append(Truth(name, expected, report, needs_gpu="gpu" in middle, **vars(source)))
    return truths
