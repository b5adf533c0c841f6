# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The statement that keeps a tensor, or fills the container that does, and near misses beside it."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import holder_search
import pytest
import torch
from holder_search import STEPS, appended, holder_of_first, search
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
        # A mark that ends a queue, say, is nothing that is made.
        (
            "class Metrics:\n def f(self):\n  self.parts['ce'].append(None)\n  self.parts['ce'].append(self.ce())\n",
            "self.parts['ce'].append(self.ce())",
            "self.ce()",
        ),
        ("class Metrics:\n def f(self):\n  self.parts['ce'].append(None)\n", "self.parts['ce'].append(None)", ""),
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
        ("def f(ce, x, y):\n ce.append(x)\n ce.append(y)\n", "", ""),
    ],
    ids=[
        "local",
        "local_alone",
        "beside_a_mark",
        "mark_alone",
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
        ("t.kept.append((i, x, max_x))", "x"),
        ("t.kept.append((i, x, make(x)))", ""),
        ("t.kept.append(make(i, x))", ""),
        ("t.kept.append(pair)", ""),
        ("t.kept.extend([(i, x)])", ""),
    ],
    ids=[
        "element",
        "element_that_a_later_word_ends_in",
        "element_that_stands_there_again",
        "call",
        "name",
        "all_of_a_list",
    ],
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


BESIDE_ANOTHER = """
def evaluate(t):
    t.kept.append(loss())
def step(t, c):
    x = loss()
    {own}
def main(t):
    {called}
"""
"""`step()` is where survivors were born, in line 5."""

FORMS = {
    "t.kept += [x]": "",
    "t.kept[len(t.kept):] = [x]": "",
    "t.kept = t.kept + [x]": "",
    "t.kept = [*t.kept, x]": "",
    "h = t.kept; h.append(x)": "x",
    "h = t.kept; h += [x]": "",
    "list.append(t.kept, x)": "x",
    "c and t.kept.append(x)": "x",
    "_ = t.kept.append(x) if c else None": "x",
    "[t.kept.append(i) for i in [x]]": "",
    "getattr(t, 'kept').append(x)": "x",
    "c(lambda: t.kept.append(x))": "x",
}
OTHER_FORMS = [
    "t.kept = []",
    "t.kept = list(t.kept)",
    "t.kept[0] = x",
    "h = t.other; h.append(x)",
    "h = t.kept; h = []; h.append(x)",
    "list.append(t.other, x)",
    "c and t.other.append(x)",
    "_ = t.other.append(x) if c else None",
    "x = t.kept.append(x) if c else None",
    "[t.other.append(i) for i in [x]]",
    "getattr(t, 'other').append(x)",
    "getattr(t, c).append(x)",
]


def told_beside_another(own: str, called: str, tmp_path: Path) -> tuple[str, str, int]:
    file = tmp_path / "training.py"
    file.write_text(BESIDE_ANOTHER.format(own=own, called=called), encoding="utf-8")
    root: Any = types.SimpleNamespace(kept=[])
    return told_of(file, holder_of_first(search(root, appended(root.kept), (str(file),), frozenset({5}))))


@pytest.mark.parametrize("called", ["evaluate(t)", "step(t, 1)"])
@pytest.mark.parametrize(("own", "expression"), FORMS.items())
def test_statement_of_a_function_that_led_to_survivors_is_meant_and_none_elsewhere(
    own: str, expression: str, called: str, tmp_path: Path
) -> None:
    text, told, line = told_beside_another(own, called, tmp_path)
    keeping = own.rpartition("; ")[2].removeprefix("c(lambda: ")
    assert (text.rstrip(")"), told, line) == (keeping.rstrip(")"), expression, 6)


@pytest.mark.parametrize("own", OTHER_FORMS)
def test_statement_elsewhere_is_meant_where_that_of_survivors_adds_nothing(own: str, tmp_path: Path) -> None:
    assert told_beside_another(own, "evaluate(t)", tmp_path) == ("t.kept.append(loss())", "loss()", 3)


@pytest.mark.parametrize("own", ["t.keep(x)", "c and t.other.append(x)", "c = 'evaluate'"])
def test_statement_of_a_function_that_nothing_calls_is_not_meant(own: str, tmp_path: Path) -> None:
    assert told_beside_another(own, "step(t, 1)", tmp_path) == ("", "", 0)


