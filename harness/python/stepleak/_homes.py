# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which of several modules that have one object made it: the others import it from there."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Collection
from typing import Any

from stepleak._objects import is_a

_MOST_MODULES = 16
"""What more of them have is imported everywhere, and no one's."""
_MOST_CHARACTERS = 1_000_000


def homes_of(ways: Collection[tuple[Any, Any]]) -> frozenset[int]:
    """The `id` of each namespace whose module's source gives a name to the object that lies in it.

    `ways`: namespaces, each with that object. None where one alone is asked for: there is no choice.
    """
    if not 1 < len(ways) <= _MOST_MODULES:
        return frozenset()
    return frozenset(id(namespace) for namespace, item in ways if is_a(namespace, dict) and _makes(namespace, item))


def _makes(namespace: dict[str, Any], item: Any) -> bool:
    name = next((name for name, value in list(dict.items(namespace)) if value is item), None)
    file = dict.get(namespace, "__file__")
    if type(name) is not str or type(file) is not str or not file.endswith(".py"):
        return False
    try:
        with tokenize.open(file) as source:
            text = source.read(_MOST_CHARACTERS)
    except (OSError, SyntaxError, ValueError):
        return False
    return re.search(rf"^{re.escape(name)}\s*(:[^=\n]*)?=(?!=)", text, re.MULTILINE) is not None
