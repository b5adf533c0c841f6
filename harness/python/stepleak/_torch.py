# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Imports torch, and finds the C++ core that was built against it; refuses a torch that there is none for.

The core lies in the package's own folder, as a build for one torch puts it there, or, in a wheel for several
(ci/wheel), once for each in a folder _torch_SERIES_CUDA.
"""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import stepleak

_PACKAGE = Path(__file__).resolve().parent


class TorchError(ImportError):
    """The torch that is here cannot be used; `remedy` says what to do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy}")
        self.what = what
        self.remedy = remedy


class _CommandLineError(TorchError):
    """The same for the command line, which gives the remedy a line of its own."""

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Build:
    """A core that is here, and what it is linked to."""

    torch: str
    cuda: str
    """As torch.version.cuda; empty without."""
    folder: Path

    def fits(self, torch: str, cuda: str) -> bool:
        """Libraries of another major version of CUDA have other names."""
        is_series = series_of(torch) == series_of(self.torch)
        return is_series and cuda.partition(".")[0] == self.cuda.partition(".")[0]


def series_of(version: str) -> str:
    """2.11.0+cu130 -> 2.11: releases of one series keep what we use of C++; others do not."""
    return ".".join(version.split("+")[0].split(".")[:2])


def builds() -> list[Build]:
    # Not by import: once require() has chosen one, that of its folder would be found in the package.
    found = []
    for file in sorted(_PACKAGE.glob("_torch_*/_built_for.py")):
        names = runpy.run_path(str(file))
        found.append(Build(names["TORCH"], names["CUDA"], file.parent))
    if found:
        return found
    from stepleak import _built_for  # type: ignore[attr-defined]  # built, not written

    return [Build(_built_for.TORCH, _built_for.CUDA, _PACKAGE)]


def require() -> ModuleType:
    """torch, imported, with the core for it found by `from stepleak import _core`. Raises TorchError where torch is
    missing, or another one than the core's."""
    torch, build = _torch_and_build()
    if str(build.folder) not in map(str, stepleak.__path__) and build.folder != _PACKAGE:
        stepleak.__path__.append(str(build.folder))
    return torch


def library() -> str:
    """require() for the command line: the library of a core that does not lie in the package's own folder, else ''."""
    try:
        require()
    except TorchError as error:
        raise _CommandLineError(error.what, error.remedy) from error
    folder = _torch_and_build()[1].folder
    return "" if folder == _PACKAGE else str(folder / "libstepleak_observing.so")


def _torch_and_build() -> tuple[ModuleType, Build]:
    known = builds()
    series = sorted({series_of(build.torch) for build in known}, key=lambda text: [*map(int, text.split("."))])
    to_install = " or ".join(f"pip install 'torch=={text}.*'" for text in reversed(series))
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise TorchError("there is no torch here", to_install) from None
    here = str(torch.__version__)
    for build in known:
        if build.fits(here, torch.version.cuda or ""):
            return torch, build
    raise TorchError(
        f"stepleak was built against torch {' and '.join(build.torch for build in known)}, and torch {here} is here",
        f"build it for this one (pip install --force-reinstall --no-deps, from stepleak's sources), or {to_install}",
    )
