# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The search for holders: each way to keep a tensor, and near misses beside it."""

from __future__ import annotations

import asyncio
import gc
import sys
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from holder_search import STEPS, Keeper, SlottedKeeper, appended, holder_of_first, search

# --- paths ------------------------------------------------------------------------------------------------------------


def test_list_in_an_attribute() -> None:
    root = Keeper([])
    found = search(root, appended(root.kept))
    holder = holder_of_first(found)
    assert holder["path"] == f"Keeper (Keeper) .kept (list, len {STEPS}) [0] -> Tensor"
    assert holder["container_type"] == "list"
    assert holder["container_length"] == STEPS
    assert holder["bound"] == -1
    assert found["unreachable"] == set()


def test_each_tensor_in_a_container_has_its_holder() -> None:
    """Also of more than are searched for, and of two containers that are filled in turns."""
    root = Keeper({"scores": [], "labels": []})
    both = deque(root.kept.values())

    def keep() -> list[int]:
        addresses = []
        for _ in range(80):
            addresses += appended(both[0])()[:1]
            both.rotate()
        return addresses

    found = search(root, keep)
    held_at = [found["holders"][found["holder_of"][address]]["path"] for address in found["addresses"]]
    assert ["scores" in path for path in held_at] == [at % 2 == 0 for at in range(80)]


def in_array_of_objects(shown: Any) -> Any:
    array: Any = numpy.empty(2, dtype=object)
    array[1] = shown.base
    return array


@pytest.mark.parametrize(
    ("kept_as", "path"),
    [
        (lambda shown: shown, "[0] (ndarray) .base"),
        (lambda shown: shown[1:], "[0] (ndarray) .base (ndarray) .base"),
        (lambda shown: (3, shown), "[0] [1] (ndarray) .base"),
        (lambda shown: {"mean": shown}, "[0] (dict, len 1) .mean (ndarray) .base"),
        (in_array_of_objects, "[0] (ndarray, len 2) [1]"),
    ],
)
def test_array_that_shows_a_tensors_memory(kept_as: Callable[[Any], Any], path: str) -> None:
    root = Keeper([])

    def keep() -> list[int]:
        addresses = []
        for _ in range(STEPS):
            shown = torch.zeros(4).numpy()
            addresses.append(shown.base._cdata)
            root.kept.append(kept_as(shown))
        gc.collect()  # untracks tuples and dicts of what is not tracked
        return addresses

    found = search(root, keep)
    holder = holder_of_first(found)
    assert holder["path"] == f"Keeper (Keeper) .kept (list, len {STEPS}) {path} -> Tensor"
    assert (holder["container_type"], holder["container_length"]) == ("list", STEPS)
    assert found["unreachable"] == set()


def test_result_of_a_task() -> None:
    root = Keeper(set())

    async def report(tensor: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"mean": tensor}

    async def step() -> list[int]:
        addresses = []
        for _ in range(STEPS):
            tensor = torch.zeros(4)
            addresses.append(tensor._cdata)
            task = asyncio.create_task(report(tensor))
            root.kept.add(task)
            await task
        return addresses

    found = search(root, lambda: asyncio.run(step()))
    path = holder_of_first(found)["path"]
    assert path == f"Keeper (Keeper) .kept (set, len {STEPS}) -> (Task) -> (dict, len 1) .mean -> Tensor"


def test_array_of_its_own_memory_holds_no_tensor() -> None:
    root = Keeper([])
    others: list[torch.Tensor] = []
    addresses = appended(others)()
    root.kept += [tensor.numpy().copy() for tensor in others]
    found = search(root, lambda: addresses)
    assert "ndarray" not in holder_of_first(found)["path"]


def test_container_is_the_one_that_grows_not_what_is_put_into_it() -> None:
    root = Keeper([])

    def keep() -> list[int]:
        tensors = [torch.zeros(4) for _ in range(STEPS)]
        root.kept.extend({"weight": tensor} for tensor in tensors)
        return [tensor._cdata for tensor in tensors]

    holder = holder_of_first(search(root, keep))
    assert (holder["container_type"], holder["container_length"]) == ("list", STEPS)


def test_container_is_the_inner_one_where_that_grows() -> None:
    root = Keeper({"train": []})
    holder = holder_of_first(search(root, appended(root.kept["train"])))
    assert (holder["container_type"], holder["container_length"]) == ("list", STEPS)


