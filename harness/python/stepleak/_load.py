# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Loads what the command line names: a step from a user's file, and the scenario files of a folder."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import os
import platform
import random
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from types import MethodType, ModuleType
from typing import Any

from stepleak import scenario
from stepleak._failure import format_exception
from stepleak._objects import is_one_of, type_name


class UsageError(Exception):
    """`what` the user named is wrong; `remedy` says what to do. Both are its text."""

    __module__ = "stepleak"  # as tracebacks show it

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what}; {remedy}" if remedy else what)
        self.what = what
        self.remedy = remedy


def is_of_another_run(error: BaseException) -> bool:
    """Whether something was not judged as a check or watch runs in this process already."""
    return isinstance(error, UsageError) and error.what.startswith("another check or watch is running")


def seed_everything(seed: int) -> None:
    """Seeds the generators of Python, NumPy and torch; those of CUDA once it starts, which is left to the user."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)


def unseen_device() -> str:
    """A note where tensors go to a device that holds none by default; empty elsewhere."""
    # Read off the stack of modes, those of `with torch.device(...)` as well. No mode is asked: the step may have left
    # some of its own on.
    core, kind = sys.modules.get("torch._C"), getattr(sys.modules.get("torch.utils._device"), "DeviceContext", None)
    if core is None or kind is None:
        return ""
    modes = [core._get_function_stack_at(at) for at in range(core._len_torch_function_stack())]
    device = next((mode.device for mode in reversed(modes) if type(mode) is kind), None)
    if device is None or device.type != "meta":
        return ""
    return "torch's default device is meta: what is made there takes no memory, and is not judged"


def _hash_seed() -> str:
    asked = os.environ.get("PYTHONHASHSEED") or "random"
    if not sys.flags.hash_randomization:
        return "0"
    return asked if asked != "0" and not sys.flags.ignore_environment else "random"


# In force since the interpreter's start, which may have had another environment than a step finds.
_INTERPRETER = {
    "python": platform.python_version(),
    "hash seed": _hash_seed(),
    "python malloc": "pymalloc" if sys.getallocatedblocks() else "malloc",
}


def conditions() -> dict[str, str]:
    """Of the interpreter and NumPy, for the result's conditions."""
    numpy = sys.modules.get("numpy")
    return _INTERPRETER if numpy is None else {**_INTERPRETER, "numpy": str(numpy.__version__)}


def load_step(file: str, name: str) -> Callable[..., Any]:
    """The callable `name` of a file whose top level is the set-up."""
    module = _load_module(Path(file))
    step: Any = module
    for part in name.split("."):
        if not hasattr(step, part):
            names = sorted(n for n, v in vars(module).items() if callable(v) and not n.startswith("_"))
            known = (", ".join(names[:12]) or "none") + (", ..." if len(names) > 12 else "")
            raise UsageError(f"{file} has no '{name}'", f"callables there: {known}")
        step = getattr(step, part)
    if not callable(step):
        raise UsageError(f"{file}:{name} is no callable, but of type {type_name(step)}", "name a function")
    return step


def takes_index(step: Callable[..., Any], name: str) -> bool:
    """Whether the step wants the step index; raises where it wants more than that."""
    if not callable(step):
        raise UsageError(f"{name} is no callable, but of type {type_name(step)}", "pass a function")
    try:
        parameters = inspect.signature(step).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if inspect.isfunction(step) and next(iter(inspect.signature(step).parameters), "") == "self":
        raise UsageError(f"{name} is a method without its object", "name it on an object: trainer.step")
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if any(p.kind not in positional for p in required) or len(required) > 1:
        wanted = ", ".join(p.name for p in required)
        raise UsageError(
            f"{name} needs arguments: {wanted}",
            "a step takes none, or the step index; wrap it: step = lambda: " + f"{name.rpartition(':')[2]}(...)",
        )
    if not required and _is_cached(step):
        raise UsageError(
            f"{name} keeps what it returned (functools.cache), so its body would run in the first step alone",
            "name the function that it wraps (`__wrapped__`), or one that calls it with ever other arguments",
        )
    return len(required) == 1


def scenario_takes_index(step: Any, scenario_name: str) -> bool:
    """takes_index() of what the set-up of a scenario returned; raises where that is no step."""
    if inspect.iscoroutine(step):
        step.close()  # else Python warns of one that was never awaited
    if inspect.iscoroutine(step) or inspect.isgenerator(step) or inspect.isasyncgen(step):
        raise UsageError(
            f"the set-up of {scenario_name} did not run: it is an `async def`, or has a `yield`",
            f"write `def {scenario_name}(device)` that returns the step; the step itself may be async",
        )
    if not callable(step):
        returned = "nothing" if step is None else f"an object of type {type_name(step)}"
        raise UsageError(
            f"the set-up of {scenario_name} returned {returned}, and no step",
            "end it with `return step`, where step is the function to repeat",
        )
    return takes_index(step, f"{scenario_name}:{_name_of(step)}")


def _name_of(step: Any) -> str:
    return step.__name__ if inspect.isroutine(step) else type_name(step)


def _is_cached(step: Any) -> bool:
    while is_one_of(type(step), (MethodType, functools.partial)):
        step = step.__func__ if type(step) is MethodType else step.func
    return type(step) is functools._lru_cache_wrapper and step.cache_parameters()["maxsize"] != 0


@dataclass(frozen=True)
class BrokenFile:
    """A scenario file that does not load: what it declares is not known."""

    file: str
    what: str


@dataclass(frozen=True)
class LoadedFolder:
    """What its files declare, and those that do not load."""

    scenarios: list[scenario.Scenario]
    broken: list[BrokenFile]


def load_scenarios(
    folder: str, left_out: Collection[str] = (), on_file: Callable[[bytes], object] = lambda file: None
) -> LoadedFolder:
    """Imports every scenario file of a folder. One that does not load costs no other's scenarios.

    But for those `left_out`. `on_file` is told of each before it is imported: it may end the process.
    """
    broken = []
    for path in sorted(Path(folder).glob("*.py")):
        if path.name.startswith("_") or str(path) in left_out:
            continue
        on_file(os.fsencode(path))
        before = scenario.registered()
        try:
            if not path.is_file():  # reading a pipe would wait for who writes into it
                raise UsageError(f"{path} is no file", "name a scenario's file by what it is, or remove it")
            _load_module(path)
        except BaseException as error:
            # A part of what it declares would pass for all of it.
            scenario.forget_all_but(before)
            what = str(error) if isinstance(error, UsageError) else format_exception(error)
            broken.append(BrokenFile(str(path), what))
    return LoadedFolder(scenario.registered(), broken)


def _load_module(path: Path) -> ModuleType:
    name = path.stem
    if name in sys.modules and not _is_from(sys.modules[name], path):
        raise UsageError(f"{path} has the name of a module that is in use: {name}", "rename the file")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file", "name a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    spec.loader.exec_module(module)
    return module


def _is_from(module: ModuleType, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve() == path.resolve()
