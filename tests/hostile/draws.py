# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Hostile words, command lines and TOML, drawn: the same number draws the same."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

# Each has been trouble to some program: nothing, what looks like an option, a number or a format, what drives a
# terminal, what is no text, what is long.
PIECES = [
    "",
    " ",
    "-",
    "--",
    "-1",
    "0",
    "1e309",
    "nan",
    "18446744073709551616",
    "%s%n",
    "{}",
    "{0}",
    "$(touch x)",
    "'\"`",
    "*",
    "[",
    "[!",
    "\\",
    "..",
    ".",
    "#",
    "=",
    ":",
    "::",
    ".py",
    ".py:",
    "\n",
    "\r",
    "\t",
    "\x1b[31m",
    "\x1b]0;x\x07",
    "\x7f",
    "\u009b2J",
    "\u202e",
    "\ufeff",
    "\uffff",
    "\U0001f600",
    "e\u0301",
    "\udcff",
    "\udced\udca0\udc80",
    "x" * 300,
    "x/" * 2100,
]


def word(draw: random.Random) -> str:
    """Of few pieces; a slash leads nowhere that is anybody's."""
    return "".join(draw.choice(PIECES) for _ in range(draw.choice([1, 1, 1, 2, 3])))


def target(draw: random.Random) -> str:
    """Names no file that is there."""
    return f"no{word(draw)}.py{draw.choice(['', ':', ':step', ':' + word(draw)])}"


# --- command lines ----------------------------------------------------------------------------------------------------

# There, and not to be changed: a result, a trace, a step, entries, a folder, and what is none of them.
INPUTS = ["good.json", "t.trace", "plain.py", "k.toml", "folder", "nothing"]
OUTPUTS = ["--json", "--html", "--junit", "--sarif", "--code-quality", "--trace"]
# Options with a value, of those verbs that start no worker here.
OPTIONS: dict[str, list[str]] = {
    "analyze": [*OUTPUTS[:-1], "--known", "--colour"],
    "report": [*OUTPUTS[:-1], "--known", "--colour"],
    "known add": ["--reason", "--link", "--expires", "--known"],
    "list": ["--scenarios"],
    "baseline show": ["--baselines", "--device"],
    "completion": [],
    "run": [*OUTPUTS, "--steps", "--effort", "--device", "--memory", "--timeout", "--jobs", "--seed"],
    "watch": [*OUTPUTS, "--max-steps", "--budget"],
}
FLAGS = ["--strict", "--help", "--version", "--bisect", "--stories", "--no-such-option", "-j1", "-h"]


def _operand(draw: random.Random, verb: str) -> str:
    return target(draw) if verb in ("run", "watch") else draw.choice([*INPUTS, word(draw)])


def command_line(draw: random.Random) -> list[str]:
    verb = draw.choice(list(OPTIONS))
    words = verb.split()
    for _ in range(draw.randrange(4)):
        if OPTIONS[verb]:
            option = draw.choice(OPTIONS[verb])
            # What is asked to be written may be.
            named = ["/dev/full", "out/new"] if option in OUTPUTS else INPUTS
            value = draw.choice([word(draw), draw.choice(named)])
            words += [f"{option}={value}"] if draw.random() < 0.5 else [option, value]
    if draw.random() < 0.3:
        words.append(draw.choice(FLAGS))
    words += [_operand(draw, verb) for _ in range(draw.choice([0, 1, 1, 2]))]
    if draw.random() < 0.1:
        words.insert(draw.randrange(len(words) + 1), word(draw))
    return words


# --- TOML -------------------------------------------------------------------------------------------------------------


def text(draw: random.Random) -> str:
    """What TOML may hold: no half of a surrogate."""
    return os.fsencode(word(draw)).decode("utf-8", "replace")


def quoted(given: str) -> str:
    return '"' + "".join(f"\\U{ord(letter):08x}" for letter in given) + '"'


def value(draw: random.Random, depth: int = 0) -> str:
    plain: list[Callable[[], str]] = [
        lambda: quoted(text(draw)),
        lambda: quoted(draw.choice(["growth", "torch<2", "torch<" + "9" * 5000, "*", "[z-a]", "a" * 64])),
        lambda: draw.choice(["0", "-1", "1e400", "nan", "-inf", "true", "9" * 5000, "0x" + "f" * 99]),
        lambda: draw.choice(["2027-01-31", "0001-01-01", "2027-02-30", "12:00:00", "2027-01-31T00:00:00Z"]),
    ]
    nested: list[Callable[[], str]] = [
        lambda: "[" + ", ".join(value(draw, depth + 1) for _ in range(draw.randrange(3))) + "]",
        lambda: "{ " + quoted(text(draw)) + " = " + value(draw, depth + 1) + " }",
        lambda: "[" * 2000 + "]" * 2000,
    ]
    return draw.choice(plain if depth > 2 or draw.random() < 0.8 else nested)()


def toml(draw: random.Random, headers: list[str], keys: list[str]) -> bytes:
    lines = []
    for _ in range(draw.randrange(4)):
        lines.append(draw.choice(headers))
        for key in draw.sample(keys, draw.randrange(len(keys) + 1)):
            lines.append(f"{key if draw.random() < 0.95 else quoted(text(draw))} = {value(draw)}")
    content = draw.choice(["\n", "\n", "\r\n"]).join(lines).encode("utf-8")
    if content and draw.random() < 0.2:
        place = draw.randrange(len(content))
        content = content[:place] + bytes([draw.randrange(256)]) + content[place + draw.randrange(3) :]
    return content


def result(draw: random.Random) -> dict[str, Any]:
    """What the command line hands over of a result: its own types, and any texts."""
    frames = [{"file": text(draw), "function": text(draw)} for _ in range(draw.randrange(2))]
    names = ["fingerprint", "kind", "what", "holder"]
    findings = [{**{name: text(draw) for name in names}, "where": frames} for _ in range(draw.randrange(3))]
    conditions = {"torch": draw.choice(["2.11.0", text(draw)])}
    return {
        "target": text(draw),
        "verdict": draw.choice(["leak", "clean", "failure"]),
        "findings": findings,
        "conditions": conditions,
    }
