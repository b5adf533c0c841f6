# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The search for holders: each way to keep a tensor, and near misses beside it."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from stepleak._core import frame_locals
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


def search(
    root: Any, keep: Callable[[], list[int]], files: tuple[str, ...] = (), born_in: frozenset[int] = frozenset()
) -> dict[str, Any]:
    """Searches around `keep`, which keeps tensors somewhere and returns their addresses.

    `born_in`: lines of the files.
    """
    holders = HolderSearch(root, frame_locals)
    holders.begin()
    gc.freeze()
    try:
        addresses = keep()
        holders.end()
    finally:
        gc.unfreeze()
    found = holders.search(addresses, {file: set(born_in) for file in files}, STEPS)
    assert found["unreachable"] <= set(addresses)
    return {**found, "holders": [as_text(found, holder) for holder in found["holders"]], "addresses": addresses}


def as_text(found: dict[str, Any], holder: dict[str, Any]) -> dict[str, Any]:
    """A holder with its path as a person reads it; the product's own text is made in C++."""
    nodes, edges = found["nodes"], [found["edges"][i] for i in holder["path"]]
    held, container = nodes[holder["held"]], nodes[holder["container"]] if holder["container"] >= 0 else {}
    root = nodes[edges[0]["from"] if edges else holder["held"]]
    path = root["name"] + node_text(root) + "".join(edge_text(e) + node_text(nodes[e["to"]]) for e in edges)
    arrows = ([held] if held["length"] < 0 else []) + ([nodes[holder["graph"]]] if holder["graph"] >= 0 else [])
    return {
        "path": path + "".join(f" -> {node['type']}" for node in arrows),
        "container_type": container.get("type", ""),
        "container_length": container.get("length", 0),
        "bound": container.get("bound", -1),
        **holder["kept_by"],
    }


def node_text(node: dict[str, Any]) -> str:
    if node["length"] >= 0:
        return f" ({node['type']}, len {node['length']})"
    return "" if node["type"] in ("", "Tensor") else f" ({node['type']})"


def edge_text(edge: dict[str, Any]) -> str:
    label = edge["label"]
    texts = {"attribute": f" .{label}", "index": f" [{label}]", "key": f" [{label}]", "hidden": "", "other": " ->"}
    return texts[edge["type"]]


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
    assert holder["container_type"] == "list"
    assert holder["container_length"] == STEPS
    assert holder["bound"] == -1
    assert found["unreachable"] == set()


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
        (in_array_of_objects, "[0] (ndarray) [1]"),
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


# --- variables of running and suspended functions ---------------------------------------------------------------------


class Elsewhere:
    """A thread that keeps tensors in a variable of its loop, and of nothing else."""

    def __init__(self) -> None:
        self.go, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.address = 0
        self.thread = threading.Thread(target=self.loop)
        self.thread.start()

    def loop(self) -> None:
        losses: list[torch.Tensor] = []
        for _ in range(STEPS):
            self.go.acquire()
            losses.append(torch.zeros(4))
            self.address = losses[-1]._cdata
            self.done.release()
        self.go.acquire()

    def keep(self) -> list[int]:
        addresses = []
        for _ in range(STEPS):
            self.go.release()
            self.done.acquire()
            addresses.append(self.address)
        return addresses


def test_variable_of_another_threads_function_is_a_root() -> None:
    elsewhere = Elsewhere()
    try:
        found = search(None, elsewhere.keep)
    finally:
        elsewhere.go.release()
        elsewhere.thread.join()
    assert holder_of_first(found)["path"] == f"local of loop .losses (list, len {STEPS}) [0] -> Tensor"
    assert found["unreachable"] == set()


def test_variable_of_a_function_below_is_a_root() -> None:
    losses: list[torch.Tensor] = []
    found = search(None, appended(losses))
    assert holder_of_first(found)["path"].startswith("local of test_variable_of_a_function_below_is_a_root .losses")