@pytest.mark.parametrize("own", ["getattr(c, 'evaluate')(t)", "globals()['evaluate'](t)", "c(evaluate)", "evaluate(t)"])
def test_statement_of_a_function_that_something_may_call_is_meant(own: str, tmp_path: Path) -> None:
    assert told_beside_another(own, "step(t, 1)", tmp_path) == ("t.kept.append(loss())", "loss()", 3)


WITHIN_ANOTHER = """
def make(t):
    def evaluate():
        t.kept.append(loss())
    def step():
        x = loss()
        {own}
    return step, evaluate
"""


@pytest.mark.parametrize(("own", "line"), [("t.kept += [x]", 7), ("t.other += [x]", 4)])
def test_function_within_another_did_not_run_because_one_beside_it_did(own: str, line: int, tmp_path: Path) -> None:
    file = tmp_path / "training.py"
    file.write_text(WITHIN_ANOTHER.format(own=own), encoding="utf-8")
    root: Any = types.SimpleNamespace(kept=[])
    holder = holder_of_first(search(root, appended(root.kept), (str(file),), frozenset({6})))
    assert (holder["file"], holder["line"]) == (str(file), line)


@pytest.mark.parametrize(
    ("source", "born", "line"),
    [
        ("def plain(t):\n    t.kept.append(f())\nstep = lambda t: t.kept.append(f())\n", {3}, 3),
        ("def plain(t):\n    t.kept.append(f())\nstep = lambda t: t.other.append(f())\n", {3}, 0),
        ("class T:\n    step = lambda t: t.kept.append(f())\n", {2}, 2),
        ("class T:\n    step = lambda t: t.other.append(f())\n", {2}, 0),
        ("step = lambda t: t.kept.append(f())\n", set(), 1),
        ("t.kept.append(f())\n", set(), 0),
    ],
    ids=["ran", "ran_for_another", "of_a_class", "of_a_class_for_another", "alone", "no_lambda"],
)
def test_lambda_outside_of_functions_keeps_what_it_adds(source: str, born: set[int], line: int, tmp_path: Path) -> None:
    file = tmp_path / "training.py"
    file.write_text(source, encoding="utf-8")
    root: Any = types.SimpleNamespace(kept=[])
    holder = holder_of_first(search(root, appended(root.kept), (str(file),), frozenset(born)))
    assert told_of(file, holder)[2] == line


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


RESULTS_OF_PROGRAM = """
results_of_program = []
def keep_result_of_program(x):
    results_of_program.append({"x": x})
"""
KEEPING_RESULTS = """
import torch
from registry_of_program import keep_result_of_program{name}

def program_once():
    {own}
    x = torch.zeros(4)
    program_tensor(x)
    results_of_program.append({kept})

def program_main():
    for number in range(100):
        program_once()
        program_step()

program_main()
"""


@pytest.mark.parametrize(
    ("own", "name", "kept", "where"),
    [
        ("results_of_program = []", "", "keep_result_of_program(x)", "registry_of_program.py"),
        ("pass", ", results_of_program", '{"x": x}', "program.py"),
    ],
    ids=["of_its_own", "imported"],
)
def test_list_of_a_function_is_not_the_one_of_a_module_that_has_its_name(
    own: str, name: str, kept: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "registry_of_program.py").write_text(RESULTS_OF_PROGRAM, encoding="utf-8")
    try:
        found = found_in(KEEPING_RESULTS.format(own=own, name=name, kept=kept), tmp_path)
    finally:
        sys.modules.pop("registry_of_program", None)
    assert Path(found["holders"][0]["kept_by"]["file"]).name == where


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


POOL = """
import torch

class PoolOfProgram:
    def __init__(self):
        self.images_of_program = []
    def query(self, image, number):
        if len(self.images_of_program) < SIZE:
            self.images_of_program.append(image)
        elif number % 2:
            self.images_of_program.append(image)  # once it is full

def program_main():
    pool = PoolOfProgram()
    for number in range(100):
        image = torch.zeros(4)
        program_tensor(image)
        pool.query(image, number)
        program_step()

program_main()
"""


@pytest.mark.parametrize(("size", "line"), [(2, 11), (1000, 9)])
def test_what_fills_a_list_only_while_it_is_short_is_not_named_once_it_is_long(
    size: int, line: int, tmp_path: Path
) -> None:
    found = found_in(POOL.replace("SIZE", str(size)), tmp_path)
    holder = next(holder for holder in found["holders"] if holder["container"] >= 0)
    assert holder["kept_by"]["line"] == line, holder
