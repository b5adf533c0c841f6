# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The statement by which an object of a library keeps something: of torch's, and of Python's own."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import signal
import types
import weakref
from collections import UserDict
from collections.abc import Callable
from typing import Any

import pytest
import torch
from holder_search import STEPS, holder_of_first, search


def holders_of_hooks(file: Any) -> list[dict[str, Any]]:
    """Of a layer that gets one more in each step, with a file in which that may be done."""
    root: Any = types.SimpleNamespace(layer=torch.nn.Linear(4, 4))

    def keep() -> list[int]:
        for _ in range(STEPS):
            root.layer.register_forward_hook(lambda *_: None)
        return []

    holders: list[dict[str, Any]] = search(root, keep, (str(file),))["holders"]
    return holders


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
    holders = holders_of_hooks(file)
    assert [(holder["text"], holder["line"]) for holder in holders][:1] == [("layer.register_forward_hook(hook)", 5)]


def test_hook_whose_removal_an_error_may_pass_over_is_named_where_no_other_is(tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text(
        "def recording(layer, hook):\n    handle = layer.register_forward_hook(hook)\n    yield\n    handle.remove()\n",
        encoding="utf-8",
    )
    holder = holders_of_hooks(file)[0]
    assert (holder["text"], holder["line"]) == ("handle = layer.register_forward_hook(hook)", 2)


@pytest.mark.parametrize(
    "keeping",
    [
        "self.handles.append(layer.register_forward_hook(hook))",
        "self.handles = [layer.register_forward_hook(hook) for layer in layers]",
        "self.handles += [layer.register_forward_hook(hook)]",
    ],
)
def test_hook_whose_handle_is_put_away_is_named_where_it_is_registered(keeping: str, tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    lines = [
        "class Probe:",
        "    def __init__(self, layers, hook):",
        "        for layer in layers:",
        f"            {keeping}",
        "def evaluate(layers, hook):",
        "    handles = []",
        "    for layer in layers:",
        "        handles.append(layer.register_forward_hook(hook))",
        "    for handle in handles:",
        "        handle.remove()",
        "    layers[0].register_forward_hook(hook).remove()",
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    holder = holders_of_hooks(file)[0]
    assert (holder["text"], holder["line"]) == (keeping, 4)


class Norm(torch.nn.Module):
    """Has a buffer and a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.scale = torch.nn.Parameter(torch.ones(4))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("self.mean = 0.9 * self.mean + x", "self.mean = 0.9 * self.mean + x"),
        # Another's attribute of that name, and another buffer: what registers it is all that is known.
        ("self.deviation = 0.9 * self.mean + x", "self.register_buffer('mean', None)"),
        ("mean = x", "self.register_buffer('mean', None)"),
    ],
)
def test_buffer_of_a_module_is_kept_by_what_assigns_it(statement: str, expected: str, tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    lines = [
        "class Norm:",
        "    def __init__(self):",
        "        self.register_buffer('mean', None)",
        "    def forward(self, x):",
        f"        {statement}",
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    root: Any = types.SimpleNamespace(norm=Norm())

    def keep() -> list[int]:
        root.norm.mean = torch.ones(4)
        return [root.norm.mean._cdata]

    holder = holder_of_first(search(root, keep, (str(file),)))
    assert ".mean" in holder["path"]
    assert holder["text"] == expected


def hooks_on(root: Any) -> None:
    root.layer.weight.register_hook(lambda gradient: gradient)


def modules_in(root: Any) -> None:
    root.layer.add_module(f"head_{len(root.layer._modules)}", torch.nn.Linear(2, 2))


def groups_of(root: Any) -> None:
    root.optimizer.add_param_group({"params": [torch.zeros(2, requires_grad=True)]})


class Window(logging.Handler):
    """Keeps the newest values."""

    def __init__(self, values: torch.Tensor) -> None:
        super().__init__()
        self.values = values


def handlers_of(root: Any) -> None:
    root.logger.addHandler(Window(torch.zeros(2)))


def callbacks_of(root: Any) -> None:
    root.stack.callback(print, torch.zeros(2))


@pytest.mark.parametrize(
    ("fill", "statement", "label"),
    [
        (handlers_of, "logger.addHandler(0)", ".handlers"),
        (callbacks_of, "stack.callback(print)", "._exit_callbacks"),
        (hooks_on, "weight.register_hook(print)", "._backward_hooks"),
        (modules_in, "layer.add_module('head', 0)", "._modules"),
        (groups_of, "optimizer.add_param_group({})", ".param_groups"),
    ],
)
def test_tables_of_libraries_are_filled_by_their_methods(
    fill: Callable[[Any], None], statement: str, label: str, tmp_path: Any
) -> None:
    file = tmp_path / "training.py"
    others = ["layer.register_forward_hook(print, 1).remove", "state.append(1)", "layer.add_module"]
    others += ["logger.removeHandler(0)", "logger.addHandler", "stack.pop_all()", "state.callback"]
    file.write_text(
        "def f(layer, weight, optimizer, logger, stack):\n    " + "\n    ".join([statement, *others]), encoding="utf-8"
    )
    layer = torch.nn.Linear(4, 4)
    root: Any = types.SimpleNamespace(layer=layer, optimizer=torch.optim.SGD([layer.weight]))
    root.logger, root.stack = logging.Logger("training"), contextlib.ExitStack()
    fill(root)  # a table that is there grows

    def keep() -> list[int]:
        for _ in range(STEPS):
            fill(root)
        return []

    holders = search(root, keep, (str(file),))["holders"]
    assert [holder["text"] for holder in holders if label in holder["path"]][:1] == [statement]


class Sample:
    """What a weak dictionary has for a key."""


@pytest.mark.parametrize("make", [weakref.WeakKeyDictionary, UserDict, types.SimpleNamespace])
def test_wrapper_is_filled_like_the_container_in_it(make: Callable[[], Any], tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text("def f(t, sample, x):\n    t.features[sample] = (sample, x)\n", encoding="utf-8")
    root: Any = types.SimpleNamespace(features=make())
    if make is types.SimpleNamespace:
        root.features.data = {}

    def keep() -> list[int]:
        tensors = []
        for _ in range(STEPS):
            sample, tensor = Sample(), torch.zeros(2)
            (root.features.data if make is types.SimpleNamespace else root.features)[sample] = (sample, tensor)
            tensors.append(tensor._cdata)
        return tensors

    holder = holder_of_first(search(root, keep, (str(file),)))
    assert (holder["file"] == str(file)) is (make is not types.SimpleNamespace)


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


def filling_states(optimizer: Any, list_it: Callable[[torch.Tensor], None] = lambda _: None) -> Callable[[], list[int]]:
    def keep() -> list[int]:
        addresses = []
        for _ in range(STEPS):
            parameter, buffer = torch.zeros(2, requires_grad=True), torch.zeros(2)
            list_it(parameter)
            optimizer.state[parameter]["momentum_buffer"] = buffer
            addresses.append(buffer._cdata)
        return addresses

    return keep


@pytest.mark.parametrize("is_replaced", [False, True], ids=["listed", "in_no_group"])
def test_state_of_a_parameter_that_a_group_lists_is_kept_by_what_adds_the_group(
    is_replaced: bool, tmp_path: Any
) -> None:
    file = tmp_path / "training.py"
    file.write_text(
        "class T:\n def __init__(self, o):\n  o.add_param_group({'params': [1]})\n"
        " def grow(self, o):\n  o.add_param_group({'params': [2]})\n",
        encoding="utf-8",
    )
    root: Any = types.SimpleNamespace(optimizer=torch.optim.SGD([torch.zeros(2, requires_grad=True)], momentum=0.9))

    def add_group(parameter: torch.Tensor) -> None:
        root.optimizer.add_param_group({"params": [parameter]})
        if is_replaced:
            root.optimizer.param_groups[-1]["params"] = []

    holder = holder_of_first(search(root, filling_states(root.optimizer, add_group), (str(file),)))
    assert holder["text"] == ("" if is_replaced else "o.add_param_group({'params': [2]})")
    assert holder["calls"] == ([] if is_replaced else ["add_param_group"])


@pytest.mark.parametrize(
    ("born_in", "text"), [(3, "self.optimizer.param_groups[0]['params'] = [1]"), (5, "self.optimizer.state[p] = state")]
)
def test_state_is_not_kept_where_another_function_moves_some(born_in: int, text: str, tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text(
        "class T:\n def replace(self):\n  self.optimizer.param_groups[0]['params'] = [1]\n"
        " def move(self, p, state):\n  self.optimizer.state[p] = state\n"
        " def shrink(self):\n  self.optimizer.param_groups[0]['params'] = []\n",
        encoding="utf-8",
    )
    root: Any = types.SimpleNamespace(optimizer=torch.optim.SGD([torch.zeros(2, requires_grad=True)], momentum=0.9))

    holder = holder_of_first(search(root, filling_states(root.optimizer), (str(file),), born_in=frozenset({born_in})))
    assert holder["text"] == text


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("def configure(log):\n    log.addHandler(MemoryHandler(capacity=50))\n", 2),
        ("import logging\nlog.addHandler(logging.handlers.MemoryHandler(50))\n", 2),
        # Which of two is not known, and a handler of the user's own is filled by its own code.
        ("def configure(a, b):\n    a.addHandler(MemoryHandler(1))\n    b.addHandler(MemoryHandler(2))\n", 0),
        ("class MemoryHandler: ...\ndef configure(log):\n    log.addHandler(MemoryHandler(capacity=50))\n", 0),
    ],
    ids=["in_a_function", "at_the_top", "two_of_them", "the_users_own"],
)
def test_object_of_a_library_that_fills_itself_is_told_by_what_makes_it(source: str, line: int, tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text(source, encoding="utf-8")
    log = logging.Logger("training")
    log.addHandler(logging.handlers.MemoryHandler(capacity=10_000))

    def keep() -> list[int]:
        for i in range(STEPS):
            log.warning("%s", torch.zeros(4 + i))
        return []

    holder = next(h for h in search(types.SimpleNamespace(log=log), keep, (str(file),))["holders"] if h["path"])
    assert holder["line"] == line
    assert holder["file"] == (str(file) if line else "")


def test_handler_of_a_signal_is_told_by_what_sets_it(tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text("import signal\ndef install(handler):\n    signal.signal(signal.SIGUSR2, handler)\n")
    before = signal.getsignal(signal.SIGUSR2)

    def install(state: torch.Tensor) -> None:
        previous = signal.getsignal(signal.SIGUSR2)

        def handler(number: int, frame: Any) -> None:
            print(state, previous)

        signal.signal(signal.SIGUSR2, handler)

    def keep() -> list[int]:
        states = [torch.zeros(4) for _ in range(STEPS)]
        for state in states:
            install(state)
        return [state._cdata for state in states]

    try:
        holder = holder_of_first(search(types.SimpleNamespace(), keep, (str(file),)))
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert holder["path"].startswith("signal.getsignal(SIGUSR2)")
    assert holder["line"] == 3
