# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which statement of a source keeps what lies at a place, or calls or sets what is asked for."""

from __future__ import annotations

from typing import Any

import pytest
from stepleak._access import Access, Place
from stepleak._sources import Sources


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


@pytest.mark.parametrize("folder", ["site-packages", "beside"])
def test_statement_of_a_constructor_is_meant_where_the_others_are_a_packages(folder: str, tmp_path: Any) -> None:
    own, other = tmp_path / "test_own.py", tmp_path / folder / "runner.py"
    other.parent.mkdir()
    own.write_text(
        "class A:\n    def __init__(self):\n        self.end = weakref.finalize(self, f)\n", encoding="utf-8"
    )
    other.write_text("def f(fixture, x):\n    fixture.finalize(x)\n", encoding="utf-8")
    statement = Sources({str(own): set(), str(other): set()}).statement_keeping(at("finalize", "_registry"))
    is_own = statement["text"] == "self.end = weakref.finalize(self, f)"
    assert is_own == (folder == "site-packages"), statement


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
