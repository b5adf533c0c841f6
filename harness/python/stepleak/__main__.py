# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The command line in this interpreter: the command `stepleak`, and `python -m stepleak`.

It judges memory, so the process is made for that: Python uses malloc for all objects and a fixed hash seed, as the
program of the build tree sets for the interpreter that it embeds. Both can only be chosen before Python starts: the
interpreter replaces itself once, so that process id, terminal, signals and exit code stay those of one command.
"""

from __future__ import annotations

import os
import sys

# Each function imports what it needs: where `python -m` begins there may be a json.py.

# As of `typing`. Python starts twice before there is a word of help: what each import takes is waited for twice.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# Where the process stands: set by the first interpreter for the second, with what the variables were before.
_BEFORE = "_STEPLEAK_BEFORE"
# For the start of Python only: steps and their results see the user's own.
_FOR_THE_START = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
# For the import of torch only, and for what this interpreter imports before it. OpenBLAS would start its threads, and a
# fork copies none of them. torch asks NVML for devices instead of starting CUDA, which would not survive the fork. Not
# MKL's number of threads: it starts them where it needs some, and torch takes that number for its own for good.
_FOR_THE_IMPORT = {"OPENBLAS_NUM_THREADS": "1", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"}


# Set where the start of Python or of torch left threads behind, so that nothing may be forked (server_start.cpp).
_STARTS_IN_WORKERS = "STEPLEAK_STARTS_IN_WORKERS"


def main() -> NoReturn:
    before = _read_before(os.environ.pop(_BEFORE, ""))
    if before is None:
        _start_again()
    _undo(before)
    _leave_no_trace()
    is_put_first = _find_own_package()
    from stepleak import _cli  # type: ignore[attr-defined]  # built, not written

    if is_put_first and sys.flags.no_site:
        # A worker finds the packages, which it is among, at their own place.
        del sys.path[0]

    # As bytes: a file may have any name.
    set_for_import = [name for name in _FOR_THE_IMPORT if before[name] is None]
    code = _cli.main([b"stepleak", *map(os.fsencode, sys.argv[1:])], sys.executable, set_for_import)
    # torch does not survive the end of an interpreter that has forked workers and embedded us.
    os._exit(code)


def _read_before(text: str) -> dict[str, str | None] | None:
    """What the first interpreter has written for this one; None where this is the first, whatever was set before."""
    import json

    try:
        before = json.loads(text)
    except ValueError:
        return None
    is_ours = isinstance(before, dict) and before.keys() == {*_FOR_THE_START, *_FOR_THE_IMPORT}
    return before if is_ours and all(value is None or isinstance(value, str) for value in before.values()) else None


def _start_again() -> NoReturn:
    import json

    before = {name: os.environ.get(name) for name in (*_FOR_THE_START, *_FOR_THE_IMPORT)}
    environment = {**_FOR_THE_IMPORT, **os.environ, **_FOR_THE_START, _BEFORE: json.dumps(before)}
    # Unbuffered: what a step printed must not be lost where its worker ends or dies.
    switches = ["-u", *_switches_of_user()]
    if environment.pop(_STARTS_IN_WORKERS, None):
        # Without sitecustomize and the like: each worker runs them.
        switches.append("-S")
    os.execve(sys.executable, [sys.executable, *switches, os.path.abspath(__file__), *sys.argv[1:]], environment)


def _switches_of_user() -> list[str]:
    """What Python was started with; without -E and -I, with which the variables that we set would say nothing."""
    flags = sys.flags
    is_path_safe = getattr(flags, "safe_path", False) and not flags.isolated
    letters = "O" * flags.optimize + "B" * flags.dont_write_bytecode + "b" * flags.bytes_warning
    letters += "s" * (flags.no_user_site and not flags.isolated) + "P" * is_path_safe
    # Python adds those of the variable, of -X dev and of -b by itself.
    own = set(os.environ.get("PYTHONWARNINGS", "").split(","))
    own |= {"default"} if flags.dev_mode else set()
    own |= {"default::BytesWarning", "error::BytesWarning"} if flags.bytes_warning else set()
    switches = ["-" + letters] if letters else []
    for warning in sys.warnoptions:
        switches += ["-W", warning] if warning not in own else []
    for name, value in sys._xoptions.items():
        switches += ["-X", name if value is True else f"{name}={value}"]
    return switches


def _undo(before: dict[str, str | None]) -> None:
    for name in _FOR_THE_START:
        value = before[name]
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _leave_no_trace() -> None:
    """A step finds the process as another program's: no file of ours as the main module. Ctrl-C ends what runs before
    the first worker at once, unless the caller ignores it (nohup, a job of a script's in the background); a worker has
    Python's own handler again."""
    import signal
    import types

    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        # The other two are ignored by Python itself.
        if number != signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    # Spawned children would import it again.
    sys.modules["__main__"] = types.ModuleType("__main__")


def _find_own_package() -> bool:
    """Our own folder, which Python puts first for a file that it runs, would hide modules of the user's. Gives whether
    that of the package had to take its place."""
    import importlib.util

    here = os.path.dirname(os.path.realpath(__file__))
    if sys.path and os.path.realpath(sys.path[0]) == here:
        del sys.path[0]
    found = importlib.util.find_spec("stepleak")
    is_found = (
        found is not None and found.origin is not None and os.path.dirname(os.path.realpath(found.origin)) == here
    )
    if not is_found:
        sys.path.insert(0, os.path.dirname(here))
    return not is_found


def _leave_the_callers_folder() -> None:
    """`python -m` puts it first: of what is imported from here on, nothing is a file there that happens to have the
    name of one of Python's modules."""
    is_first = not sys.flags.isolated and not getattr(sys.flags, "safe_path", False)
    if __spec__ is not None and is_first and sys.path:
        del sys.path[0]


if __name__ == "__main__":
    _leave_the_callers_folder()
    main()
