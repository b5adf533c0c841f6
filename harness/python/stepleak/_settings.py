# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What [tool.stepleak] in a pyproject.toml says, for the command line.

    python3 -I _settings.py PYPROJECT
    python3 -I _settings.py PYPROJECT TEMPLATE

Prints a JSON object: the folders `scenarios` and `baselines`, absolute, empty where nothing is said of them; or what is
wrong, as `error` and `remedy`; or nothing ({}) where the table is not there. With TEMPLATE it prints what `stepleak
init` makes of the file: the whole `text` with what the template's table has more, what was `added` to it (empty:
nothing), and the folder of `scenarios`, which need not be there yet. Nothing is written.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11; a dependency of the package there
    import tomli as tomllib  # type: ignore[no-redef]

FOLDERS = ("scenarios", "baselines")

_HEADER = re.compile(r"""^[ \t]*\[[ \t]*(["']?)tool\1[ \t]*\.[ \t]*(["']?)stepleak\2[ \t]*\][^\n]*(?:\n|\Z)""", re.M)
_KEYS = re.compile(r"^((?:#.*\n)*(\w+) = .*\n)", re.M)
"""Of a template: lines on a key with its own, and the key."""


class SettingsError(Exception):
    """What the table says is wrong; the second argument is the remedy."""


def settings_of(file: Path) -> dict[str, str]:
    table = _table_of(_tool_of(file, _text_of(file)), file)
    if table is None:
        return {}
    folders = _folders_of(table, file)
    # Baselines are made by the first update; scenarios are written.
    if folders["scenarios"] and not os.path.isdir(folders["scenarios"]):
        raise SettingsError(f"{file}: scenarios = {table['scenarios']!r} is no folder", "it is relative to that file")
    return folders


def with_template(file: Path, template: str) -> dict[str, str]:
    wanted = tomllib.loads(template)["tool"]["stepleak"]
    text = _text_of(file) if os.path.lexists(file) else ""
    tool = _tool_of(file, text)
    table = _table_of(tool, file)
    folders = _folders_of({**wanted, **(table or {})}, file)
    if table and "scenarios" in table:
        return {"text": text, "added": "", "scenarios": folders["scenarios"]}
    candidates = [_with_table(text, template)] if table is None else list(_with_keys(text, template, table))
    for candidate in candidates:
        if _is_table_of(candidate, {**wanted, **(table or {})}):
            added = "[tool.stepleak]" if table is None else "scenarios to [tool.stepleak]"
            return {"text": candidate, "added": added, "scenarios": folders["scenarios"]}
    keys = f'scenarios = "{wanted["scenarios"]}"'
    if table is not None:
        raise SettingsError(f"{file}: tool.stepleak has no scenarios", f"add to it: {keys}")
    if not isinstance(tool, dict):
        raise SettingsError(f"{file}: tool is no table", "correct it")
    raise SettingsError(
        f"{file} takes no [tool.stepleak] at its end, as its `tool` is written", f"add stepleak = {{{keys}}} to that"
    )


def _text_of(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", newline="") as opened:  # what is written back keeps its ends of lines
            return opened.read()
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}", "mend it, or move it away") from None
    except ValueError as error:
        raise SettingsError(f"{file} is no TOML: {error}", "correct it") from None


def _tool_of(file: Path, text: str) -> Any:
    try:
        return tomllib.loads(text).get("tool", {})
    except (ValueError, RecursionError) as error:  # numbers and nests that Python gives up on, too
        raise SettingsError(f"{file} is no TOML: {error}", "correct it") from None


def _table_of(tool: Any, file: Path) -> dict[str, Any] | None:
    table = tool.get("stepleak") if isinstance(tool, dict) else None
    if table is None or isinstance(table, dict):
        return table
    raise SettingsError(f"{file}: tool.stepleak is no table", "write [tool.stepleak]")


def _folders_of(table: dict[str, Any], file: Path) -> dict[str, str]:
    unknown = sorted(set(table) - set(FOLDERS))
    if unknown:
        raise SettingsError(f"{file}: [tool.stepleak] knows no '{unknown[0]}'", "it knows " + " and ".join(FOLDERS))
    return {name: _folder(file, name, table[name]) if name in table else "" for name in FOLDERS}


def _with_table(text: str, template: str) -> str:
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return text + gap + template


def _with_keys(text: str, template: str, table: dict[str, Any]) -> Iterator[str]:
    """Below each line that may be the table's header: one may stand in a text of several lines."""
    lacking = "".join(lines for lines, key in _KEYS.findall(template) if key not in table)
    for header in _HEADER.finditer(text):
        before, after = text[: header.end()], text[header.end() :]
        yield (before if before.endswith("\n") else before + "\n") + lacking + after


def _is_table_of(text: str, table: dict[str, Any]) -> bool:
    try:
        tool = tomllib.loads(text).get("tool")
    except ValueError:
        return False
    return isinstance(tool, dict) and tool.get("stepleak") == table


def _folder(file: Path, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SettingsError(f"{file}: {name} is no text", f'write {name} = "FOLDER"')
    if value == "":
        raise SettingsError(f"{file}: {name} is empty", f'write {name} = "FOLDER", or leave it out')
    return str(file.parent / value)


if __name__ == "__main__":
    try:
        asked = Path(sys.argv[1])
        told = (
            with_template(asked, Path(sys.argv[2]).read_text(encoding="utf-8")) if sys.argv[2:] else settings_of(asked)
        )
        print(json.dumps(told))
    except SettingsError as wrong:
        print(json.dumps({"error": wrong.args[0], "remedy": wrong.args[1]}))