def test_attribute_of_the_step_beats_a_variable() -> None:
    root = Keeper([])
    alias = root.kept
    assert holder_of_first(search(root, appended(alias)))["path"].startswith("Keeper (Keeper) .kept")


def generated() -> Any:
    losses: list[torch.Tensor] = []
    while True:
        losses.append(torch.zeros(4))
        yield losses[-1]._cdata


def test_variable_of_a_generator_is_found_through_its_loop() -> None:
    addresses = []
    # The loop holds the generator where nobody can see it.
    for address in generated():
        addresses.append(address)
        if len(addresses) == STEPS:
            found = search(None, lambda: addresses)
            break
    assert holder_of_first(found)["path"] == f"local of generated .losses (list, len {STEPS}) [0] -> Tensor"


def test_reading_variables_keeps_nothing_alive() -> None:
    marker = Keeper(None)
    count = sys.getrefcount(marker)
    gc.disable()
    try:
        search(None, lambda: [torch.zeros(4)._cdata])
        # Nor does a frame that names itself keep those below it.
        assert sys.getrefcount(marker) == count
    finally:
        gc.enable()


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


# --- statements -------------------------------------------------------------------------------------------------------


def told_of(file: Any, holder: dict[str, Any]) -> tuple[str, str, int]:
    """The statement of a file; where there is none, the holder names the one that fills it: this file's."""
    if holder["file"] == str(file):
        return holder["text"], holder["expression"], holder["line"]
    assert (holder["file"], holder["text"]) == (__file__, "container.append(tensor)")
    return "", "", 0


