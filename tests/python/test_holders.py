# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The search for holders: each way to keep a tensor, and near misses beside it."""

from __future__ import annotations

import gc
import sys
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import torch
from stepleak._holders import HolderSearch

STEPS = 8


class Keeper:
    """Keeps tensors in one of its attributes."""

    def __init__(self, kept: Any) -> None:
        self.kept = kept

    def __call__(self) -> None:
        """The step; what it would keep was kept by the test."""


class SlottedKeeper:
    """The same without a `__dict__`."""

    __slots__ = ("kept",)

    def __init__(self, kept: Any) -> None:
        self.kept = kept

    def __call__(self) -> None:
        """The step."""


def search(root: Any, keep: Callable[[], list[int]], files: tuple[str, ...] = ()) -> dict[str, Any]:
    """Searches around `keep`, which keeps tensors somewhere and returns their addresses."""
    holders = HolderSearch(root)
    holders.begin()
    addresses = keep()
    gc.unfreeze()  # as the session does: frozen objects are not searched
    found = holders.search(addresses, {file: set() for file in files}, STEPS)
    assert found["unreachable"] <= set(addresses)
    return {**found, "addresses": addresses}


def appended(container: Any) -> Callable[[], list[int]]:
    def keep() -> list[int]:
        addresses = []
        for _ in range(STEPS):
            tensor = torch.zeros(4)
            addresses.append(tensor._cdata)
            container.append(tensor)
        return addresses

    return keep


def holder_of_first(found: dict[str, Any]) -> dict[str, Any]:
    holder: dict[str, Any] = found["holders"][found["holder_of"][found["addresses"][0]]]
    return holder


# --- paths ------------------------------------------------------------------------------------------------------------


def test_list_in_an_attribute() -> None:
    root = Keeper([])
    found = search(root, appended(root.kept))
    holder = holder_of_first(found)
    assert holder["path"] == f"Keeper (Keeper) .kept (list, len {STEPS}) [0] -> Tensor"
    assert holder["shape"] == "Keeper (Keeper) .kept (list) [] -> Tensor"
    assert holder["container_type"] == "list"
    assert holder["container_length"] == STEPS
    assert holder["bound"] == -1
    assert found["unreachable"] == set()


def test_siblings_in_one_list_share_a_holder() -> None:
    root = Keeper([])
    found = search(root, appended(root.kept))
    assert set(found["holder_of"]) == set(found["addresses"])
    assert len({found["holders"][i]["shape"] for i in found["holder_of"].values()}) == 1


def test_tensors_in_two_lists_have_two_holders() -> None:
    root = Keeper({"train": [], "test": []})

    def keep() -> list[int]:
        return [*appended(root.kept["train"])(), *appended(root.kept["test"])()]

    found = search(root, keep)
    shapes = {found["holders"][found["holder_of"][address]]["shape"] for address in found["addresses"]}
    assert shapes == {f"Keeper (Keeper) .kept (dict) .{name} (list) [] -> Tensor" for name in ("train", "test")}


def test_dict_in_an_attribute_shows_its_key() -> None:
    root = Keeper({})

    def keep() -> list[int]:
        for i in range(STEPS):
            root.kept[f"step {i}"] = torch.zeros(4)
        return [tensor._cdata for tensor in root.kept.values()]

    holder = holder_of_first(search(root, keep))
    assert f".kept (dict, len {STEPS}) ['step 0'] -> Tensor" in holder["path"]
    assert holder["shape"].endswith(".kept (dict) [] -> Tensor")
    assert holder["container_type"] == "dict"


def test_bounded_deque_shows_its_bound() -> None:
    root = Keeper(deque(maxlen=100))
    holder = holder_of_first(search(root, appended(root.kept)))
    assert f".kept (deque, len {STEPS})" in holder["path"]
    assert holder["container_type"] == "deque"
    assert holder["bound"] == 100


def test_unbounded_deque_shows_none() -> None:
    root = Keeper(deque())
    assert holder_of_first(search(root, appended(root.kept)))["bound"] == -1


def test_set_in_an_attribute() -> None:
    root = Keeper(set())

    def keep() -> list[int]:
        root.kept.update(torch.zeros(4) for _ in range(STEPS))
        return [tensor._cdata for tensor in root.kept]

    holder = holder_of_first(search(root, keep))
    assert f".kept (set, len {STEPS})" in holder["path"]
    assert holder["path"].endswith("-> Tensor")


def test_tensor_in_an_attribute_has_no_container() -> None:
    root = Keeper(None)

    def keep() -> list[int]:
        root.kept = torch.zeros(4)
        return [root.kept._cdata]

    holder = holder_of_first(search(root, keep))
    assert holder["path"] == "Keeper (Keeper) .kept -> Tensor"
    assert holder["container_type"] == ""
    assert holder["container_length"] == 0


def test_tensor_with_a_graph_shows_its_node() -> None:
    root = Keeper([])

    def keep() -> list[int]:
        weights = torch.zeros(4, requires_grad=True)
        root.kept.append(weights.sum())
        return [root.kept[0]._cdata]

    assert holder_of_first(search(root, keep))["path"].endswith("[0] -> Tensor -> SumBackward0")


def test_closure_cell_shows_the_variables_name() -> None:
    def make() -> tuple[Callable[[], None], list[torch.Tensor]]:
        history: list[torch.Tensor] = []

        def step() -> None:
            history.append(torch.zeros(4))

        return step, history

    step, history = make()
    del history

    def keep() -> list[int]:
        for _ in range(STEPS):
            step()
        return [tensor._cdata for tensor in step.__closure__[0].cell_contents]  # type: ignore[index]

    holder = holder_of_first(search(step, keep))
    assert f".history (list, len {STEPS}) [0] -> Tensor" in holder["path"]
    assert holder["path"].startswith("step ")


