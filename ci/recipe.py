# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The nightly gate that `stepleak init --ci github` writes, for this project's own nightly (ci/nightly).

    python3 ci/recipe.py

Prints a line for each shard: its number, then the arguments of `stepleak gate`.
"""

from __future__ import annotations

import re
from pathlib import Path

RECIPE = Path(__file__).resolve().parents[1] / "harness/python/stepleak/templates/github.yml"


def nightly(text: str) -> list[tuple[str, list[str]]]:
    """Shards and arguments of the job `nightly`."""
    job = text.partition("\n  nightly:\n")[2]
    shards = re.search(r"^ +shard: \[([^]]+)\]$", job, re.MULTILINE)
    command = re.search(r"^ +- run: >-\n +stepleak gate((?:\s+(?!- )\S.*)+)$", job, re.MULTILINE)
    if shards is None or command is None:
        raise SystemExit(f"error:  {RECIPE} has no job `nightly` with shards and a command `stepleak gate`")
    return [(shard, command[1].replace("${{ matrix.shard }}", shard).split()) for shard in shards[1].split(", ")]


if __name__ == "__main__":
    for shard, arguments in nightly(RECIPE.read_text(encoding="utf-8")):
        print(shard, *arguments)