@pytest.mark.parametrize(
    ("source", "statement", "expression", "line"),
    [
        ("class T:\n    def f(self, x):\n        self.kept.append(x.loss)\n", "self.kept.append(x.loss)", "x.loss", 3),
        ("def f(t, x):\n    t.kept[1] = x\n", "t.kept[1] = x", "x", 2),
        ("def f(t, x):\n    t.kept += x\n", "t.kept += x", "", 2),
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
    root: Any = types.SimpleNamespace(kept=[])
    holder = holder_of_first(search(root, appended(root.kept), (str(file),)))
    assert told_of(file, holder) == (statement, expression, line)


class Metrics:
    """Keeps tensors under keys."""

    def __init__(self) -> None:
        self.parts: dict[str, Any] = {"ce": [], "l2": []}


@pytest.mark.parametrize(
    ("source", "statement", "expression"),
    [
        # A variable has the key's name.
        (
            "class Metrics:\n def f(self):\n  ce = loss()\n  self.parts['ce'].append(ce)\n",
            "self.parts['ce'].append(ce)",
            "ce",
        ),
        ("class Metrics:\n def f(self):\n  ce = loss()\n", "", ""),
        # Another key comes first.
        (
            "def f(m, x):\n m.parts['l2'].append(x.item())\n m.parts['ce'].append(x)\n",
            "m.parts['ce'].append(x)",
            "x",
        ),
        ("def f(m, x):\n m.parts['l2'].append(x)\n", "", ""),
        ("def f(m, x, key):\n m.parts[key].append(x)\n", "m.parts[key].append(x)", "x"),
        # A class of another name keeps under the same one.
        ("class Other:\n def f(self, x):\n  self.parts['ce'].append(x)\n", "", ""),
        # By another name it is the same list, for all that is known.
        ("def f(ce, x):\n ce.append(x)\n", "ce.append(x)", "x"),
        ("def f(ce, x):\n ce.append(x)\n ce.append(1)\n", "", ""),
    ],
    ids=["local", "local_alone", "other_key", "other_key_alone", "any_key", "other_class", "alias", "two_aliases"],
)
def test_statement_must_lead_to_the_container(source: str, statement: str, expression: str, tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text(source, encoding="utf-8")
    root: Any = Metrics()
    holder = holder_of_first(search(root, appended(root.parts["ce"]), (str(file),)))
    assert told_of(file, holder)[:2] == (statement, expression)


@pytest.mark.parametrize(
    ("statement", "expression"),
    [
        ("t.kept.append((i, x))", "x"),
        ("t.kept.append((i, x, max_x))", ""),
        ("t.kept.append(make(i, x))", ""),
        ("t.kept.append(pair)", ""),
        ("t.kept.extend([(i, x)])", ""),
    ],
    ids=["element", "element_that_a_later_word_ends_in", "call", "name", "all_of_a_list"],
)
def test_expression_is_the_tensor_itself_or_none(statement: str, expression: str, tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text(f"def f(t, i, x):\n    {statement}\n", encoding="utf-8")
    root: Any = types.SimpleNamespace(kept=[])

    def keep() -> list[int]:
        tensor = torch.zeros(4)
        root.kept.append((0, tensor))
        return [tensor._cdata]

    holder = holder_of_first(search(root, keep, (str(file),)))
    assert (holder["text"], holder["expression"]) == (statement, expression)


def test_hook_whose_handle_is_removed_keeps_nothing(tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    lines = [
        "def evaluate(layer, hook):",
        "    handle = layer.register_forward_hook(hook)",
        "    handle.remove()",
        "def train(layer, hook):",
        "    layer.register_forward_hook(hook)",
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    root: Any = types.SimpleNamespace(layer=torch.nn.Linear(4, 4))

    def keep() -> list[int]:
        for _ in range(STEPS):
            root.layer.register_forward_hook(lambda *_: None)
        return []

    holders = search(root, keep, (str(file),))["holders"]
    assert [(holder["text"], holder["line"]) for holder in holders][:1] == [("layer.register_forward_hook(hook)", 5)]


def hooks_on(root: Any) -> None:
    root.layer.weight.register_hook(lambda gradient: gradient)


def modules_in(root: Any) -> None:
    root.layer.add_module(f"head_{len(root.layer._modules)}", torch.nn.Linear(2, 2))


def groups_of(root: Any) -> None:
    root.optimizer.add_param_group({"params": [torch.zeros(2, requires_grad=True)]})


@pytest.mark.parametrize(
    ("fill", "statement", "label"),
    [
        (hooks_on, "weight.register_hook(print)", "._backward_hooks"),
        (modules_in, "layer.add_module('head', 0)", "._modules"),
        (groups_of, "optimizer.add_param_group({})", ".param_groups"),
    ],
)
def test_tables_of_torch_are_filled_by_its_methods(
    fill: Callable[[Any], None], statement: str, label: str, tmp_path: Any
) -> None:
    file = tmp_path / "training.py"
    others = ["layer.register_forward_hook(print, 1).remove", "state.append(1)", "layer.add_module"]
    file.write_text("def f(layer, weight, optimizer):\n    " + "\n    ".join([statement, *others]), encoding="utf-8")
    layer = torch.nn.Linear(4, 4)
    root: Any = types.SimpleNamespace(layer=layer, optimizer=torch.optim.SGD([layer.weight]))
    fill(root)  # a table that is there grows

    def keep() -> list[int]:
        for _ in range(STEPS):
            fill(root)
        return []

    holders = search(root, keep, (str(file),))["holders"]
    assert [holder["text"] for holder in holders if label in holder["path"]][:1] == [statement]


@pytest.mark.parametrize(("is_replaced", "way"), [(False, ".param_groups"), (True, ".state")])
def test_parameter_that_its_group_lists_is_not_the_states(is_replaced: bool, way: str) -> None:
    root: Any = types.SimpleNamespace(optimizer=torch.optim.SGD([torch.zeros(2, requires_grad=True)], momentum=0.9))

    def keep() -> list[int]:
        parameter = torch.zeros(2, requires_grad=True)
        root.optimizer.add_param_group({"params": [parameter]})
        root.optimizer.state[parameter]["momentum_buffer"] = torch.zeros(2)
        if is_replaced:
            root.optimizer.param_groups[-1]["params"] = [torch.zeros(2, requires_grad=True)]
        return [parameter._cdata]

    holder = holder_of_first(search(root, keep))
    assert f".optimizer (SGD) {way}" in holder["path"]


def test_item_of_a_dict_is_kept_by_the_statement_of_its_key(tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text("def f(t, d, g):\n    t.kept['d'] += d.item()\n    t.kept['g'] += g\n", encoding="utf-8")
    root: Any = types.SimpleNamespace(kept={"d": 0.0})

    def keep() -> list[int]:
        root.kept["g"] = torch.zeros(4)
        return [root.kept["g"]._cdata]

    holder = holder_of_first(search(root, keep, (str(file),)))
    assert (holder["text"], holder["expression"]) == ("t.kept['g'] += g", "g")


@pytest.mark.parametrize("line", [3, 5])
def test_statement_that_the_tensor_was_born_in_is_what_keeps_it(line: int, tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    lines = [
        "def f(t, v):",
        "    if t.mean is None:",
        "        t.mean = v",
        "    else:",
        "        t.mean = 0.9 * t.mean + v",
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    root: Any = types.SimpleNamespace(mean=None)

    def keep() -> list[int]:
        root.mean = torch.zeros(4)
        return [root.mean._cdata]

    holder = holder_of_first(search(root, keep, (str(file),), frozenset({line})))
    assert holder["line"] == line


def test_sources_that_cannot_be_read_are_passed_over(tmp_path: Any) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("def (:\n", encoding="utf-8")
    root: Any = types.SimpleNamespace(kept=[])
    holder = holder_of_first(search(root, appended(root.kept), (str(broken), "/nowhere/at_all.py")))
    assert holder["file"] == __file__


# --- containers that grew ---------------------------------------------------------------------------------------------


def test_container_that_gained_most_comes_first() -> None:
    root: Any = types.SimpleNamespace(numbers=[0.0], texts=["x" * 10_000])

    def keep() -> list[int]:
        for i in range(STEPS):
            root.numbers += [float(i), float(i)]
            root.texts.append(str(i) * 10_000)
        return []

    assert search(root, keep)["holders"][0]["path"].endswith(f".texts (list, len {1 + STEPS})")


@pytest.mark.parametrize("entries", [1, 2])
def test_container_that_gained_now_and_then_is_one_where_it_can_be_weighed(entries: int) -> None:
    root: Any = types.SimpleNamespace(blobs=[bytes(10_000)], unknown=[object()])

    def keep() -> list[int]:
        root.blobs += [bytes(10_000) for _ in range(entries)]
        root.unknown += [memoryview(b"") for _ in range(entries)]
        return []

    paths = [holder["path"] for holder in search(root, keep)["holders"]]
    assert any(".blobs" in path for path in paths) == (entries > 1)
    assert not any(".unknown" in path for path in paths)


@pytest.mark.parametrize("is_another", [False, True])
def test_container_that_was_born_meanwhile_has_not_grown(is_another: bool) -> None:
    """Also where it has the `id` of one that is gone."""
    root: Any = types.SimpleNamespace(batch=[0.5])

    def keep() -> list[int]:
        if is_another:
            gone, root.batch = id(root.batch), None
            root.batch = []  # of the interpreter's free list
            assert id(root.batch) == gone
        root.batch += [float(i) for i in range(2 * STEPS)]
        return []

    assert any(".batch" in holder["path"] for holder in search(root, keep)["holders"]) != is_another


def test_container_that_grew_in_a_cycle_is_unreachable() -> None:
    box = [Keeper([torch.zeros(4)])]
    box[0].kept.append(box[0])

    def keep() -> list[int]:
        return appended(box.pop().kept)()

    found = search(None, keep)
    assert found["unreachable"] == set(found["addresses"])
    gc.collect()


def test_dict_that_the_collector_does_not_track_grows() -> None:
    root: Any = types.SimpleNamespace(answers={0: b"0"})

    def keep() -> list[int]:
        root.answers.update({i: str(i).encode() for i in range(STEPS + 1)})
        assert not gc.is_tracked(root.answers)
        return []

    assert any(".answers (dict" in holder["path"] for holder in search(root, keep)["holders"])


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
