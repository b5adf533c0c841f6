# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Folders by which frames of the user's code are told from those of libraries and of the runtime."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

PACKAGE_FOLDERS = ("site-packages", "dist-packages")


def runtime_folders() -> list[str]:
    """Of Python's own library, and of the packages of torch and stepleak."""
    folders = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    for name in ("torch", "stepleak"):
        if name in sys.modules:
            folders += list(sys.modules[name].__path__)
    # Releases up to 2.9 or 2.10 write a module elsewhere, whose file the first worker that ends takes from all.
    written = getattr(sys.modules.get("torch.distributed.nn.jit.instantiator"), "INSTANTIATED_TEMPLATE_DIR_PATH", None)
    if isinstance(written, str):
        folders.append(written)
    return _as_named_and_real(folders)


def user_folders(step: Callable[..., Any]) -> list[str]:
    """The package of the step, where it is installed among the libraries."""
    file = _file_of(step)
    if file is None:
        return []
    parts = Path(file).parts
    inside = [i for i, part in enumerate(parts[:-1]) if part in PACKAGE_FOLDERS]
    return _as_named_and_real([str(Path(*parts[: inside[-1] + 2]))]) if inside else []


def is_user_file(file: str, user: list[str], runtime: list[str]) -> bool:
    """Whether a source file is the user's, as `stepleak::owner_of` says it of a frame.

    `user`, `runtime`: `user_folders()` and `runtime_folders()`.
    """
    if file.startswith("<"):
        return False
    path = os.path.abspath(file)
    # The innermost known folder around the file decides.
    deepest = max((_depth_below(path, folder) for folder in runtime), default=0)
    library = max(_depth_inside(path, folder) for folder in PACKAGE_FOLDERS)
    own = max((_depth_below(path, folder) for folder in user), default=0)
    return (deepest == 0 or deepest < max(library, own)) and library <= own


def _depth_below(path: str, folder: str) -> int:
    return len(folder) if path.startswith(folder + os.sep) else 0


def _depth_inside(path: str, folder: str) -> int:
    at = path.rfind(f"{os.sep}{folder}{os.sep}")
    return 0 if at < 0 else at + len(folder) + 1


def _file_of(step: Any) -> str | None:
    while isinstance(step, functools.partial):
        step = step.func
    step = inspect.unwrap(step)
    if inspect.isfunction(step):
        return step.__code__.co_filename
    # What an object runs may be inherited from a library where its class is the user's.
    owner = step.__self__ if inspect.ismethod(step) else step
    return getattr(sys.modules.get(type(owner).__module__), "__file__", None)


def _as_named_and_real(folders: Iterable[str]) -> list[str]:
    # A frame has the file's name as it was imported, through a link or not.
    return sorted({name for folder in folders for name in (os.path.abspath(folder), os.path.realpath(folder))})
