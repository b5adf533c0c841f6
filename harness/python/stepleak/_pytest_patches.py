# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a step of a test patches by `monkeypatch` is undone after the step, as pytest does after a test.

pytest keeps each change until then: in a test that is repeated they would pile up.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest


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


@contextlib.contextmanager
def undone(patches: list[StepPatches]) -> Iterator[None]:
    """A step within this: what it patches is undone, however it ends."""
    try:
        yield
    finally:
        for patch in reversed(patches):
            patch.undo()
