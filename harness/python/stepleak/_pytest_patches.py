# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a step of a test patches by `monkeypatch`, or by `mocker` of pytest-mock, is undone after the step, as they do
after a test.

They keep each change until then: in a test that is repeated these would pile up.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import pytest


class Patches(Protocol):
    def undo(self) -> None: ...


def patches_of(fixtures: Iterable[Any]) -> list[Patches]:
    """Of each of them that patches; made before a step."""
    mock: Any = getattr(sys.modules.get("pytest_mock"), "MockerFixture", ())
    patches: list[Patches] = []
    for fixture in fixtures:
        if isinstance(fixture, pytest.MonkeyPatch):
            patches.append(StepPatches(fixture))
        elif isinstance(fixture, mock):
            patches.append(StepMocks(fixture))
    return patches


class StepPatches:
    """The changes of one `monkeypatch` from now on; those of fixtures, which are set up once, stay."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._attributes, self._items = len(patch._setattr), len(patch._setitem)
        self._folder, self._path = patch._cwd, patch._savesyspath

    def undo(self) -> None:
        """Undoes all but what was there when this was made."""
        patch, of_step = self._patch, pytest.MonkeyPatch()
        of_step._setattr, patch._setattr[self._attributes :] = patch._setattr[self._attributes :], []
        of_step._setitem, patch._setitem[self._items :] = patch._setitem[self._items :], []
        if self._folder is None:
            of_step._cwd, patch._cwd = patch._cwd, None
        if self._path is None:
            of_step._savesyspath, patch._savesyspath = patch._savesyspath, None
        of_step.undo()


class StepMocks:
    """What one `mocker` patches from now on; what fixtures have patched stays, which `stopall()` would undo."""

    def __init__(self, mocker: Any) -> None:
        self._made: list[Any] = getattr(getattr(mocker, "_mock_cache", None), "cache", [])
        self._before = list(self._made)

    def undo(self) -> None:
        of_step = [made for made in self._made if not any(made is each for each in self._before)]
        self._made[:] = [made for made in self._made if any(made is each for each in self._before)]
        for made in reversed(of_step):
            if made.patch is not None:
                made.patch.stop()


@contextlib.contextmanager
def undone(patches: list[Patches]) -> Iterator[None]:
    """A step within this: what it patches is undone, however it ends."""
    try:
        yield
    finally:
        for patch in reversed(patches):
            patch.undo()
