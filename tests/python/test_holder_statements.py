# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The statement that keeps a tensor, or fills the container that does, and near misses beside it."""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import signal
import sys
import types
import weakref
from collections import UserDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import holder_search
import pytest
import torch
from holder_search import STEPS, appended, holder_of_first, search
from stepleak._access import Access, Place
from stepleak._sources import Sources
from watched_program import found_in


def told_of(file: Any, holder: dict[str, Any]) -> tuple[str, str, int]:
    """The statement of a file; where there is none, the holder names the one that fills it: that of `appended`."""
    if holder["file"] == str(file):
        return holder["text"], holder["expression"], holder["line"]
    assert (holder["file"], holder["text"]) == (holder_search.__file__, "container.append(tensor)")
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
        ("def f(t, x):\n    return lambda: t.kept.append(x)\n", "t.kept.append(x)", "x", 2),
        ("def f(t, x):\n    return lambda: t.other.append(x)\n", "", "", 0),
        ("kept = []\n", "", "", 0),
    ],
    ids=[
        *["append", "item", "add", "set_up_and_append", "other_name", "remove", "set_up_only"],
        *["lambda", "lambda_of_another", "outside_of_functions"],
    ],
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
        # The key is handed to a method of what holds the list.
        (
            "def f(m, x):\n m.parts.setdefault('l2', []).append(1)\n m.parts.setdefault('ce', []).append(x)\n",
            "m.parts.setdefault('ce', []).append(x)",
            "x",
        ),
        ("def f(m, x):\n m.parts.get('ce').append(x)\n", "m.parts.get('ce').append(x)", "x"),
        ("def f(m, x):\n m.parts.setdefault('l2', []).append(x)\n", "", ""),
        ("def f(m, x):\n m.others.setdefault('ce', []).append(x)\n", "", ""),
        # A class of another name keeps under the same one.
        ("class Other:\n def f(self, x):\n  self.parts['ce'].append(x)\n", "", ""),
        # What is done to an item of something else is not done to the list.
        (
            "def f(parts, x):\n parts['l2'] += 1\n kept = parts['ce']\n kept.append(x)\n",
            "",
            "",
        ),
        # By another name it is the same list, for all that is known.
        ("def f(ce, x):\n ce.append(x)\n", "ce.append(x)", "x"),
        ("def f(ce, x):\n ce.append(x)\n ce.append(1)\n", "", ""),
    ],
    ids=[
        "local",
        "local_alone",
        "other_key",
        "other_key_alone",
        "any_key",
        "setdefault",
        "get",
        "setdefault_of_another_key",
        "setdefault_of_another",
        "other_class",
        "item",
        "alias",
        "two_aliases",
    ],
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


