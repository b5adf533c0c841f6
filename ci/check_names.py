# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that no two sources of a folder define the same name in an unnamed namespace, and no two files one type.

    python3 ci/check_names.py [ROOT]       every source below harness/, detectors/ and tests/ (default: this repository)
    python3 ci/check_names.py --self-test  the check itself, with near misses that must pass

pip compiles the sources of a library together (unity, pyproject.toml), which halves the time: there such names are of
one scope, and so a variable may not have the name of a function that a header declares, which another source includes.
Overloads are none of its business. A type that two files define beside each other breaks the one definition rule, of
which neither compiler nor linker says a word: one file's objects go through the other's functions. Exit status 1 where
there is one.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

UNNAMED = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.DOTALL | re.MULTILINE)
# Of lines that begin in the first column: what is indented belongs to something else.
TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)", re.MULTILINE)
NAMED = re.compile(r"^namespace (\w[\w:]*) \{$", re.MULTILINE)
DEFINED_TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)(?: final)?(?: : [^;(){}]*)? \{", re.MULTILINE)
VARIABLE = re.compile(
    r"^(?!struct |class |enum |namespace |using )\w[^(\n]*?\b(\w+)(?:\[\w*\])?(?: = |\{|;)", re.MULTILINE
)
FUNCTION = re.compile(r"^\w[\w:<>,&* \[\]]*[ *&](\w+)(\([^{;]*\))[\w ]*\{", re.MULTILINE)
DECLARED_FUNCTION = re.compile(
    r"^(?:\[\[nodiscard\]\] |inline |constexpr )*(?!using |return )\w[\w:<>,&* ]*[ *&](\w+)\(", re.MULTILINE
)
PARAMETER_NAME = re.compile(r"(?<=[ &*])\w+(?=[,)])")


# Folders whose sources are one library with another's.
LIBRARY_OF = {"harness/probes/host": "harness/probes"}


def names_in(text: str) -> Iterator[str]:
    """Types and variables by their names; functions with the types that they take."""
    for scope in UNNAMED.findall(text):
        yield from TYPE.findall(scope)
        yield from VARIABLE.findall(scope)
        for name, parameters in FUNCTION.findall(scope):
            yield name + PARAMETER_NAME.sub("", " ".join(parameters.split()))


def clashes(root: Path) -> list[str]:
    files: dict[tuple[str, str], list[str]] = defaultdict(list)
    for source in sorted([*root.glob("harness/**/*.cpp"), *root.glob("detectors/**/*.cpp")]):
        path = source.relative_to(root)
        folder = "detectors" if path.parts[0] == "detectors" else path.parent.as_posix()
        for name in set(names_in(source.read_text(encoding="utf-8"))):
            files[LIBRARY_OF.get(folder, folder), name].append(path.as_posix())
    return [f"{name} is defined in {' and in '.join(of)}" for (_, name), of in files.items() if len(of) > 1]


def hidden_functions(root: Path) -> list[str]:
    """Of headers, by variables of sources."""
    declared: dict[str, str] = {}
    for header in sorted(root.glob("harness/**/*.hpp")):
        for name in DECLARED_FUNCTION.findall(header.read_text(encoding="utf-8")):
            declared.setdefault(name, header.relative_to(root).as_posix())
    return [
        f"the variable {name} of {source.relative_to(root)} has the name of a function in {declared[name]}"
        for source in sorted([*root.glob("harness/**/*.cpp"), *root.glob("detectors/**/*.cpp")])
        for scope in UNNAMED.findall(source.read_text(encoding="utf-8"))
        for name in VARIABLE.findall(scope)
        if name in declared
    ]


def double_types(root: Path) -> list[str]:
    files: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for file in sorted(root.glob("[hdt]*/**/*.[ch]pp")):
        text = file.read_text(encoding="utf-8")
        scope = NAMED.findall(text)
        for name in set(DEFINED_TYPE.findall(UNNAMED.sub("", text))) if scope else ():
            files[(*scope, name)].append(file.relative_to(root).as_posix())
    return [f"{key[-1]} is defined in {' and in '.join(of)}" for key, of in files.items() if len(of) > 1]


def self_test() -> None:
    def told(one: str, other: str, folder: str = "a") -> bool:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            for file, text in ((f"harness/{folder}/one.cpp", one), ("harness/a/other.cpp", other)):
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text(f"namespace stepleak {{\nnamespace {{\n\n{text}\n}}  // namespace\n}}\n")
            return bool(clashes(root))

    for one, other in (
        ("struct Record {\n  int x;\n};", "class Record {\n};"),
        ("constexpr int kMost = 3;", "constexpr std::size_t kMost = 4;"),
        ("std::atomic<One*> here{nullptr};", "std::atomic<Other*> here{nullptr};"),
        ("int sum(int one, int two) {\n}", "long sum(int a, int b) {\n}"),
        ("Record& record() { return here; }", "Graph& record() {\n}"),
    ):
        assert told(one, other), one
        assert not told(one, other, folder="b"), one
    for one, other in (
        ("struct Record {\n};", "struct Records {\n};"),
        ("void put(int one) {\n}", "void put(const Block& one) {\n}"),
        ("void all() {\n  const auto kept = 1;\n}", "void most() {\n  const auto kept = 1;\n}"),
    ):
        assert not told(one, other), one
    for variable, hides in (("int exit_code = 3;", True), ("int code = 3;", False)):
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            (root / "harness").mkdir()
            (root / "harness/verdict.hpp").write_text("[[nodiscard]] ExitCode exit_code(Verdict verdict);\n")
            (root / "harness/end.cpp").write_text(f"namespace {{\n\n{variable}\n\n}}  // namespace\n")
            assert bool(hidden_functions(root)) == hides
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for file, text in (
            ("harness/a.hpp", "namespace stepleak {\nclass Mapping {\n};\nclass Record final : Base {\n};\n}\n"),
            ("harness/b.hpp", "namespace stepleak {\nclass Mapping;\nclass Map {\n};\n}\n"),
            ("tests/c.cpp", "namespace stepleak {\nnamespace {\nclass Mapping {\n};\n}  // namespace\n}\n"),
            ("tests/d.cpp", "namespace another {\nclass Mapping {\n};\n}\n"),
        ):
            (root / file).parent.mkdir(exist_ok=True)
            (root / file).write_text(text)
        assert not double_types(root), double_types(root)
        (root / "tests/e.hpp").write_text("namespace stepleak {\nclass Mapping {\n};\nstruct Record : Other {\n};\n}\n")
        assert len(double_types(root)) == 2, double_types(root)


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    found = clashes(root) + hidden_functions(root) + double_types(root)
    for clash in found:
        print(f"{clash}\n    remedy: give one of them a name of its own")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
