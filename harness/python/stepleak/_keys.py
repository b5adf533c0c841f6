# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Tells what keys say of their container, of those that equal nothing but themselves.

Nobody can ask again for one that only the container holds: a cache that is asked for tensors, closures or objects made
anew in each step never has what is asked for (Ruff's B019: `functools.cache` on a method keeps every `self`), and one
that is asked for by the address of what it keeps no better. And
entries for objects that were there before come to an end with these. Runs no code of the user's.
"""

from __future__ import annotations

import gc
import itertools
import re
from collections.abc import Callable
from typing import Any

from stepleak import _tensors
from stepleak._limit import OutOfTimeError
from stepleak._objects import container_kind, defining_class
from stepleak._paths import Paths

_IN_USE = 2
"""Of few keys those that a variable of the step's may still have."""
_MOST_LOOKED_AT = 3
_MOST_OF_SET, _FEWEST_OF_SET = 9, 6
"""Of a set's items: so many of so many are lost."""
_MOST_GAINED = 4096
_MOST_DEPTH = 4

_FEWEST_COMPARED, _MOST_COMPARED = 16, 256
_MOST_DIGITS = 18
_DIGITS_OF_FLOAT = 12
"""Of 15 to 17, of which one in thousands ends with more zeros than this leaves."""

AreKeysLost = Callable[[Any], bool]
"""Of a container: whether nobody can ask for what it gained again."""


def are_keys_lost(container: Any, growth: int, paths: Paths, grown: list[Any], ours: list[Any]) -> bool:
    """Whether no key of a dict or a set that grew by so many entries can be found again.

    `grown`: containers that grew as well. Those with the same keys, one for each of several properties, keep them for
    each other. `ours`: what the search itself holds. False where that cannot be told, or was not told in time.
    """
    # The first half of what came: variables may still have a batch of the newest. A set does not tell which these are:
    # of all its items few may be in use.
    is_ordered = container_kind(container) is dict
    gained = _newest_keys(container, min(growth, _MOST_GAINED) if is_ordered else _MOST_GAINED)
    earlier = gained[max(_IN_USE, len(gained) // 2) :] if is_ordered else gained
    most = _MOST_LOOKED_AT if is_ordered else _MOST_OF_SET
    if len(earlier) < most:
        return False
    looked_at = earlier[:: max(1, len(earlier) // most)][:most]
    fewest = most if is_ordered else _FEWEST_OF_SET
    parts = [_only_themselves(container, key) for key in looked_at]
    wanted = set(map(id, looked_at))
    beside = [other for other in grown if any(id(key) in wanted for key in _newest_keys(other, _MOST_GAINED))]
    holders = [container, gained, earlier, looked_at, parts, *parts, beside, *beside, *ours]
    try:
        lost = (any(paths.is_lost_without(some, at, holders) for at in range(len(some))) for some in parts)
        return sum(lost) >= fewest
    except OutOfTimeError:
        return False


def are_keys_old(container: Any, growth: int, born: frozenset[int]) -> bool:
    """Whether what a dict gained are entries for objects that were there before: it ends with these, as the state of an
    optimizer does for parameters that come to be trained one after another.

    `born`: the `id` of every object that was not; empty where that is not known.
    """
    if not born or container_kind(container) is not dict:
        return False
    newest = _newest_keys(container, growth)
    return bool(newest) and all(equals_only_itself(key) and id(key) not in born for key in newest)


def are_keys_rising(container: Any) -> bool:
    """Whether each key of a dict lies beyond the one that came before it: numbers of requests, rounds, points in time,
    alone or at the end of a name. Nobody asks for one of them twice by chance. What came first may be others: the
    layers of a model, before what is registered in each round."""
    places = [_place_of(key) for key in _newest_half(container)][::-1]
    return len(places) >= _FEWEST_COMPARED and all(
        one is not None and other is not None and one[0] == other[0] and one[1] < other[1]
        for one, other in itertools.pairwise(places)
    )


def are_keys_measured(container: Any) -> bool:
    """Whether the keys of a dict are numbers with all the digits that a float has, as a quotient of losses: none that
    is computed from other data equals one of them."""
    newest = _newest_half(container)
    return len(newest) >= _FEWEST_COMPARED and all(map(_has_all_digits, newest))


def _has_all_digits(key: Any) -> bool:
    digits = repr(key).partition("e")[0].replace(".", "").lstrip("-0") if type(key) is float else ""
    return len(digits) >= _DIGITS_OF_FLOAT and digits.isdigit()


def are_keys_kept_by_rising(container: Any, grown: list[Any]) -> bool:
    """Whether each key of a dict is an object that another one keeps by a rising key of its own: states of parameters
    that are registered as "loc_1", "loc_2" and so on. `grown`: containers that grew as well."""
    newest = _newest_half(container)
    if len(newest) < _FEWEST_COMPARED or not all(map(equals_only_itself, newest)):
        return False
    dicts = (other for other in grown if other is not container and container_kind(other) is dict)
    return any(set(map(id, newest)) <= set(map(id, dict.values(other))) and are_keys_rising(other) for other in dicts)


def _newest_half(container: Any) -> list[Any]:
    """Of a dict's last keys, the newest first; nothing of another container."""
    newest = _newest_keys(container, _MOST_COMPARED) if container_kind(container) is dict else []
    return newest[: max(_FEWEST_COMPARED, len(newest) // 2)]


def _place_of(key: Any) -> tuple[str, float] | None:
    """The name before a number at its end, and that; a number itself has no name."""
    if type(key) in (int, float):
        return "", key
    number = re.search(r"[0-9]+\Z", key) if type(key) is str else None
    return None if number is None else (key[: number.start()], int(number[0][:_MOST_DIGITS]))


def _newest_keys(container: Any, count: int) -> list[Any]:
    """The newest first."""
    kind = container_kind(container)
    if kind is dict:
        return list(itertools.islice(dict.__reversed__(container), count))
    if kind is set:  # which does not tell
        return list(itertools.islice(set.__iter__(container), count))
    return []


def _only_themselves(container: Any, key: Any) -> list[Any]:
    """Of what a key is made of, what equals nothing but itself. An address, `id(batch)`, is as good as the object that
    its entry keeps: while that lives nothing else has it, and nobody can ask for it who has not the object."""
    found = []
    for part in _parts_of(key):
        if type(part) is int and container_kind(container) is dict:
            found += [item for item in _kept_for(container, key) if id(item) == part][:1]
        elif equals_only_itself(part):
            found.append(part)
    return found


def _kept_for(container: Any, key: Any) -> list[Any]:
    """The value of a dict's entry, what it refers to, and the attributes of these. Looked up, a key is hashed."""
    value = next((value for known, value in reversed(dict.items(container)) if known is key), None)
    items = [value, *gc.get_referents(value)]
    attributes = [item for item in items if type(item) is dict]
    return items + [item for names in attributes for item in names.values()]


def _parts_of(key: Any, depth: int = 0) -> list[Any]:
    """What a key is made of: one made of what nobody has cannot be made again."""
    if type(key) is not tuple or depth > _MOST_DEPTH:
        return [key]
    return [part for item in tuple.__iter__(key) for part in _parts_of(item, depth + 1)]


def equals_only_itself(item: Any) -> bool:
    """Whether its class neither compares nor hashes by value; a tensor does not as a key of a dict."""
    if _tensors.is_tensor(item):
        return _tensors.is_hashed_by_address(item)
    return defining_class(item, "__hash__") is object and defining_class(item, "__eq__") is object
