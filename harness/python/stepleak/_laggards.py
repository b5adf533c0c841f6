# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which iterator of `itertools.tee` is behind: that one keeps what the others have been given since.

Each has a block of values, and each block the one after it. Whoever is ahead has the last one only.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator
from typing import Any

from stepleak._heap import instances_of
from stepleak._limit import TimeLimit
from stepleak._objects import referents_of

TEE: type = type(itertools.tee(())[0])
_BLOCK: Any = getattr(itertools, "_tee_dataobject", None)


def place_of_block(objects: list[Any]) -> int:
    """Where on a way the first block of an iterator of `tee` lies, which that leads to; -1 where there is none."""
    return next((at for at in range(1, len(objects)) if _is_block(objects[at]) and type(objects[at - 1]) is TEE), -1)


def laggard_before(block: Any, limit: TimeLimit) -> Any:
    """The iterator from which it is farthest to a block; None where none has an earlier one. Raises OutOfTimeError."""
    farthest, found = 0, None
    for part in limit.parts(gc.get_objects()):
        for iterator in instances_of(part, (TEE,)):
            for distance, other in enumerate(_blocks_from(iterator)):
                if other is block and distance > farthest:
                    farthest, found = distance, iterator
    return found


def _blocks_from(iterator: Any) -> Iterator[Any]:
    item = iterator
    while (item := next((held for held in reversed(referents_of(item)) if _is_block(held)), None)) is not None:
        yield item


def _is_block(item: Any) -> bool:
    return type(item) is _BLOCK
