# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a search for holders does not see, does not run, and has no time for."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stepleak
import torch
from holder_search import STEPS, Keeper, appended, holder_of_first, search
from stepleak._core import frame_locals
from stepleak._holders import HolderSearch
from stepleak._objects import referents_of

# --- references that cannot be seen -----------------------------------------------------------------------------------


def test_cycle_with_a_reference_that_cannot_be_seen_is_not_unreachable() -> None:
    keep_alive = []

    def keep() -> list[int]:
        tensor = torch.zeros(4)
        address: int = tensor._cdata
        first, second = Keeper(None), Keeper(None)
        first.kept, second.kept = (second, tensor), first
        # As a binding in C++ would: one reference that no object of Python's accounts for.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(first))
        keep_alive.append(id(first))
        return [address]

    gc.disable()
    try:
        found = search(Keeper(None), keep)
    finally:
        gc.enable()
        ctypes.pythonapi.Py_DecRef(ctypes.cast(keep_alive[0], ctypes.py_object))
    assert found["unreachable"] == set()
    assert found["holder_of"] == {}


def test_cycle_through_autograd_is_unreachable() -> None:
    def keep() -> list[int]:
        features = torch.relu(torch.zeros(4, requires_grad=True))
        address: int = features._cdata
        # Its node's hook captures it, which the collector does not see through.
        features.register_hook(lambda gradient: features * gradient)
        return [address]

    found = search(Keeper(None), keep)
    assert found["unreachable"] == set(found["addresses"])


def test_dead_iterators_of_asyncio_are_not_taken() -> None:
    """In Python 3.12 `gc.get_referents` gives out those that `_asyncio` has ready, and ends them a second time."""

    async def wait() -> None:
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        loop.call_soon(future.set_result, None)
        await future

    for _ in range(3):
        asyncio.run(wait())
    module = sys.modules["_asyncio"]
    for found in (referents_of(module), referents_of(module, [])):
        assert [item for item in found if type(item).__name__ == "FutureIter"] == []
        assert any(item is module.__dict__ for item in found)


# --- the user's code is not run ---------------------------------------------------------------------------------------


def watched_class(base: type, asked: list[str]) -> type:
    """A class derived from `base` that notes whatever it is asked."""

    def note(name: str) -> Callable[..., Any]:
        def asks(self: Any, *arguments: Any) -> Any:
            asked.append(name)
            raise RuntimeError(f"{name} was called")

        return asks

    methods = ["__getattr__", "__len__", "__repr__", "__str__", "__eq__", "__iter__", "__bool__", "__contains__"]
    members: dict[str, Any] = {name: note(name) for name in methods} | {"__hash__": base.__hash__}
    members["__class__"] = property(note("__class__"))
    members["kept_property"] = property(note("kept_property"))
    members["maxlen"] = property(note("maxlen"))
    members["__dict__"] = property(note("__dict__"))
    if base is dict:
        members |= {name: note(name) for name in ("items", "values", "keys", "get")}
    return type("Watched", (base,), members)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("base", [object, list, dict, set, deque])
def test_no_method_of_an_object_on_the_path_is_called(base: type) -> None:
    asked: list[str] = []
    root = Keeper([])
    watched = watched_class(base, asked)()
    adding: dict[type, Callable[[Any], Any]] = {
        list: lambda x: list.append(watched, x),
        dict: lambda x: dict.__setitem__(watched, len(addresses), x),
        set: lambda x: set.add(watched, x),
        deque: lambda x: deque.append(watched, x),
        object: lambda x: object.__setattr__(watched, "kept", x),
    }
    addresses: list[int] = []
    root.kept.append(watched)

    def keep() -> list[int]:
        for _ in range(STEPS):
            tensor = torch.zeros(4)
            adding[base](tensor)
            addresses[:] = [*addresses, tensor._cdata] if base is not object else [tensor._cdata]
        return addresses

    found = search(root, keep)
    assert asked == []
    assert "(Watched" in holder_of_first(found)["path"]


@pytest.mark.filterwarnings("error")
def test_metaclasses_are_not_asked() -> None:
    asked: list[str] = []

    class Meta(type):
        def __getattribute__(cls, name: str) -> Any:
            asked.append(name)
            return super().__getattribute__(name)

    class Watched(metaclass=Meta):
        def __init__(self) -> None:
            self.kept = torch.zeros(4)

    kept: list[Watched] = []
    asked.clear()
    result = stepleak.check(lambda: kept.append(Watched()), effort="quick", device="cpu")
    assert result.verdict == "leak"
    assert "(Watched) .kept -> Tensor" in result.findings[0]["holder"]
    assert [name for name in asked if name.startswith("__")] == []
    assert stepleak.check(Watched, effort="quick", device="cpu").is_clean


def test_a_source_whose_name_no_file_can_have_costs_no_holder() -> None:
    namespace: dict[str, Any] = {"torch": torch, "kept": []}
    exec(compile("def step():\n  kept.append(torch.zeros(5))\n", "<b>\ud800", "exec"), namespace)
    result = stepleak.check(namespace["step"], effort="quick", device="cpu")
    assert result.verdict == "leak"
    assert not any("could not be found out" in note for note in result.json["notes"])
    assert "(list, len " in result.findings[0]["holder"]


