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
from typing import Any

from stepleak._objects import module_name_of

PACKAGE_FOLDERS = ("site-packages", "dist-packages")
_TYPED_IN = ("<ipython-input-", "<python-input-")


def is_regular_file(file: str) -> bool:
    """Whether it can be read, and again. A pipe, through which a script may have come, would be waited for."""
    return os.path.isfile(file)


def is_typed_in(file: str) -> bool:
    """Whether it names what the user typed in, as a cell: no disk has that. ipykernel's cells have a path."""
    return file.startswith(_TYPED_IN)


def runtime_folders() -> list[str]:
    """Of Python's own library, and of the packages of torch and stepleak."""
    folders = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    for name in ("torch", "stepleak"):
        folders += list(getattr(sys.modules.get(name), "__path__", ()))  # a stub of torch may be a single file
    # Releases up to 2.9 or 2.10 write a module elsewhere, whose file the first worker that ends takes from all.
    written = getattr(sys.modules.get("torch.distributed.nn.jit.instantiator"), "INSTANTIATED_TEMPLATE_DIR_PATH", None)
    if isinstance(written, str):
        folders.append(written)
    return _as_named_and_real(folders)


def installed_folders() -> list[str]:
    """Those of `sys.path` that packages were installed into under a name of their own, as by `pip install --target`.

    pip leaves a `.dist-info` there. Not those of PACKAGE_FOLDERS, which their name tells; and not where the script
    itself lies: what is beside it may be the user's.
    """
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    own = {"", *sys.path[:1], *([os.path.dirname(main)] if isinstance(main, str) else [])}
    own = {real(folder) for folder in own}
    others = [folder for folder in sys.path if type(folder) is str and os.path.basename(folder) not in PACKAGE_FOLDERS]
    return _as_named_and_real(f for f in others if real(f) not in own and _has_installed(f))


def _has_installed(folder: str) -> bool:
    try:
        return any(name.endswith(".dist-info") for name in os.listdir(folder))
    except OSError:
        return False


def user_folders(step: Callable[..., Any]) -> list[str]:
    """The package of the step, where it is installed among the libraries."""
    file = _file_of(step)
    if file is None:
        return []
    path = absolute(file)
    depth = _depth_among_packages(path, installed_folders())
    if depth == 0:
        return []
    return _as_named_and_real([path[:depth] + os.sep + path[depth + 1 :].split(os.sep)[0]])


def is_user_file(file: str, user: list[str], runtime: list[str], installed: list[str]) -> bool:
    """Whether a source file is the user's, as `stepleak::owner_of` says it of a frame.

    `user`, `runtime`, `installed`: `user_folders()`, `runtime_folders()` and `installed_folders()`.
    """
    if file.startswith("<"):
        return is_typed_in(file)
    path = absolute(file)
    # The innermost known folder around the file decides.
    deepest = max((_depth_below(path, folder) for folder in runtime), default=0)
    library = _depth_among_packages(path, installed)
    own = max((_depth_below(path, folder) for folder in user), default=0)
    return (deepest == 0 or deepest < max(library, own)) and library <= own


def is_runtime_file(file: str, runtime: list[str]) -> bool:
    """Whether a file is of Python's own library, of torch or of stepleak; `runtime`: `runtime_folders()`.

    Other packages may lie in a folder of that library.
    """
    if file.startswith("<frozen "):
        return True
    path = absolute(file)
    deepest = max((_depth_below(path, folder) for folder in runtime), default=0)
    return 0 < deepest >= _depth_among_packages(path, [])


class UserFiles:
    """Which source files are the user's, by where they lie: asked often, of few files."""

    def __init__(self) -> None:
        self._runtime, self._installed = runtime_folders(), installed_folders()
        self._known: dict[str, bool] = {}

    def has(self, file: str) -> bool:
        """Whether a file is neither of Python's own library nor of an installed package."""
        if file not in self._known:
            self._known[file] = is_user_file(file, [], self._runtime, self._installed)
        return self._known[file]


def _depth_among_packages(path: str, installed: list[str]) -> int:
    """The length of the folder around a file that packages are installed in; 0 where there is none."""
    known = [_depth_inside(path, folder) for folder in PACKAGE_FOLDERS]
    return max([*known, *(_depth_below(path, folder) for folder in installed)])


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
    return getattr(sys.modules.get(module_name_of(type(owner))), "__file__", None)


def _as_named_and_real(folders: Iterable[str]) -> list[str]:
    # A frame has the file's name as it was imported, through a link or not.
    return sorted({name for folder in folders for name in (absolute(folder), real(folder))})


def absolute(path: str) -> str:
    """As `os.path.abspath`; the path itself where the folder that it is relative to has been removed."""
    try:
        return os.path.abspath(path)
    except OSError:
        return path


def real(path: str) -> str:
    """As `os.path.realpath`, likewise, and where none can have the name: that of `compile()` may be any text. "" is the
    current folder."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path
