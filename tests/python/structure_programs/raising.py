# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Lists that are filled until an exception says that it is enough, or in a case of a `match`, and near misses."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

import textwrap

from structure_programs import Case, keeper

_DONE = "class Done(Exception): pass\n"
_CAUGHT = "try: keeper.add([1])\nexcept Done: pass"
_FULL = "if self.full: raise Done"
_INIT = "self.kept, self.full, self.mode = [], False, 'fill'"
_SET, _LEFT = "\nif keeper.count == 900: keeper.full = True", "\nif keeper.count == 900: keeper.mode = 'use'"


def _raising(test: str, step: str = _CAUGHT + _SET, more: str = "") -> str:
    lines = ["def add(self, x):", "    self.count += 1", f"    {test}", "    self.kept.append(x)", *more.splitlines()]
    return _DONE + keeper("\n".join(lines), _INIT, step)


def _matching(match: str, step: str = "keeper.add([1])" + _LEFT) -> str:
    body = "\n".join(["self.count += 1", *match.splitlines()])
    return keeper("def add(self, x):\n" + textwrap.indent(body, "    "), _INIT, step)


_CHECKED = "try: keeper.check()\nexcept Done: return\nkeeper.add([1])" + _SET
_CHECK = "def check(self):\n    if self.full: raise Done"
_FILL_CASE = "match self.mode:\n    case 'fill': self.kept.append(x)\n    case 'use': pass"

RAISING = [
    Case("until a flag raises", _raising(_FULL), "keeper.kept", "conditional", line="self.full"),
    Case("until a count raises", _raising("if self.count > 900: raise Done"), "keeper.kept", "bounded", 901, "append"),
    Case("until an assertion fails", _raising("assert not self.full", _CAUGHT.replace("Done", "AssertionError") + _SET), "keeper.kept", "conditional", line="assert"),
    Case("until a flag raises, suppressed", "import contextlib\n" + _raising(_FULL, "with contextlib.suppress(Done): keeper.add([1])" + _SET), "keeper.kept", "conditional", line="self.full"),
    Case("until a check raises", _raising("pass", _CHECKED, _CHECK), "keeper.kept", "conditional", line="self.full"),
    Case("with a check that ends the steps", _raising("if x is None: raise Done", "keeper.add([1])"), "keeper.kept", "unbounded"),
    Case("with a flag that ends the steps", _raising(_FULL, "keeper.add([1])" + _SET), "keeper.kept", "unbounded"),
    Case("with another exception caught", _raising(_FULL, _CAUGHT.replace("Done", "KeyError") + _SET), "keeper.kept", "unbounded"),
    Case("with what is raised again", _raising(_FULL, _CAUGHT.replace("pass", "raise") + _SET), "keeper.kept", "unbounded"),
    Case("with a check that ends", _raising("pass", _CHECKED.replace("return", "raise"), _CHECK), "keeper.kept", "unbounded"),
]  # fmt: skip

MATCHING = [
    Case("in the case of a mode", _matching(_FILL_CASE), "keeper.kept", "conditional", line="case 'fill'"),
    Case("in the case that is left", _matching("match self.mode:\n    case 'use': pass\n    case _: self.kept.append(x)"), "keeper.kept", "conditional", line="case 'use'"),
    Case("behind a case that returns", _matching("match self.mode:\n    case 'use': return\nself.kept.append(x)"), "keeper.kept", "conditional", line="case 'use'"),
    Case("in one of two cases", _matching("match self.mode:\n    case 'fill' | 'top up': self.kept.append(x)"), "keeper.kept", "unknown"),
    Case("in a case with a test", _matching("match x:\n    case [_] if self.count < 900: self.kept.append(x)"), "keeper.kept", "bounded", 900, "self.count < 900"),
    Case("in a case of a length", _matching("match len(self.kept):\n    case 900: pass\n    case _: self.kept.append(x)"), "keeper.kept", "bounded", 900, "append"),
    Case("in the case of a flag", _matching("match self.full:\n    case False: self.kept.append(x)", "keeper.add([1])" + _SET), "keeper.kept", "conditional", line="case False"),
    Case("in the case of a mode that stays", _matching(_FILL_CASE, "keeper.add([1])"), "keeper.kept", "unbounded"),
    Case("in a case that comes round", _matching("match self.count % 3:\n    case 0: self.kept.append(x)"), "keeper.kept", "unbounded"),
    Case("in a case of any kind", _matching("match x:\n    case _: self.kept.append(x)"), "keeper.kept", "unbounded"),
]  # fmt: skip