def test_siblings_in_one_list_share_a_holder() -> None:
    root = Keeper([])
    found = search(root, appended(root.kept))
    assert set(found["holder_of"]) == set(found["addresses"])
    assert len(set(found["holder_of"].values())) == 1


class Sample:
    """What a data set caches: its tensors lie in a dict of an object of its own."""

    def __init__(self, **tensors: torch.Tensor) -> None:
        self.store = Keeper(tensors)


def test_parts_of_what_came_have_the_holder_of_others() -> None:
    """However deep they lie in it, all belong to the list that the samples came into: also of more than are searched
    for."""
    keeper = Keeper([Sample(x=torch.zeros(4))] + [None] * 40)

    def keep() -> list[int]:
        samples = [Sample(x=torch.zeros(4), y=torch.zeros(4)) for _ in range(20)]
        keeper.kept[1:21] = samples
        return [tensor._cdata for sample in samples for tensor in sample.store.kept.values()]

    found = search(keeper, keep)
    assert set(found["holder_of"]) == set(found["addresses"])
    paths = [found["holders"][index]["path"] for index in set(found["holder_of"].values())]
    assert all(path.startswith("Keeper (Keeper) .kept (list, len 41) [") for path in paths)


def test_parts_of_what_was_there_have_holders_of_their_own() -> None:
    keeper = Keeper([Sample(x=torch.zeros(4)) for _ in range(3)])

    def keep() -> list[int]:
        for sample in keeper.kept:
            sample.store.kept["y"] = torch.zeros(4)
        return [sample.store.kept["y"]._cdata for sample in keeper.kept]

    found = search(keeper, keep)
    assert len({found["holder_of"][address] for address in found["addresses"]}) == 3


def test_tensors_in_two_lists_have_two_holders() -> None:
    root = Keeper({"train": [], "test": []})

    def keep() -> list[int]:
        return [*appended(root.kept["train"])(), *appended(root.kept["test"])()]

    found = search(root, keep)
    paths = {found["holders"][found["holder_of"][address]]["path"] for address in found["addresses"]}
    start = "Keeper (Keeper) .kept (dict, len 2)"
    assert paths == {f"{start} .{name} (list, len {STEPS}) [0] -> Tensor" for name in ("train", "test")}


def test_dict_in_an_attribute_shows_its_key() -> None:
    root = Keeper({})

    def keep() -> list[int]:
        for i in range(STEPS):
            root.kept[f"step {i}"] = torch.zeros(4)
        return [tensor._cdata for tensor in root.kept.values()]

    holder = holder_of_first(search(root, keep))
    assert f".kept (dict, len {STEPS}) ['step 0'] -> Tensor" in holder["path"]
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


def test_default_argument_shows_the_parameters_name() -> None:
    def step(rate: float = 0.5, seen: list[torch.Tensor] = []) -> None:  # noqa: B006
        seen.append(torch.full((4,), rate))

    def keep() -> list[int]:
        for _ in range(STEPS):
            step()
        return [tensor._cdata for tensor in step.__defaults__[1]]  # type: ignore[index]

    holder = holder_of_first(search(step, keep))
    assert holder["path"] == f"step .seen (list, len {STEPS}) [0] -> Tensor"


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


@pytest.mark.parametrize("names", [("a_training", "b_training"), ("b_training", "a_training")])
def test_of_modules_equally_near_one_is_named_whichever_was_made_first(
    names: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    history: list[torch.Tensor] = []
    for name in names:
        module = types.ModuleType(name)
        module.history = history  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
    holder = holder_of_first(search(lambda: None, appended(history)))
    assert holder["path"] == f"a_training.history (list, len {STEPS}) [0] -> Tensor"


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
    assert holder_of_first(found)["path"] == "a cycle (Keeper) .kept [0] (Keeper) .kept (Keeper) .kept [1] -> Tensor"


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


def test_container_that_grew_most_comes_first() -> None:
    root = Keeper([[], []])

    def keep() -> list[int]:
        root.kept[0].extend(object() for _ in range(STEPS))
        root.kept[1].extend(object() for _ in range(2 * STEPS))
        return []

    holders = search(root, keep)["holders"]
    assert [holder["container_length"] for holder in holders] == [2 * STEPS, STEPS]


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
