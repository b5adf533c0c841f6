# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Lines that might keep a container small, and of which a pass, or a running script, tells whether they do."""

from __future__ import annotations

from pathlib import Path

import pytest
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
    begin = "script_kept, count = [], 0\nscript_setting = False\nwhile True:\n    count += 1\n    "
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