def test_module_global_is_named_by_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("my_training")
    module.history = []  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_training", module)
    holder = holder_of_first(search(lambda: None, appended(module.history)))
    assert holder["path"] == f"my_training.history (list, len {STEPS}) [0] -> Tensor"


def test_object_in_a_module_is_named_by_both(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("my_training")
    module.trainer = Keeper([])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_training", module)
    holder = holder_of_first(search(lambda: None, appended(module.trainer.kept)))
    assert holder["path"] == f"my_training.trainer (Keeper) .kept (list, len {STEPS}) [0] -> Tensor"


def test_slots_are_attributes_too() -> None:
    root = SlottedKeeper([])
    holder = holder_of_first(search(root, appended(root.kept)))
    assert f".kept (list, len {STEPS})" in holder["path"]


def test_bound_method_leads_to_its_object() -> None:
    root = Keeper([])
    holder = holder_of_first(search(root.__call__, appended(root.kept)))
    assert f".kept (list, len {STEPS})" in holder["path"]


def test_nested_containers_are_all_shown() -> None:
    root = Keeper({"train": []})
    holder = holder_of_first(search(root, appended(root.kept["train"])))
    assert f".kept (dict, len 1) .train (list, len {STEPS})" in holder["path"]
    # The inner one grows.
    assert holder["container_type"] == "list"


def test_tuple_in_a_list_is_walked_through() -> None:
    root = Keeper([])

    def keep() -> list[int]:
        for i in range(STEPS):
            root.kept.append((i, torch.zeros(4)))
        return [tensor._cdata for _, tensor in root.kept]

    assert "[0] [1] -> Tensor" in holder_of_first(search(root, keep))["path"]


# --- near misses ------------------------------------------------------------------------------------------------------


def cycle_of(tensor: torch.Tensor) -> None:
    """Leaves a cycle behind that nothing reaches."""
    first, second = Keeper(None), Keeper(None)
    first.kept, second.kept = (second, tensor), first


def test_unreachable_cycle_is_said_to_be_one() -> None:
    def keep() -> list[int]:
        tensor = torch.zeros(4)
        address: int = tensor._cdata
        cycle_of(tensor)
        return [address]

    gc.disable()
    try:
        found = search(Keeper(None), keep)
    finally:
        gc.enable()
    assert found["unreachable"] == set(found["addresses"])
    assert found["holder_of"] == {}


def test_cycle_that_is_held_is_no_unreachable_one() -> None:
    root = Keeper(None)

    def keep() -> list[int]:
        tensor = torch.zeros(4)
        first, second = Keeper(None), Keeper(None)
        first.kept, second.kept = second, (first, tensor)
        root.kept = first
        return [tensor._cdata]

    found = search(root, keep)
    assert found["unreachable"] == set()
    assert holder_of_first(found)["path"].startswith("Keeper ")


def test_address_without_a_tensor_is_neither_held_nor_unreachable() -> None:
    found = search(Keeper(None), lambda: [12345])
    assert found["holder_of"] == {}
    assert found["unreachable"] == set()


def test_container_that_grew_is_found_without_a_tensor() -> None:
    root = Keeper([])

    def keep() -> list[int]:
        root.kept.extend(object() for _ in range(STEPS))
        return []

    holders = search(root, keep)["holders"]
    assert [holder["path"] for holder in holders] == [f"Keeper (Keeper) .kept (list, len {STEPS})"]


def test_container_that_did_not_grow_is_not() -> None:
    root = Keeper([0] * 100)

    def keep() -> list[int]:
        for i in range(STEPS):
            root.kept[i] = object()
        return []

    assert search(root, keep)["holders"] == []


def test_container_that_grew_once_is_not() -> None:
    root = Keeper([])

    def keep() -> list[int]:
        root.kept.append(object())
        return []

    assert search(root, keep)["holders"] == []


# --- statements -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "statement", "expression", "line"),
    [
        ("class T:\n    def f(self, x):\n        self.kept.append(x.loss)\n", "self.kept.append(x.loss)", "x.loss", 3),
        ("def f(t, x):\n    t.kept[1] = x\n", "t.kept[1] = x", "x", 2),
        ("def f(t, x):\n    t.kept += x\n", "t.kept += x", "x", 2),
        ("def f(t, x):\n    t.kept = []\n    t.kept.append(x)\n", "t.kept.append(x)", "x", 3),
        ("def f(t, x):\n    t.other.append(x)\n", "", "", 0),
        ("def f(t, x):\n    t.kept.remove(x)\n", "", "", 0),
        ("def f(t, x):\n    t.kept = []\n", "", "", 0),
        ("kept = []\n", "", "", 0),
    ],
    ids=["append", "item", "add", "set_up_and_append", "other_name", "remove", "set_up_only", "outside_of_functions"],
)
def test_statement_that_keeps_is_found(source: str, statement: str, expression: str, line: int, tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text(source, encoding="utf-8")
    # The step is written elsewhere, so that only this file tells.
    root: Any = types.SimpleNamespace(kept=[])
    holder = holder_of_first(search(root, appended(root.kept), (str(file),)))
    assert holder["kept_by"] == statement
    assert holder["kept_expression"] == expression
    assert holder["kept_at_line"] == line
    assert holder["kept_at_file"] == (str(file) if line else "")


def test_sources_that_cannot_be_read_are_passed_over(tmp_path: Any) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("def (:\n", encoding="utf-8")
    root: Any = types.SimpleNamespace(kept=[])
    holder = holder_of_first(search(root, appended(root.kept), (str(broken), "/nowhere/at_all.py")))
    assert holder["kept_by"] == ""
