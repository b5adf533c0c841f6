# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Where each rank of a job stands, for when they wait for each other in vain: which of them holds the others up.

Where each stands in the sources does not tell: a rank that waits in a collective stands as still as the one that never
comes to it. How many collectives each has begun does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from stepleak._folders import UserFiles
from stepleak._frames import frames_of_thread, position_of
from stepleak._source_text import text_of

_MOST_TEXT = 200
_MOST_PLACES = 8
"""Places that are told of: a job has thousands of ranks, which mostly stand in few."""


class Standing(NamedTuple):
    """Of one rank, as it writes it into the ranks' store."""

    look: int
    """How many looks it has come to."""
    waited: float
    """Seconds since the last one."""
    place: str
    begun: dict[str, list[int]]
    """Collectives of each group that it is in, by the group's name: up to the last look, and by now."""

    def to_text(self) -> str:
        return json.dumps(self)


def parse(text: str) -> Standing:
    return Standing(*json.loads(text))


def place_of_thread(thread: int, *, with_text: bool) -> str:
    """The line of the user's code in which a thread stands, or else of a library's: file, number, function, and what
    the line says."""
    files = UserFiles()
    first = ""
    for frame in frames_of_thread(thread):
        file, line = position_of(frame)
        text = _line_at(file, line) if with_text else ""
        place = f"{file}:{line} ({frame.f_code.co_name})" + (f": {text}" if text else "")
        if files.has(file):
            return place
        first = first or place
    return first or "a place that is not known"


def _line_at(file: str, line: int) -> str:
    lines = (text_of(file) or "").split("\n")
    return lines[line - 1].strip()[:_MOST_TEXT] if 0 < line <= len(lines) else ""


def begun_collectives() -> dict[str, int]:
    """Of each process group that this rank is in, by its name, which is the same on each of its ranks."""
    module = sys.modules.get("torch.distributed.distributed_c10d")
    begun = {}
    for group, name in list(module._world.pg_names.items()) if module is not None else ():
        try:
            begun[str(name)] = int(group._get_sequence_number_for_group())
        except RuntimeError:
            continue  # a back end that does not count
    return begun


def behind(standings: Mapping[int, Standing]) -> list[int]:
    """The ranks that others wait for: each has begun fewer collectives of a group than another rank of it.

    Of those, the ones that wait for nobody: in no group have they begun more than another. Empty where all have begun
    as many.
    """
    late, early = set(), set()
    for group in _comparable(standings):
        counts = {rank: standing.begun[group][1] for rank, standing in standings.items() if group in standing.begun}
        late |= {rank for rank, count in counts.items() if count < max(counts.values())}
        early |= {rank for rank, count in counts.items() if count > min(counts.values())}
    return sorted(late - early or late)


def _comparable(standings: Mapping[int, Standing]) -> list[str]:
    """Groups of which all ranks had begun as many up to the last look.

    Gloo counts messages from one rank to another too, of which each rank of a pipeline has a number of its own.
    """
    before: dict[str, set[int]] = {}
    for standing in standings.values():
        for group, (count, _) in standing.begun.items():
            before.setdefault(group, set()).add(count)
    return [group for group, counts in before.items() if len(counts) == 1]


def why_held_up(standings: Mapping[int, Standing], silent: list[int]) -> str:
    """What tells who holds the others up. `silent`: ranks that do not answer, whose standing may be an old one."""
    told = [f"{named(silent)} {'does' if len(silent) == 1 else 'do'} not answer"] if silent else []
    if (waited_for := behind(standings)) and waited_for != silent:
        told.append(f"the others wait for {named(waited_for)}, with fewer collectives begun")
    if not told and len(standings) > 1:
        told.append("nothing tells which of them holds up the others")
    return "".join(f": {each}" if at == 0 else f", and {each}" for at, each in enumerate(told))


def places(standings: Mapping[int, Standing], silent: list[int]) -> str:
    """A line for each place where ranks stand."""
    ranks: dict[tuple[str, str], list[int]] = {}
    for rank, standing in sorted(standings.items()):
        when = f", {standing.waited:.0f} s after the last look" if rank in silent else ""
        ranks.setdefault((standing.place, when), []).append(rank)
    lines = [f"\n  {named(here)}{when}: {place}" for (place, when), here in islice(ranks.items(), _MOST_PLACES)]
    return "".join(lines) + ("\n  ..." if len(ranks) > _MOST_PLACES else "")


def named(ranks: list[int]) -> str:
    """[1] -> rank 1; [0, 2, 3] -> ranks 0, 2, 3"""
    numbers = ", ".join(map(str, ranks[:_MOST_PLACES])) + (", ..." if len(ranks) > _MOST_PLACES else "")
    return f"rank{'s' if len(ranks) > 1 else ''} {numbers}"
