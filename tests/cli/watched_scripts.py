# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The scripts of tests/scripts: what each declares, and what of a result is right by that.

    watched_scripts.py FOLDER    the table of docs/watch.md, of the results that test_scripts.py left in FOLDER

A script says in comments at its top how it is called (`arguments`), which modules (`needs`) and which program
(`program`) it needs, what ends its steps (`steps`), which kinds of leak are right (`kind`), and what holds it
(`holder`). The line that leaks ends in "# the leak". `default`: quick enough, and of a kind of its own, for the tests
of each day.

    ci/test scripts
    python tests/cli/watched_scripts.py build/tests/cli/scripts
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"


@dataclass(frozen=True)
class Script:
    path: Path
    facts: dict[str, str]
    leaking_line: int

    @property
    def is_leaking(self) -> bool:
        return self.path.parent.name == "leaking"

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"

    @property
    def modules(self) -> list[str]:
        return self.facts.get("needs", "").split()

    def missing(self) -> str:
        """What it needs and is not here; empty where all is."""
        modules = [module for module in self.modules if importlib.util.find_spec(module) is None]
        programs = [name for name in self.facts.get("program", "").split() if shutil.which(name) is None]
        return ", ".join(modules + programs)

    def is_verdict_right(self, result: dict[str, Any]) -> bool:
        if not self.is_leaking:
            return bool(result["verdict"] == "clean")
        return result["verdict"] == "leak" and result["findings"][0]["kind"] in self.facts["kind"].split()

    def is_line_right(self, result: dict[str, Any]) -> bool:
        """Whether the first finding leads to the line: as what keeps it, or as a place that it was made at."""
        finding = result["findings"][0]
        lines = [frame["line"] for frame in finding["where"] if frame["file"].endswith(self.path.name)]
        is_kept_there = f"{self.path.name}:{self.leaking_line} " in finding.get("kept_by", "")
        return is_kept_there or self.leaking_line in lines

    def is_holder_right(self, result: dict[str, Any]) -> bool:
        return self.facts["holder"] in result["findings"][0]["holder"]


def read(path: Path) -> Script:
    lines = path.read_text(encoding="utf-8").splitlines()
    facts = {}
    for line in lines[2:]:
        if not line.startswith("# "):
            break
        name, _, value = line[2:].partition(": ")
        facts[name] = value
    marked = [number for number, line in enumerate(lines, 1) if line.endswith("# the leak")]
    assert len(marked) == (path.parent.name == "leaking"), f"{path} marks {len(marked)} lines"
    return Script(path, facts, marked[0] if marked else 0)


ALL = [read(path) for path in sorted(SCRIPTS.glob("*/*.py"))]


# --- results that are kept --------------------------------------------------------------------------------------------


def file_of(script: Script, folder: Path) -> Path:
    return folder / f"{script.name.replace('/', '_')}.json"


def forget(script: Script, folder: Path) -> None:
    """What an earlier run left is no result of this one."""
    file_of(script, folder).unlink(missing_ok=True)


def store(script: Script, result: dict[str, Any], folder: Path) -> None:
    """With the releases of the libraries that ran, and without the ledgers."""
    kept = {name: value for name, value in result.items() if name not in ("series", "sampled", "looks", "survivors")}
    kept["libraries"] = {module: importlib.metadata.version(module) for module in script.modules}
    folder.mkdir(parents=True, exist_ok=True)
    file_of(script, folder).write_text(json.dumps(kept), encoding="utf-8")


def stored(script: Script, folder: Path) -> dict[str, Any] | None:
    file = file_of(script, folder)
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def row_of(script: Script, result: dict[str, Any] | None) -> list[str]:
    if result is None:
        return [f"`{script.name}`", "not run", "", "", "", "", ""]
    kinds = ", ".join(finding["kind"] for finding in result["findings"])
    verdict = result["verdict"] if script.is_verdict_right(result) else f"**{result['verdict']}**, wrong"
    places = ["", ""]
    if script.is_leaking:
        is_found = bool(result["findings"])
        places = [
            "yes" if is_found and is_right(result) else "no"
            for is_right in (script.is_line_right, script.is_holder_right)
        ]
    libraries = ", ".join(f"{name} {version}" for name, version in result["libraries"].items())
    return [f"`{script.name}`", verdict, kinds, str(result["steps"]), *places, libraries]


def table_of(results: list[tuple[Script, dict[str, Any] | None]]) -> str:
    titles = ["script", "verdict", "kind", "steps", "line right", "holder right", "libraries"]
    rows = [titles, ["---"] * len(titles)] + [row_of(script, result) for script, result in results]
    ran = [(script, result) for script, result in results if result is not None]
    found = [(script, result) for script, result in ran if script.is_leaking and result["findings"]]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + (
        f"\n\n{len(ran)} of {len(results)} scripts were run. "
        f"Right are {sum(script.is_verdict_right(result) for script, result in ran)} verdicts of {len(ran)}, and of "
        f"{len(found)} leaks that were found {sum(script.is_line_right(result) for script, result in found)} lines and "
        f"{sum(script.is_holder_right(result) for script, result in found)} holders."
    )


def main() -> int:
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print("watched_scripts.py FOLDER: the results that `ci/test scripts` left; remedy: run it", file=sys.stderr)
        return 64
    results = [(script, stored(script, Path(sys.argv[1]))) for script in ALL]
    print(table_of(results))
    return 0 if all(result and script.is_verdict_right(result) for script, result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