@pytest.mark.parametrize("name", [b"steps_\xff.py", "steps_\u00e9.py".encode(), b"steps.py"])
def test_a_line_is_named_in_whatever_bytes_its_file_is_called_by(name: bytes, tmp_path: Path) -> None:
    path = os.path.join(tmp_path, os.fsdecode(name))
    source = "kept = []\ndef step():\n  kept.append(torch.zeros(5))\n"
    Path(path).write_text(source, encoding="utf-8")
    namespace: dict[str, Any] = {"torch": torch}
    exec(compile(source, path, "exec"), namespace)
    found = stepleak.check(namespace["step"], effort="quick", device="cpu").findings[0]
    where = found["where"][0]
    shown = name.decode("utf-8", "replace")
    assert (os.path.basename(where["file"]), where["line"], where["function"]) == (shown, 3, "step")
    assert where["text"] == "kept.append(torch.zeros(5))"
    assert namespace["step"].__code__.co_filename == path


@pytest.mark.filterwarnings("error")
def test_keys_of_the_users_classes_are_not_asked_for_a_text() -> None:
    asked: list[str] = []
    root = Keeper({})
    key = watched_class(object, asked)()

    def keep() -> list[int]:
        root.kept[key] = torch.zeros(4)
        return [next(iter(dict.values(root.kept)))._cdata]

    assert ".kept (dict, len 1) [<Watched>] -> Tensor" in holder_of_first(search(root, keep))["path"]
    assert asked == []


@pytest.mark.filterwarnings("error")
def test_lazy_modules_and_proxies_are_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Lazy(types.ModuleType):
        def __getattribute__(self, name: str) -> Any:
            asked.append(name)
            raise ImportError(name)

    target = Keeper(None)
    root: Any = types.SimpleNamespace(proxy=weakref.proxy(target), kept=[])
    monkeypatch.setitem(sys.modules, "lazy_one", Lazy("lazy_one"))
    monkeypatch.setitem(sys.modules, "lazy_two", watched_class(object, asked)())
    asked.clear()
    holder = holder_of_first(search(root, appended(root.kept)))
    del target
    assert asked == []
    assert f".kept (list, len {STEPS}) [0] -> Tensor" in holder["path"]


@pytest.mark.filterwarnings("error")
def test_subclassed_tensors_and_modes_are_not_called() -> None:
    calls: list[str] = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function: Any, kinds: Any, arguments: Any = (), options: Any = None) -> Any:
            calls.append(str(function))
            return super().__torch_function__(function, kinds, arguments, options or {})

    root = Keeper([])

    def keep() -> list[int]:
        weights = torch.zeros(4, requires_grad=True)
        tensors = [weights.sum().as_subclass(Watched) for _ in range(STEPS)]
        root.kept.extend(tensors)
        addresses = [torch._C.TensorBase._cdata.__get__(tensor) for tensor in tensors]
        calls.clear()
        return addresses

    found = search(root, keep)
    assert calls == []
    path = holder_of_first(found)["path"]
    assert path == f"Keeper (Keeper) .kept (list, len {STEPS}) [0] (Watched) -> Watched -> AliasBackward0"


def test_search_ends_with_what_it_has_when_its_time_is_over() -> None:
    keeper = Keeper([])
    holders = HolderSearch(keeper, frame_locals)
    holders.begin(0)
    keeper.kept += [torch.ones(4) for _ in range(STEPS)]
    addresses = [tensor._cdata for tensor in keeper.kept]
    cut_short = holders.search(addresses, {}, STEPS, 0)
    assert (cut_short["holders"], cut_short["unreachable"], cut_short["held"]) == ([], set(), set(addresses))
    assert [note for note in cut_short["notes"] if "and not to the end: a larger --timeout" in note]
    whole = holders.search(addresses, {}, STEPS, 60)
    assert (len(whole["holders"]), whole["notes"]) == (1, [])


def test_container_that_could_not_be_measured_has_not_grown() -> None:
    kept: list[Any] = []
    keeper = Keeper(kept)
    holders = HolderSearch(keeper, frame_locals)
    holders.begin(0)
    kept += [[index] for index in range(STEPS)]
    assert holders.search([], {}, STEPS)["holders"] == []
    holders.begin(60)
    kept += [[index] for index in range(STEPS)]
    assert any(holder["held"] >= 0 for holder in holders.search([], {}, STEPS)["holders"])


@pytest.mark.parametrize("checks", range(1, 12))
def test_search_names_no_holder_that_is_not_there(checks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever its time is over."""
    from stepleak import _limit

    keepers = [Keeper([]) for _ in range(3)]
    holders = HolderSearch(keepers[0], frame_locals)
    holders.begin()
    for keeper in keepers:
        keeper.kept += [torch.ones(4) for _ in range(STEPS)]
    addresses = [tensor._cdata for keeper in keepers for tensor in keeper.kept]
    instants = iter([0.0] * checks)
    monkeypatch.setattr(_limit.time, "monotonic", lambda: next(instants, 2.0))
    found = holders.search(addresses, {__file__: set()}, STEPS, 1)
    assert set(found["holder_of"].values()) <= set(range(len(found["holders"])))
    assert found["notes"]
    assert found["unreachable"] == set()
