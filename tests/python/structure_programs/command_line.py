# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that are filled from a count on that the command line gives; and near misses."""

from __future__ import annotations

from structure_programs import Case

_SINCE = """
import argparse, types
args, count, kept = {args}, 0, []
def later(): {later}
def step():
    global count
    count += 1
    since = count - args.first
    if since >= 0 and since % 2 == 0:
        kept.append([1])
"""

COMMAND_LINE = [
    Case(f"{args} {later}", _SINCE.format(args=args, later=later), "kept", kind, line=line)
    for args, later, kind, line in [
        ("argparse.Namespace(first=2)", "pass", "unbounded", ""),
        ("argparse.Namespace(first=2)", "args.first += 1", "unknown", ""),
        ("types.SimpleNamespace(first=2)", "pass", "unknown", ""),
    ]
]
