# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What [tool.stepleak] in a pyproject.toml says, for the command line.

    python3 -I _settings.py PYPROJECT

Prints a JSON object: the folders `scenarios` and `baselines`, absolute, empty where nothing is said of them; or what is
wrong, as `error` and `remedy`; or nothing ({}) where the table is not there.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11; a dependency of the package there
    import tomli as tomllib  # type: ignore[no-redef]

FOLDERS = ("scenarios", "baselines")


class SettingsError(Exception):
    """What the table says is wrong; the second argument is the remedy."""


def settings_of(file: Path) -> dict[str, str]:
    try:
        tool = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}", "mend it, or move it away") from None
    except (ValueError, RecursionError) as error:  # what it decodes, and numbers and nests that Python gives up on
        raise SettingsError(f"{file} is no TOML: {error}", "correct it") from None
    table = tool.get("stepleak") if isinstance(tool, dict) else None
    if table is None:
        return {}
    if not isinstance(table, dict):
        raise SettingsError(f"{file}: tool.stepleak is no table", "write [tool.stepleak]")
    unknown = sorted(set(table) - set(FOLDERS))
    if unknown:
        raise SettingsError(f"{file}: [tool.stepleak] knows no '{unknown[0]}'", "it knows " + " and ".join(FOLDERS))
    folders = {name: _folder(file, name, table[name]) if name in table else "" for name in FOLDERS}
    # Baselines are made by the first update; scenarios are written.
    if folders["scenarios"] and not os.path.isdir(folders["scenarios"]):
        raise SettingsError(f"{file}: scenarios = {table['scenarios']!r} is no folder", "it is relative to that file")
    return folders


def _folder(file: Path, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SettingsError(f"{file}: {name} is no text", f'write {name} = "FOLDER"')
    if value == "":
        raise SettingsError(f"{file}: {name} is empty", f'write {name} = "FOLDER", or leave it out')
    return str(file.parent / value)


if __name__ == "__main__":
    try:
        print(json.dumps(settings_of(Path(sys.argv[1]))))
    except SettingsError as wrong:
        print(json.dumps({"error": wrong.args[0], "remedy": wrong.args[1]}))
