# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What of the surroundings stands in the way of judging memory, for `stepleak doctor`.

    python3 _faults.py

Prints a JSON list of [what, remedy]. Started as the user's own scripts are, so that it sees the modules that they see.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

Fault = tuple[str, str]

_PACKAGE = Path(__file__).resolve().parent


def faults() -> list[Fault]:
    return [
        *of_environment(os.environ),
        *of_libtorch(os.environ.get("LD_LIBRARY_PATH", ""), _torch_libraries()),
        *of_limits(resource.getrlimit(resource.RLIMIT_AS)[0]),
        *of_modules([Path.cwd(), *map(Path, sys.path)]),
        *of_python(bool(sysconfig.get_config_var("Py_DEBUG")), bool(sysconfig.get_config_var("Py_GIL_DISABLED"))),
    ]


def of_environment(variables: Mapping[str, str]) -> Iterator[Fault]:
    if preloaded := variables.get("LD_PRELOAD", "").replace(":", " ").split():
        yield (
            f"LD_PRELOAD loads {', '.join(preloaded)} into every process",
            "unset it, unless your training has it too: what it takes is counted as the step's",
        )
    if "glibc.malloc" in (tunables := variables.get("GLIBC_TUNABLES", "")):
        yield (
            f"GLIBC_TUNABLES={tunables} changes what malloc keeps back",
            "unset it, unless your training has it too: the host heap moves otherwise",
        )
    for name, does in (("MALLOC_PERTURB_", "fills fresh memory"), ("MALLOC_CHECK_", "checks each block")):
        if variables.get(name, "0").strip("0"):
            yield f"{name}={variables[name]} {does}: steps are slower and more of the heap is resident", f"unset {name}"


def of_libtorch(search_path: str, own: Path | None) -> Iterator[Fault]:
    """Another LibTorch that programs which link torch take in the place of this Python's, whose folder is `own`."""
    for entry in search_path.split(":") if search_path else ():
        other = Path(entry or ".") / "libtorch_cpu.so"
        if own is not None and other.is_file() and other.resolve() != (own / "libtorch_cpu.so").resolve():
            yield (
                f"LD_LIBRARY_PATH leads to the LibTorch in {other.parent}, and this Python's is in {own}",
                f"take {entry or 'its empty entry'} out of LD_LIBRARY_PATH: two LibTorches in one process crash",
            )


def of_limits(address_space_bytes: int) -> Iterator[Fault]:
    # CUDA maps as much as there is memory on all devices; torch alone maps some ten GiB.
    if address_space_bytes != resource.RLIM_INFINITY:
        yield (
            f"the address space is limited to {address_space_bytes >> 20} MiB (ulimit -v)",
            "ulimit -v unlimited; to limit what a step takes: stepleak run --memory",
        )


def of_modules(folders: list[Path]) -> Iterator[Fault]:
    """Another stepleak that `import stepleak` or `python -m stepleak` may take in the place of this one."""
    seen = {_PACKAGE}
    for folder in folders:
        for file in (folder / "stepleak.py", folder / "stepleak" / "__init__.py"):
            own = file if file.name == "stepleak.py" else file.parent
            if not file.is_file() or own.resolve() in seen:
                continue
            seen.add(own.resolve())
            if own == file:
                yield f"{file} hides the package from scripts in that folder", "give that file another name"
            else:
                yield (
                    f"another stepleak is in {own}, and this one in {_PACKAGE}",
                    "pip uninstall stepleak until none is left, then install one; or take it out of PYTHONPATH",
                )


def of_python(is_debug: bool, is_free_threaded: bool) -> Iterator[Fault]:
    if is_debug:
        yield "this Python is a debug build: it keeps books of its own, and steps are slower", "use a release build"
    if is_free_threaded:
        yield "this Python is free-threaded, which stepleak was never tried with", "use one with the GIL"


def _torch_libraries() -> Path | None:
    """Of the torch that scripts import, which is not imported."""
    spec = importlib.util.find_spec("torch")
    folders = list(spec.submodule_search_locations or []) if spec else []
    return Path(folders[0]) / "lib" if folders else None


if __name__ == "__main__":
    # Its own folder, which Python puts first for a file that it runs, is not among the user's.
    sys.path = [entry for entry in sys.path if Path(entry).resolve() != _PACKAGE]
    print(json.dumps(faults()))
