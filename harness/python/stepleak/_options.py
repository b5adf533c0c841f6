# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What check() and watch() take beside the step or the loop: names, defaults, and what the core can hold.

Told before the core sees it, which would tell of C++ types.
"""

from __future__ import annotations

import difflib
import inspect
import math
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from stepleak import _known
from stepleak._load import UsageError
from stepleak._objects import full_type_name, type_name

if TYPE_CHECKING:
    import torch

File = str | os.PathLike[str]
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Options(TypedDict, total=False):
    """As check() says what they mean; their defaults stand in DEFAULTS."""

    device: str | torch.device
    effort: str
    steps: int
    min_steps: int
    period: int
    budget: float
    seed: int
    threads: int
    with_cuda_objects: bool
    peer_timeout: float
    ignore: str | Sequence[str]
    json: File
    html: File
    trace: File


DEFAULTS: Options = {
    "device": "auto",
    "effort": "standard",
    "steps": 0,
    "min_steps": 0,
    "period": 0,
    "budget": 0.0,
    "seed": 0,
    "threads": 0,
    "with_cuda_objects": False,
    "peer_timeout": 300.0,
    "ignore": (),
    "json": "",
    "html": "",
    "trace": "",
}

EFFORTS = ("quick", "standard", "nightly")
# More only wait for each other, and thousands freeze a machine.
_MOST_THREADS = max(256, 4 * (os.cpu_count() or 1))

# Of a kind, and for numbers between which: what the core can hold. It says itself what makes no sense.
_NUMBERS: dict[str, tuple[type, float, float]] = {
    "steps": (int, -(2**62), 2**62),
    "min_steps": (int, -(2**62), 2**62),
    "threads": (int, -(2**31), _MOST_THREADS),
    "period": (int, -(2**62), 2**62),
    "seed": (int, 0, 2**63),
    "budget": (float, float("-inf"), float("inf")),
    "peer_timeout": (float, float("-inf"), float("inf")),
}
_TEXTS = ("target", "device", "effort")
_FILES = ("json", "html", "trace")


@dataclass(frozen=True)
class Checked:
    """What was given, and defaults for the rest."""

    core: dict[str, Any]
    """As the core takes it."""
    ignored: list[_known.Entry]
    """Findings that are let be."""

    @property
    def seed(self) -> int:
        return int(self.core["seed"])


def with_options(function: _Function) -> _Function:
    """Shows each option in the signature of a function that takes them all, for help() and notebooks."""
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default) for name, default in DEFAULTS.items()
    ]
    function.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    return function


def checked(function: str, target: str, given: Mapping[str, Any]) -> Checked:
    """Of a call of a function of that name. Raises TypeError for an option that there is not, and UsageError where one
    is of another kind, or beyond what the core can hold.
    """
    __tracebackhide__ = True
    if unknown := [name for name in given if name not in DEFAULTS]:
        near = difflib.get_close_matches(unknown[0], DEFAULTS, n=1)
        meant = f". Did you mean {near[0]!r}?" if near else f"; there are {', '.join(DEFAULTS)}"
        raise TypeError(f"{function}() got an unexpected keyword argument {unknown[0]!r}{meant}")
    options: dict[str, Any] = {**DEFAULTS, **given, "target": target}
    entries = ignored(options.pop("ignore"))
    for name in _TEXTS:
        options[name] = _text(name, options[name])
    if options["effort"] not in EFFORTS:
        raise UsageError(f"{options['effort']!r} is no effort", "use quick, standard or nightly")
    for name in _FILES:
        options[name] = _path(name, options[name])
    options["with_cuda_objects"] = _flag("with_cuda_objects", options["with_cuda_objects"])
    for name, (kind, least, most) in _NUMBERS.items():
        options[name] = _number(name, options[name], kind, least, most)
    return Checked(options, entries)


def _text(name: str, value: Any) -> str:
    if name == "device" and full_type_name(value) == "torch.device":
        value = str(value)
    if not isinstance(value, str):
        given = "name" if name == "target" else name
        raise UsageError(f"{given} is of type {type_name(value)}", "give a text")
    # A lone surrogate has no UTF-8.
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def _flag(name: str, value: Any) -> bool:
    if type(value) is not bool and full_type_name(value) not in ("numpy.bool_", "numpy.bool"):
        raise UsageError(f"{name} is of type {type_name(value)}", "give True or False")
    return bool(value)


def _path(name: str, value: Any) -> bytes:
    try:
        path = os.fsencode(value) if value else b""
    except TypeError:
        raise UsageError(f"{name} is of type {type_name(value)}", "give a path") from None
    if path == b"-":
        # On the command line the standard output; here it is the program's.
        raise UsageError(f"{name} is '-', and the standard output is your program's", "name a file, or print it")
    if b"\0" in path:
        raise UsageError(f"{name} has a NUL character, which no path has", "name the file without it")
    try:
        # Where it is now: a loop may go to another folder.
        return os.path.abspath(path) if path else b""
    except OSError:
        raise UsageError(
            f"{name} is relative to the working folder, which does not exist any more", "give the whole path"
        ) from None


def _number(name: str, value: Any, kind: type, least: float, most: float) -> Any:
    try:
        # NumPy's numbers too; but no text that reads as one.
        number = operator.index(value) if kind is int else float(operator.truediv(value, 1))
    except TypeError:
        wanted = "a whole number" if kind is int else "a number"
        raise UsageError(f"{name} is of type {type_name(value)}", f"give {wanted}") from None
    if math.isnan(number):
        raise UsageError(f"{name} is nan", "give a number")
    if kind is int and not least <= number <= most:
        raise UsageError(f"{name} is {number}", f"give a number from {max(least, 0):.0f} to {most:.0f}")
    return number


def ignored(given: Any) -> list[_known.Entry]:
    """The findings that `ignore=` lets be."""
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) and text for text in texts):
        raise UsageError(
            "ignore is neither a text nor a list of texts", "give fingerprints or patterns, none of them empty"
        )
    # A class derived from str shows itself and compares as it likes.
    plain = [str.__str__(text) for text in texts]
    for text in plain:
        if len(text) > _known.MOST_CHARACTERS:
            raise UsageError(
                f"ignore has a pattern of {len(text)} characters", f"give one of {_known.MOST_CHARACTERS} at most"
            )
    return [_known.ignoring(text) for text in plain]
