# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What empties or replaces a container in the code that calls `check()`: that waits, so it does so in no step."""

from __future__ import annotations

from pathlib import Path

import pytest
from watched_program import found_in

KEEPER = """
class ProgramKeeper:
    def __init__(self, seed=0):
        self.program_kept = []
    def program_keep(self):
        self.program_kept.append([1])
    def program_empty(self):
        self.program_kept.clear()
"""

CACHE = """
program_cache = []
def program_keep():
    program_cache.append([1])
def program_empty():
    program_cache.clear()
"""

# The program, and what bounds the container then.
WAITING = {
    "emptied in the file before each check": (
        CACHE + "for seed in range(3):\n    program_cache.clear()\n    program_check(program_keep)\n",
        "uncalled",
    ),
    "emptied by a helper before the check": (
        CACHE + "def program_main():\n    program_empty()\n    program_check(program_keep)\nprogram_main()\n",
        "uncalled",
    ),
    "emptied at the end of a test": (
        CACHE
        + "def test_program():\n    try:\n        program_check(program_keep)\n    finally:\n        program_empty()\n"
        + "test_program()\n",
        "uncalled",
    ),
    "replaced in the file before the check": (
        CACHE.replace("clear", "count") + "program_cache = []\nprogram_check(program_keep)\n",
        "unbounded",
    ),
    "keeper made for each check": (
        KEEPER.replace("clear", "count")
        + "def program_main():\n    for seed in range(3):\n        keeper = ProgramKeeper(seed)\n"
        + "        program_check(keeper.program_keep)\nprogram_main()\n",
        "unbounded",
    ),
    "closure made for each check": (
        "def program_keeping():\n    program_kept = []\n    def program_keep_one():\n        program_kept.append([1])\n"
        + "    return program_keep_one\n"
        + "for seed in range(3):\n    program_check(program_keeping())\n",
        "unbounded",
    ),
}

GOING_ON = {
    "emptied in the step": (
        CACHE
        + "def program_step_of_mine():\n    program_keep()\n    if len(program_cache) % 900 == 0:\n"
        + "        program_empty()\nprogram_check(program_step_of_mine)\n",
        "bounded",
    ),
    "emptied by the loop that runs where nothing is checked": (
        CACHE
        + "import sys\nif sys.argv:\n    program_check(program_keep)\nelse:\n    for epoch in range(3):\n"
        + "        program_keep()\n        program_empty()\n",
        "reset",
    ),
    "emptied in another loop of the function that waits": (
        CACHE
        + "def program_main():\n    program_check(program_keep)\n    for epoch in range(3):\n        program_keep()\n"
        + "        program_empty()\nprogram_main()\n",
        "reset",
    ),
    "emptied by a function that the file hands on": (
        CACHE + "import atexit\nprogram_hooks = [program_empty]\nprogram_check(program_keep)\n",
        "reset",
    ),
    "emptied before each step of a loop of its own": (
        CACHE
        + "for epoch in range(30):\n    program_empty()\n    for step in range(50):\n        program_keep()\n"
        + "        program_step()\n",
        "reset",
    ),
}


@pytest.mark.parametrize("name", [*WAITING, *GOING_ON])
def test_what_bounds_a_container_beside_the_check(name: str, tmp_path: Path) -> None:
    program, kind = (WAITING | GOING_ON)[name]
    (holder,) = [holder for holder in found_in(program, tmp_path)["holders"] if holder["container"] >= 0]
    assert holder["structure"]["kind"] == kind
