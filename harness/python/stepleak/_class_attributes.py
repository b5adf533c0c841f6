# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Attributes of classes that are not ours, replaced until they are put back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_NONE = object()


def replace(owner: type, name: str, by: Any) -> Callable[[], None]:
    """What puts back what the class had. Where somebody has replaced `by` since, it stays below that."""
    original = owner.__dict__.get(name, _NONE)
    setattr(owner, name, by)

    def restore() -> None:
        if owner.__dict__.get(name) is not by:
            return
        if original is _NONE:
            delattr(owner, name)
        else:
            setattr(owner, name, original)

    return restore


def tell_of_reading(owner: type, name: str, before: Callable[[Any], None]) -> Callable[[], None]:
    """`before(object)` is called where the attribute of an object of the class is read, two frames below who reads it.
    Returns what ends that."""
    return replace(owner, name, _Told(name, owner.__dict__.get(name, _NONE), before))


class _Told:
    """No `property`: torch.jit.script would compile that."""

    def __init__(self, name: str, default: Any, before: Callable[[Any], None]) -> None:
        self._name = name
        self._default = default
        self._before = before

    def __get__(self, owner: Any, _type: type | None = None) -> Any:
        value = self._default
        if owner is not None:
            self._before(owner)
            value = owner.__dict__.get(self._name, value)
        if value is _NONE:
            raise AttributeError(self._name)
        return value

    def __set__(self, owner: Any, value: Any) -> None:
        owner.__dict__[self._name] = value

    def __delete__(self, owner: Any) -> None:
        if owner.__dict__.pop(self._name, _NONE) is _NONE:
            raise AttributeError(self._name)
