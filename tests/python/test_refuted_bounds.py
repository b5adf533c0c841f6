# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Lines that might keep a container small, and of which a pass, or a running script, tells whether they do."""

from __future__ import annotations

import gc
import importlib.util
import sys
from pathlib import Path

import pytest
from holder_search import STEPS
from stepleak._core import frame_locals
from stepleak._holders import HolderSearch
from watched_program import kind_found_in

# Each in a loop of the file. Names of their own: the search knows the sources of other tests, too.
SCRIPTS = {
    "emptied where a variable of the loop says so": (
        "script_kept.append([1])\n    script_flag = count % 900 == 899\n    if script_flag: script_kept.clear()",
        "reset",
    ),
    "emptied where a setting says so, which it does not": (
        "script_kept.append([1])\n    if script_setting:\n        script_kept.clear()",
        "uncalled",
    ),
    "cut under a limit that is off": (
        "script_kept.append([1])\n    if script_limit is not None and len(script_kept) > script_limit:\n"
        "        script_kept.pop(0)",
        "unknown",
    ),
    "cut under a limit that is on": (
        "script_kept.append([1])\n    if script_most is not None and len(script_kept) > script_most:\n"
        "        script_kept.pop(0)",
        "bounded",
    ),
    "cut above a limit that lets all through": (
        "script_kept.append([1])\n    while len(script_kept) > script_all:\n        script_kept.pop(0)",
        "uncalled",
    ),
    "cut above such a limit, once it is asked": (
        "script_kept.append([1])\n    if len(script_kept) > script_all:\n        script_kept.pop(0)",
        "unknown",
    ),
    "turned, where what is taken out goes in again": (
        "script_kept.append([1])\n    if count % 20 == 19:\n        script_kept.append(script_kept.pop(0))",
        "unbounded",
    ),
    "turned, where another takes its place": (
        "script_kept.append([1])\n    if count % 20 == 19:\n        script_other.append(script_kept.pop(0))",
        "expiring",
    ),
    "cut now and then": (
        "script_kept.append([1])\n    if count % 900 == 899:\n        del script_kept[:-1]",
        "conditional",
    ),
    "cut in an outer loop": (
        "for _ in range(30):\n        script_kept.append([1])\n        program_step()\n    del script_kept[:-1]",
        "conditional",
    ),
}


@pytest.mark.parametrize(("body", "kind"), SCRIPTS.values(), ids=SCRIPTS.keys())
def test_of_a_script(body: str, kind: str, tmp_path: Path) -> None:
    begin = (
        "script_kept, script_other, count = [], [], 0\nscript_setting, script_limit, script_most = False, None, 900\n"
    )
    begin += 'script_all = float("inf")\nwhile True:\n    count += 1\n    '
    assert kind_found_in(begin + body + "\n    program_step()\n", tmp_path) == kind


CONSUMED = """
import queue, threading
script_queue = queue.Queue()
def script_drain():
    script_queue.get()
script_thread = threading.Thread(target=script_drain)
{before}
for count in range(90):
    script_queue.put([count])
    {within}
    program_step()
{after}
"""


@pytest.mark.parametrize(
    ("before", "within", "after", "kind"),
    [
        ("script_thread.start()", "script_thread.join()", "pass", "unknown"),
        ("pass", "pass", "script_thread.start()", "conditional"),
        (
            "script_thread.start()",
            "script_thread.join()",
            "threading.Thread(target=script_drain).start()",
            "conditional",
        ),
        (
            "script_thread.start()",
            "if count % 900 == 899: threading.Thread(target=script_drain).start()",
            "pass",
            "conditional",
        ),
    ],
    ids=["before", "after", "and one after", "and one now and then"],
)
def test_of_a_script_whose_consumer_has_ended(before: str, within: str, after: str, kind: str, tmp_path: Path) -> None:
    assert kind_found_in(CONSUMED.format(before=before, within=within, after=after), tmp_path) == kind


ARENA = """
import torch
class ArenaOfProgram:
    def __init__(self):
        self.free, self.is_reusing = {{}}, False
    def take(self, shape):
        stack = self.free.get(shape)
        if {test}:
            return stack.pop()
        return torch.zeros(shape)
    def give(self, rows):
        self.free.setdefault({key}, []).append(rows)
    def reuse(self):
        self.is_reusing = True
arena, steps = ArenaOfProgram(), 0
def step():
    global steps
    steps += 1
    {body}
    return rows._cdata
{more}
"""
_TAKEN = "rows = arena.take((3, 2)); arena.give(rows)"
ARENAS = {
    "of what is put under another key": ("stack", "rows.numel()", _TAKEN, "", "unknown"),
    "that is asked for later": ("stack and self.is_reusing", "rows.shape", _TAKEN, "", "conditional"),
    "that is asked for by another line, too": (
        "stack",
        "rows.numel()",
        _TAKEN,
        "def later(): return arena.take(6)\nshown = print, later",
        "conditional",
    ),
    "of what was not got from it": (
        "stack",
        "rows.numel()",
        "rows = torch.zeros(3, 2); arena.give(rows); arena.take((4, 4))",
        "",
        "conditional",
    ),
    "under a key that says nothing of what it is": ("stack", "'done'", _TAKEN, "", "conditional"),
    "got once and put in again and again": (
        "stack",
        "rows.numel()",
        "rows = first.pop() if first else torch.zeros(3, 2); arena.give(rows)",
        "first = [arena.take((3, 2))]",
        "conditional",
    ),
    "of which there are two, which may change places": (
        "stack",
        "rows.numel()",
        _TAKEN,
        "other = ArenaOfProgram()",
        "conditional",
    ),
}


@pytest.mark.parametrize(("test", "key", "body", "more", "kind"), ARENAS.values(), ids=ARENAS.keys())
def test_free_list(test: str, key: str, body: str, more: str, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "arena_program.py"
    file.write_text(ARENA.format(test=test, key=key, body=body, more=more), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("arena_program", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["arena_program"] = module
    spec.loader.exec_module(module)
    found = HolderSearch(module.step, frame_locals)
    try:
        module.step()
        # Whether something is taken out of what is doubtful is seen from the second search on.
        for expected in ("conditional", kind):
            found.begin()
            gc.freeze()
            addresses = [module.step() for _ in range(STEPS)]
            found.end()
            gc.unfreeze()
            holders = found.search(addresses, {str(file): set()}, STEPS)["holders"]
            assert [holder["structure"]["kind"] for holder in holders[:1]] == [expected]
    finally:
        del sys.modules["arena_program"]