def test_hook_whose_removal_an_error_may_pass_over_is_named_where_no_other_is(tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text(
        "def recording(layer, hook):\n    handle = layer.register_forward_hook(hook)\n    yield\n    handle.remove()\n",
        encoding="utf-8",
    )
    root: Any = types.SimpleNamespace(layer=torch.nn.Linear(4, 4))

    def keep() -> list[int]:
        for _ in range(STEPS):
            root.layer.register_forward_hook(lambda *_: None)
        return []

    holder = search(root, keep, (str(file),))["holders"][0]
    assert (holder["text"], holder["line"]) == ("handle = layer.register_forward_hook(hook)", 2)


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

    def keep() -> list[int]:
        addresses = []
        for _ in range(STEPS):
            parameter, buffer = torch.zeros(2, requires_grad=True), torch.zeros(2)
            root.optimizer.add_param_group({"params": [parameter]})
            root.optimizer.state[parameter]["momentum_buffer"] = buffer
            if is_replaced:
                root.optimizer.param_groups[-1]["params"] = []
            addresses.append(buffer._cdata)
        return addresses

    holder = holder_of_first(search(root, keep, (str(file),)))
    assert holder["text"] == ("" if is_replaced else "o.add_param_group({'params': [2]})")
    assert holder["calls"] == ([] if is_replaced else ["add_param_group"])


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
    assert holder["file"] == holder_search.__file__


def attempt() -> None:
    loss = torch.rand(3)
    raise ValueError(loss.shape)


def test_error_is_kept_where_it_is_put_and_not_where_its_variables_are(tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text("def f(t, x):\n    loss = x\n    t.kept = error\n", encoding="utf-8")
    root = types.SimpleNamespace(kept=None)

    def keep() -> list[int]:
        addresses = []
        for _ in range(2):
            try:
                attempt()
            except ValueError as error:
                frame = error.__traceback__.tb_next.tb_frame  # type: ignore[union-attr]
                addresses.append(frame.f_locals["loss"]._cdata)
                error.__cause__, root.kept = root.kept, error
        return addresses

    holder = holder_of_first(search(root, keep, (str(file),)))
    assert (holder["file"], holder["text"]) == (str(file), "t.kept = error")


def statements_at(place: Place, source: str, tmp_path: Any) -> str:
    file = tmp_path / "training.py"
    file.write_text(source, encoding="utf-8")
    text: str = Sources({str(file): set()}).statement_keeping(place)["text"]
    return text


def at(*labels: str, owners: frozenset[str] = frozenset(), beyond: bool = False) -> Place:
    """Of a container behind attributes, the last of which is one of an object of such classes."""
    way = [Access("variable", labels[0]), *(Access("attribute", label, owners) for label in labels[1:])]
    return Place(way, [Access("key", "'x'")] if beyond else [], is_container=True)


@pytest.mark.parametrize(
    ("place", "source", "text"),
    [
        (at("encode", "registry"), "def f(t):\n    @encode.register(t)\n    def _(x): ...\n", "@encode.register(t)"),
        (at("encode", "registry"), "@encode.register(dict)\ndef _(x): ...\n", ""),
        (at("encode", "registry"), "def f(t):\n    @encode.dispatch(t)\n    def _(x): ...\n", ""),
        (
            at("s", "_exit_callbacks"),
            "def f(s):\n    a = s.enter_context(1)\n    b = s.push(2)\n",
            "a = s.enter_context(1)",
        ),
        (at("s", "_exit_callbacks"), "def f(s):\n    s.push(1)\ndef g(s):\n    s.push(2)\n", ""),
        (at("p", "_hooks"), "def f(p):\n    return p.register_hook(g)\n", "return p.register_hook(g)"),
        (at("p", "_hooks"), "def f(p):\n    p._register_state_dict_hook(g)\n", "p._register_state_dict_hook(g)"),
        (
            Place([*at("s", "map", "maps").way, Access("index", "8")], [], is_container=True),
            "def f(s):\n    s.map = s.map.new_child({})\n",
            "s.map = s.map.new_child({})",
        ),
        (at("s", "kept"), "def f(s):\n    s.kept = OrderedDict()\n", ""),
        (at("s", "kept"), "def f(s):\n    s.kept = defaultdict(list)\n", ""),
        (at("s", "kept"), "def f(s, x):\n    s.kept = OrderedDict(x)\n", "s.kept = OrderedDict(x)"),
        (
            at("s", "inbox", "queue", owners=frozenset({"Queue"})),
            "def f(s, x):\n    s.inbox.put(x)\n",
            "s.inbox.put(x)",
        ),
        (at("s", "inbox", "queue", owners=frozenset({"Mine"})), "def f(s, x):\n    s.inbox.put(x)\n", ""),
        (at("kept"), "def f(x):\n    add(kept, x)\n    kept.append(x)\n", "kept.append(x)"),
        (at("e", "_waiters"), "async def f(e):\n    await e.wait()\n", "await e.wait()"),
        (at("kept"), "def f(k):\n    kept[k, 1] += 1\n", "kept[k, 1] += 1"),
        (at("kept"), "def f(k):\n    kept['one'] += 1\n", ""),
        (at("kept"), "def f(k):\n    kept[k] = {'a': 1}\n", "kept[k] = {'a': 1}"),
        (at("kept"), "def f(k):\n    global kept\n    kept = {'a': 1}\n", ""),
        (
            at("net", "layers", "_modules", owners=frozenset({"ModuleList"})),
            "def f(net):\n    net.layers.append(g())\n",
            "net.layers.append(g())",
        ),
        (
            at("net", "layers", "_modules", owners=frozenset({"Net"})),
            "def f(net):\n    net.layers.append(g())\n",
            "",
        ),
        (Place([Access("attribute", "_modules", frozenset({"ModuleList"}))], [], True), "def f(x):\n    x.g()\n", ""),
    ],
)
def test_statement_that_fills_a_container_of_a_library(place: Place, source: str, text: str, tmp_path: Any) -> None:
    assert statements_at(place, source, tmp_path) == text


@pytest.mark.parametrize(("value", "text"), [("Span(current.get())", "current.set(Span(current.get()))"), ("None", "")])
def test_statement_that_sets_a_context_variable(value: str, text: str, tmp_path: Any) -> None:
    place = Place([Access("variable", "current")], [], is_container=False)
    assert statements_at(place, f"def f():\n    current.set({value})\n", tmp_path) == text


TWO_TOTALS = """
def first(x):
    total = 0
    def step():
        nonlocal total
        total = total + x
def second(x):
    total = 0
    for _ in range(9):
        total += x
"""


@pytest.mark.parametrize(
    ("line", "source", "text"),
    [
        (2, TWO_TOTALS, "total = total + x"),
        (4, TWO_TOTALS, "total = total + x"),
        (7, TWO_TOTALS, "total += x"),
        (20, TWO_TOTALS, "total += x"),
        (20, TWO_TOTALS.replace("total += x", "total = total.sum()"), ""),
    ],
)
def test_statement_of_a_variable_is_one_of_its_function(line: int, source: str, text: str, tmp_path: Any) -> None:
    place = Place([Access("variable", "total", scope=("training.py", line))], [], is_container=False)
    assert statements_at(place, source, tmp_path) == text


@pytest.mark.parametrize(
    ("source", "lines", "text"),
    [
        ("def f(t):\n    t.sum += g().detach()\ndef h(t):\n    t.sum = t.sum + g()\n", {2, 4}, "t.sum = t.sum + g()"),
        ("def f(t):\n    t.sum += g().detach()\ndef h(t):\n    t.sum = t.sum + g()\n", {2}, "t.sum += g().detach()"),
        ("def f(t):\n    t.sum += g()\ndef h(t):\n    t.sum = t.sum + g().item()\n", {2, 4}, "t.sum += g()"),
        ("def f(t):\n    t.sum += g()\ndef h(t):\n    t.sum = g()\n", {2, 4}, "t.sum += g()"),
    ],
)
def test_statement_of_a_sum_is_one_that_adds_there(source: str, lines: set[int], text: str, tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text(source, encoding="utf-8")
    root: Any = types.SimpleNamespace(sum=None)

    def keep() -> list[int]:
        root.sum = torch.zeros(4)
        return [root.sum._cdata]

    holder = holder_of_first(search(root, keep, (str(file),), frozenset(lines)))
    assert holder["text"] == text


def test_statement_of_another_function_is_meant_where_it_was_given_the_container(tmp_path: Any) -> None:
    place = Place([Access("variable", "kept", scope=("training.py", 5))], [], is_container=True)
    other = "def other(x):\n    kept = []\n    kept.append(x)\n"
    given = "def add(kept, x):\n    kept.append(2 * x)\ndef main(x):\n    kept = []\n    add(kept, x)\n"
    assert statements_at(place, other.replace("other", "main") + given, tmp_path) == "kept.append(2 * x)"


HANDED_OUT = """
def train(model, rnn, x):
    out, model.state = rnn(x, model.state)
    model.kept, out = x, out
"""


@pytest.mark.parametrize(
    ("name", "text", "expression"),
    [
        ("state", "out, model.state = rnn(x, model.state)", ""),
        ("kept", "model.kept, out = (x, out)", "x"),
        ("out", "", ""),
    ],
)
def test_one_of_several_targets_keeps_a_part_of_a_call(name: str, text: str, expression: str, tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text(HANDED_OUT, encoding="utf-8")
    place = Place([Access("variable", "model"), Access("attribute", name)], [], is_container=False)
    statement = Sources({str(file): set()}).statement_keeping(place)
    assert (statement["text"], statement["expression"]) == (text, expression)


PREPARED = """
def main(accelerator, model):
    model = accelerator.prepare(model)
    for phase in range(9):
        loader = accelerator.prepare(phase)
        accelerator.backward(loader)
"""


@pytest.mark.parametrize(("line", "text"), [(5, "loader = accelerator.prepare(phase)"), (2, "")])
def test_what_fills_a_library_is_the_call_in_which_that_was_made(line: int, text: str, tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text(PREPARED, encoding="utf-8")
    place = Place([Access("variable", "accelerator"), Access("attribute", "_loaders")], [], is_container=True)
    statement = Sources({str(file): {3, 5, 6}}).statement_calling_owner(place, [(str(file), line)])
    assert statement["text"] == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            "def reset(opt, net):\n    opt.param_groups[0]['params'] = list(net)\n",
            "opt.param_groups[0]['params'] = list(net)",
        ),
        ("def reset(opt, net):\n    opt.param_groups[0]['lr'] = 0.1\n", ""),
    ],
)
def test_statement_that_sets_an_item(source: str, text: str, tmp_path: Any) -> None:
    file = tmp_path / "training.py"
    file.write_text(source, encoding="utf-8")
    assert Sources({str(file): set()}).statement_setting_item("params")["text"] == text


def test_statement_of_a_wrapper_is_that_of_its_own_items_where_a_class_writes_them(tmp_path: Any) -> None:
    source = (
        "class Store(UserDict):\n    def touch(self, k):\n        self.data[k] = {'a': 1}\n"
        "class Server:\n    def __init__(self):\n        self.store = Store()\n"
    )
    place = at("server", "store", "data", owners=frozenset({"Store", "UserDict"}), beyond=True)
    assert statements_at(place, source, tmp_path) == "self.data[k] = {'a': 1}"


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


def test_statement_in_a_file_in_which_no_survivor_was_made(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    training, registry = tmp_path / "training.py", tmp_path / "registry.py"
    training.write_text("def step(x):\n    keep_in_registry(x)\n")
    registry.write_text("def keep_in_registry(registry, x):\n    registry.kept_in_registry[id(x)] = x\n")
    module = types.ModuleType("registry")
    module.__file__ = str(registry)
    exec(compile(registry.read_text(), str(registry), "exec"), vars(module))
    monkeypatch.setitem(sys.modules, "registry", module)
    root: Any = types.SimpleNamespace(kept_in_registry={})

    def keep() -> list[int]:
        tensors = [torch.zeros(4) for _ in range(STEPS)]
        for x in tensors:
            module.keep_in_registry(root, x)
        return [x._cdata for x in tensors]

    holder = holder_of_first(search(root, keep, (str(training),)))
    assert (holder["file"], holder["line"]) == (str(registry), 2)


REGISTRY_OF_PROGRAM = """
from collections import defaultdict
corruptions_of_program = defaultdict(list)
def corruption_of_program(kind):
    def wrap(function):
        corruptions_of_program[kind].append(function)
        return function
    return wrap
"""
REGISTERING = """
import torch
from registry_of_program import corruption_of_program, corruptions_of_program

def program_main():
    for number in range(100):
        pattern = torch.zeros(4)
        program_tensor(pattern)
        @corruption_of_program(("mask", "gauss")[number % 2])
        def apply(x):
            return x + pattern
        program_step()

program_main()
"""


def test_statement_in_a_file_in_which_nothing_was_made_is_found_by_the_name_of_its_dict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is written where the container is filled by another name."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "registry_of_program.py").write_text(REGISTRY_OF_PROGRAM, encoding="utf-8")
    try:
        found = found_in(REGISTERING, tmp_path)
    finally:
        sys.modules.pop("registry_of_program", None)
    statement = next(holder for holder in found["holders"] if holder["container"] >= 0)["kept_by"]
    assert (Path(statement["file"]).name, statement["text"]) == (
        "registry_of_program.py",
        "corruptions_of_program[kind].append(function)",
    )


ARRAY_OF_OBJECTS = """
import numpy, torch

class ProgramMemory:
    def __init__(self):
        self.cells_of_program = numpy.empty(PLACES, dtype=object)
    def add_in_program(self, number):
        cell = numpy.empty(1, dtype=object)
        cell[0] = torch.zeros(4)
        program_tensor(cell[0])
        KEEPS

def program_main():
    memory = ProgramMemory()
    for number in range(100):
        memory.add_in_program(number)
        program_step()

program_main()
"""


@pytest.mark.parametrize(
    ("places", "keeps"),
    [
        (0, "self.cells_of_program = numpy.append(self.cells_of_program, cell)"),
        (100, "self.cells_of_program[number] = cell[0]"),
    ],
)
def test_array_of_objects_is_kept_by_what_makes_it_longer_or_fills_it(places: int, keeps: str, tmp_path: Path) -> None:
    program = ARRAY_OF_OBJECTS.replace("PLACES", str(places)).replace("KEEPS", keeps)
    holder = next(h for h in found_in(program, tmp_path)["holders"] if h["container"] >= 0)
    assert holder["kept_by"]["text"] == keeps
