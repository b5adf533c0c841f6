# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Tells whether the interpreter that runs this can build and run stepleak, without importing torch.

    PYTHON ci/check_python.py FILE    every pin of FILE is installed (.venv, style tools)
    PYTHON ci/check_python.py any     torch >= 2.8, meson, ninja and pybind11 are there in a version that does
    PYTHON ci/check_python.py own     the same, with the series of torch that the baselines were measured with

Prints lines "KIND<tab>TEXT", and exits with 1 where one of them is a `package`:

    executable  the path of the interpreter
    base        where it was installed; /usr: it is the system's
    version     what it is
    package     a pin or a package that is missing
    headers     a development file of the interpreter that is missing
    note        what only some tests need

Takes tens of milliseconds: every script asks first.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig

OLDEST_PYTHON = (3, 10)
OLDEST_MESON = (1, 3)
OLDEST_TORCH = (2, 8)
OWN_TORCH = "2.11.*"
ONLY_FOR_TESTS = ("jsonschema", "pytest")


def installed_version(name: str) -> str | None:
    """The version without a local part: 2.11.0+cu130 satisfies a pin of 2.11.0."""
    try:
        return importlib.metadata.version(name).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def satisfies(version: str | None, pin: str) -> bool:
    if version is None:
        return False
    if pin.endswith(".*"):
        return version == pin[:-2] or version.startswith(pin[:-1])
    return version == pin


def pins_of(path: str) -> list[tuple[str, str]]:
    with open(path, encoding="utf-8") as file:
        lines = (line.split("#")[0].strip() for line in file)
        return [(name, pin) for name, _, pin in (line.partition("==") for line in lines if line)]


def missing_pins(path: str) -> list[str]:
    return [f"{name}=={pin}" for name, pin in pins_of(path) if not satisfies(installed_version(name), pin)]


def program_output(*command: str) -> str:
    """What a program prints, or nothing where it is missing or fails."""
    if shutil.which(command[0]) is None:
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def is_new_enough(version: str, oldest: tuple[int, ...]) -> bool:
    numbers = re.findall(r"\d+", version)
    return tuple(int(number) for number in numbers[: len(oldest)]) >= oldest


def missing_of_any(is_own: bool) -> list[str]:
    """Tools may be Python packages or programs of the system: a distribution ships them as either."""
    missing = []
    if sys.version_info < OLDEST_PYTHON:
        missing.append("Python >= " + ".".join(map(str, OLDEST_PYTHON)))
    torch = installed_version("torch")
    if is_own and not satisfies(torch, OWN_TORCH):
        missing.append(f"torch=={OWN_TORCH}")
    elif not is_new_enough(torch or "", OLDEST_TORCH):
        missing.append("torch>=" + ".".join(map(str, OLDEST_TORCH)))
    meson = installed_version("meson") or program_output("meson", "--version")
    if not is_new_enough(meson, OLDEST_MESON):
        missing.append("meson>=" + ".".join(map(str, OLDEST_MESON)))
    if installed_version("ninja") is None and not shutil.which("ninja"):
        missing.append("ninja")
    if installed_version("pybind11") is None and not program_output("pkg-config", "--modversion", "pybind11"):
        missing.append("pybind11")
    return missing


def missing_headers() -> list[str]:
    """The embedded interpreter needs Python.h and a shared libpython."""
    header = os.path.join(sysconfig.get_path("include"), "Python.h")
    library_name = sysconfig.get_config_var("LDLIBRARY") or "libpython"
    folders = (sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LIBPL"))
    is_shared = bool(sysconfig.get_config_var("Py_ENABLE_SHARED"))
    missing = [] if os.path.exists(header) else [header]
    if not is_shared:
        missing.append("a shared libpython (this interpreter was built without --enable-shared)")
    elif not any(folder and os.path.exists(os.path.join(folder, library_name)) for folder in folders):
        missing.append(library_name)
    return missing


def main() -> int:
    rule = sys.argv[1]
    missing = missing_of_any(rule == "own") if rule in ("any", "own") else missing_pins(rule)
    print(f"executable\t{sys.executable}")
    print(f"base\t{sys.base_prefix}")
    print(f"version\tPython {sys.version.split()[0]}, torch {installed_version('torch') or 'missing'}")
    for text in missing:
        print(f"package\t{text}")
    for text in missing_headers():
        print(f"headers\t{text}")
    if rule in ("any", "own"):
        for name in ONLY_FOR_TESTS:
            if installed_version(name) is None:
                print(f"note\t{name} is not installed: the tests that need it are skipped")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
