# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Lists that a loop of the program's own fills, until one of its variables gets another value, and near misses."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

import textwrap

from structure_programs import Case

_LOOP = """
import itertools, random
def main(probe):
    kept = []
    def fill(x): kept.append(x)
    def skip(x): pass
    {before}
    for step in range(9):
{body}
        if step == 6: probe()
    return len(kept)
"""


def _loop(body: str, before: str = "pass") -> str:
    return _LOOP.format(before=before, body=textwrap.indent(textwrap.dedent(body), "        "))


IN_LOOPS = [
    *(
        Case(f"in a loop, until {name}", _loop(body, before), "kept", kind, bound, line)
        for name, body, before, kind, bound, line in [
            ("a flag is set", "if not full: kept.append(step)\nif step == 900: full = True", "full = False", "conditional", -1, "not full"),
            ("another phase begins", "if phase == 'fill': kept.append(step)\nif step == 900: phase = 'use'", "phase = 'fill'", "conditional", -1, "phase =="),
            ("another function is called", "do(step)\nif step == 900: do = skip", "do = fill", "conditional", -1, "do = skip"),
            ("another key is asked for", "{'fill': fill, 'use': skip}[phase](step)\nif step == 900: phase = 'use'", "phase = 'fill'", "conditional", -1, "'use'"),
            ("a pool is empty", "if pool: kept.append(pool.pop())", "pool = [[1] for _ in range(900)]", "conditional", -1, "if pool"),
            ("rows are over", "for row in rows[step : step + 1]: kept.append(row)", "rows = [[1] for _ in range(900)]", "conditional", -1, "rows["),
            ("an iterator is", "for row in itertools.islice(rows, 1): kept.append(row)", "rows = iter([[1]] * 900)", "conditional", -1, "islice"),
            ("the last of some steps", "if step in steps: kept.append(step)", "steps = {0, 1, 2, 3, 4, 5, 6, 900}", "conditional", -1, "step in"),
            ("a chance is gone", "chance = chance * 0.99\nif random.random() < chance: kept.append(step)", "chance = 1.0", "conditional", -1, "< chance"),
            ("a count", "if step < most: kept.append(step)", "most = 900", "conditional", -1, "step < most"),
        ]
    ),
    *(
        Case(f"in a loop, {name}", _loop(body, before), "kept", kind)
        for name, body, before, kind in [
            ("under a flag that stays", "if keeps: kept.append(step)", "keeps = True", "unbounded"),
            ("in a mode that stays", "if mode == 'fill': kept.append(step)", "mode = 'fill'", "unbounded"),
            ("by a function that stays", "do(step)", "do = fill", "unbounded"),
            ("out of an iterator that begins anew", "for row in itertools.islice(rows, 1): kept.append(row)\nif step == 900: rows = iter([[1]] * 900)", "rows = iter([[1]] * 900)", "unbounded"),
            ("out of what stays", "for row in rows[:1]: kept.append(row)", "rows = [[1] for _ in range(900)]", "unbounded"),
            ("under a flag that comes back", "if not full: kept.append(step)\nfull = step == 900", "full = False", "unknown"),
        ]
    ),
]  # fmt: skip
