# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Imports torch, and refuses another torch than the one that the C++ core was built against."""

from __future__ import annotations

from types import ModuleType

from stepleak._built_for import TORCH


class TorchError(ImportError):
    """The torch that is here cannot be used; `remedy` says what to do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy}")
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        return self.what


def series_of(version: str) -> str:
    """2.11.0+cu130 -> 2.11: releases of one series keep what we use of C++; others do not."""
    return ".".join(version.split("+")[0].split(".")[:2])


def require() -> ModuleType:
    """torch, imported. Raises TorchError where it is missing, or another one than the core's."""
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise TorchError("there is no torch here", f"pip install 'torch=={series_of(TORCH)}.*'") from None
    here = str(torch.__version__)
    if series_of(here) != series_of(TORCH):
        raise TorchError(
            f"stepleak was built against torch {TORCH}, and torch {here} is here",
            f"build it for this one (pip install --force-reinstall --no-deps, from stepleak's sources), "
            f"or pip install 'torch=={series_of(TORCH)}.*'",
        )
    return torch
