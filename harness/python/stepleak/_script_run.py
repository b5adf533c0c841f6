# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a script as `python` would, with a watch over it."""

from __future__ import annotations

import atexit
import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import runpy
import signal
import sys
import time
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from stepleak._failure import headline_of
from stepleak._folders import is_runtime_file, runtime_folders
from stepleak._script_watch import ENDING, Request, ScriptWatch, Stopped

_MOST_SECONDS_TO_END = 5.0
"""Of a thread that is to end, and may clean up."""
_PAUSE_SECONDS = 0.01
_OURS = str(Path(__file__).parent / "_script")
_WATCHING = tuple(
    str(Path(__file__).parent / name) for name in ("_class_attributes", "_script_events", "_script_watch")
)
"""What torch calls while the script runs."""
_GROUP: Any = getattr(builtins, "BaseExceptionGroup", ())  # from Python 3.11 on


def run(request: Request, command: list[str]) -> None:
    """`command`: FILE.py ARGS..., or -m MODULE ARGS... Ends as the script ends: returns, or raises what it raised."""
    # A script may start itself anew.
    del sys.orig_argv[-len(command) - 2 : -len(command)]
    watch = ScriptWatch(request)
    if request.stops or request.most_steps > 0:
        signal.signal(ENDING, signal.default_int_handler)
    _after_import("torch", watch.attach)
    # Python calls this after it has waited for the script's threads and called the script's own exit functions, which
    # were registered later: there may be steps in them. To wait here would be for ever: an idle pool of threads ends
    # only once Python tells it to.
    atexit.register(watch.end)
    try:
        _run_module(command[1:]) if command[0] == "-m" else _run_file(command)
    except Stopped as stopped:
        stopped.retrieve()
        raise
    except SystemExit:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and watch.interrupting is not None:
            # Python ends while other threads run, and one that is inside of torch takes the process with it. join()
            # would not wait for one that was being joined when the interrupt came: Python 3.11 takes it for ended.
            ends_at = time.monotonic() + _MOST_SECONDS_TO_END
            while watch.interrupting.ident in sys._current_frames() and time.monotonic() < ends_at:
                time.sleep(_PAUSE_SECONDS)
            raise SystemExit(0) from None
        watch.end(_failure_of(error))
        _show(error)
        raise


def _run_file(command: list[str]) -> None:
    path = os.path.join(os.getcwd(), command[0])  # not normalised, as Python has it
    sys.argv = command
    if pkgutil.get_importer(path) is not None:  # a folder, or an archive: __main__.py in it
        sys.path.insert(0, path)
        _fresh_main()
        runpy._run_module_as_main("__main__", alter_argv=False)  # type: ignore[attr-defined]
        return
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    loader: type = importlib.machinery.SourcelessFileLoader
    with io.open_code(path) as file:
        source = io.BytesIO(file.read())  # a pipe is read once
        code = pkgutil.read_code(source)  # type: ignore[attr-defined]  # of a .pyc, as runpy reads it
        if code is None:
            code = compile(source.getvalue(), path, "exec", dont_inherit=True)
            loader = importlib.machinery.SourceFileLoader
    main = _fresh_main()
    vars(main).update(
        __file__=path,
        __cached__=None,
        __loader__=loader("__main__", path),
        __builtins__=sys.modules["builtins"],
        __annotations__={},
    )
    exec(code, vars(main))


def _run_module(command: list[str]) -> None:
    sys.argv = ["-m", *command[1:]]
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, os.getcwd())
    _fresh_main()
    # What `python -m` itself calls, with its messages and its frames.
    runpy._run_module_as_main(command[0])  # type: ignore[attr-defined]  # not documented, and unchanged since 2.6


def _fresh_main() -> types.ModuleType:
    main = types.ModuleType("__main__")
    main.__builtins__ = sys.modules["builtins"]  # type: ignore[attr-defined]  # of each namespace that code runs in
    sys.modules["__main__"] = main
    return main


def _failure_of(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "the script was interrupted"
    return f"the script raised {headline_of(error)}"


def _show(error: BaseException) -> None:
    """As Python shows it, without our frames; nothing is left for Python to show."""
    _drop_our_frames(error, set())
    hook, sys.excepthook = sys.excepthook, lambda *_: None
    # What a hook may ask for, as `traceback.print_last()` does.
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        hook(type(error), error, error.__traceback__)
    except SystemExit:
        raise
    except BaseException as raised:
        if raised.__context__ is error:
            raised.__context__ = None  # Python calls a hook when nothing is being handled
        _drop_our_frames(raised, set())
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(type(raised), raised, raised.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, error.__traceback__)


def _drop_our_frames(error: BaseException | None, seen: set[int]) -> None:
    """Also of its causes, of what was being handled when it was raised, and of the parts of a group."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    error.__traceback__ = _without_ours(error.__traceback__)
    parts = error.exceptions if isinstance(error, _GROUP) else ()
    for other in (error.__cause__, error.__context__, *parts):
        _drop_our_frames(other, seen)


def _without_ours(trace: types.TracebackType | None) -> types.TracebackType | None:
    kept = []
    is_watching, runtime = False, runtime_folders()
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        # With what that calls in turn, up to a signal's handler of the script's.
        is_watching = file.startswith(_WATCHING) or (is_watching and is_runtime_file(file, runtime))
        if not is_watching and not file.startswith(_OURS):
            kept.append(trace)
        trace = trace.tb_next
    result = None
    for part in reversed(kept):
        result = types.TracebackType(result, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return result


def _after_import(name: str, action: Callable[[], None]) -> None:
    if name in sys.modules:  # a sitecustomize or a .pth file imports it before we come
        action()
    else:
        sys.meta_path.insert(0, _AfterImport(name, action))


class _AfterImport(importlib.abc.MetaPathFinder):
    """Calls `action` once when a module was imported: what the script sets before that (the environment) counts.

    Whoever only asks whether the module is there (`importlib.util.find_spec`) imports nothing, and may ask often.
    """

    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name = name
        self._action = action
        self._is_asking = False

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name or self._is_asking:
            return None
        self._is_asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_asking = False
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            del loader.exec_module
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            execute(module)
            self._action()

        loader.exec_module = exec_module
        return spec
