# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What bounds a container: the programs of structure_programs are run for some steps like a user's."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

import gc
import importlib.util
import itertools
import re
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from stepleak._core import frame_locals
from stepleak._graph import Graph
from stepleak._judge import judged
from stepleak._paths import End, Paths
from stepleak._renewed import ended
from stepleak._structure import Structure
from stepleak._user_code import UserCode
from structure_programs import Case, appending, keeper, method
from structure_programs.amounts import AMOUNTS
from structure_programs.any_removals import ANY_REMOVALS, HANDED_ON
from structure_programs.bounded import BOUNDED_BY_SOURCE, BOUNDED_BY_TYPE, QUEUES
from structure_programs.by_variable import BY_VARIABLE, OF_COMPREHENSIONS, STREAMS
from structure_programs.command_line import COMMAND_LINE
from structure_programs.drawn import DRAWN
from structure_programs.emptied import EXPIRING, RESET
from structure_programs.flags import FLAGS
from structure_programs.how_many import HOW_MANY
from structure_programs.in_loops import IN_LOOPS
from structure_programs.keyed import KEYED
from structure_programs.literals import LITERALS
from structure_programs.others import CACHES, RUNNING, UNKNOWN
from structure_programs.passed import PASSED_ON, TESTED
from structure_programs.raising import MATCHING, RAISING
from structure_programs.refuted import REFUTED
from structure_programs.renewed import RENEWED
from structure_programs.requests import REQUESTS
from structure_programs.selected import SELECTED
from structure_programs.set_by_name import SET_BY_NAME
from structure_programs.unbounded import UNBOUNDED
from structure_programs.used_up import POOLS, USED_UP
from structure_programs.withdrawn import WITHDRAWN

STEPS = 6
_numbers = itertools.count()

CASES = [
    *BOUNDED_BY_TYPE,
    *QUEUES,
    *BOUNDED_BY_SOURCE,
    *AMOUNTS,
    *DRAWN,
    *EXPIRING,
    *RESET,
    *FLAGS,
    *WITHDRAWN,
    *SELECTED,
    *USED_UP,
    *POOLS,
    *HOW_MANY,
    *RAISING,
    *MATCHING,
    *KEYED,
    *LITERALS,
    *BY_VARIABLE,
    *OF_COMPREHENSIONS,
    *STREAMS,
    *COMMAND_LINE,
    *PASSED_ON,
    *TESTED,
    *UNBOUNDED,
    *UNKNOWN,
    *REFUTED,
    *REQUESTS,
    *SET_BY_NAME,
    *ANY_REMOVALS,
    *HANDED_ON,
]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Callable[[str, str], ModuleType]]:
    """Writes sources to files and imports them."""
    loaded: list[str] = []

    def write_and_load(source: str, name: str) -> ModuleType:
        file = tmp_path / f"{name}.py"
        file.write_text(source)
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        loaded.append(name)
        spec.loader.exec_module(module)
        return module

    yield write_and_load
    for name in loaded:
        del sys.modules[name]


def structure_at(module: ModuleType, container: Any) -> Structure:
    """As the search for holders asks for it."""
    search = Paths(getattr(module, "step", None), [], frame_locals).to(container)
    assert search.end is End.FOUND, search.end
    path = Graph(frame_locals).add(search)
    return judged(path["chain"], sources(module)).structure


def sources(module: ModuleType) -> UserCode:
    """Of the program alone: other tests' sources are as good as the user's."""
    modules = {name: sys.modules[name] for name in (module.__name__, "other") if name in sys.modules}
    step = getattr(module, "step", None)
    entry = step.__code__ if step is not None else None
    return UserCode([], modules=modules, entry=entry, read_locals=frame_locals)


def check(case: Case, found: Structure) -> None:
    assert (found.kind, found.bound) == (case.kind, case.bound), found
    assert case.line in found.text
    assert bool(found.line) == bool(found.file) == bool(found.text)


def program(load: Callable[[str, str], ModuleType], case: Case) -> ModuleType:
    if case.other:
        load(case.other, "other")
    return load(case.source, f"program_{next(_numbers)}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_of_a_step(case: Case, load: Callable[[str, str], ModuleType]) -> None:
    module = program(load, case)
    for _ in range(STEPS):
        module.step()
    check(case, structure_at(module, eval(case.what, vars(module))))


NUMBERED = [
    Case("by its number", "kept = {}\ndef step(index):\n    kept[index] = [1]\n", "kept", "unbounded"),
    Case(
        "by a name made of it, handed on",
        "kept = {}\ndef keep(user):\n    kept[user] = [1]\ndef step(index):\n    keep(f'user {index}')\n",
        "kept",
        "unbounded",
    ),
    Case(
        "by what comes round again",
        "kept = {}\ndef step(index):\n    kept[index % 900] = [1]\n",
        "kept",
        "bounded",
        bound=900,
        line="kept[index % 900]",
    ),
    Case(
        "by what another function is handed",
        "kept = {}\ndef keep(index):\n    kept[index] = [1]\ndef step(index, rows=(1, 2)):\n    [keep(r + index % 900) for r in rows]\n",
        "kept",
        "keyed",
        line="kept[index]",
    ),
]


@pytest.mark.parametrize("case", NUMBERED, ids=lambda case: case.name)
def test_of_a_step_that_takes_its_number(case: Case, load: Callable[[str, str], ModuleType]) -> None:
    module = program(load, case)
    for index in range(STEPS):
        module.step(index)
    check(case, structure_at(module, module.kept))


@pytest.mark.parametrize("case", RENEWED, ids=lambda case: case.name)
def test_of_what_is_made_anew(case: Case, load: Callable[[str, str], ModuleType]) -> None:
    module = program(load, case)
    module.step()
    before = gc.get_objects()  # none of which may make room for others
    for _ in range(STEPS):
        module.step()
    born = frozenset(map(id, gc.get_objects())) - frozenset(map(id, before))
    del before
    entries = eval(case.what, vars(module))
    way = Paths(module.step, [], frame_locals).to(entries).objects
    if case.what.startswith("chain"):
        # As the search downwards finds it, from the oldest link on.
        way = Paths(module.step, [], frame_locals).to(module.chain).objects
        link = module.chain.head
        while link is not None:
            way.append(link)
            link = link.next
    check(case, ended(way, born, sources(module)))


LIBRARY = """
class Store:
    def __init__(self): self.stored_locations = {}
STORE = Store()
def param(name, value): STORE.stored_locations[name] = value
def clear_param_store(): STORE.stored_locations.clear()
def get_param_store(): return STORE
"""


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        ("if count % 400 == 0: library.clear_param_store()", "conditional"),
        ("if count % 400 == 0: library.get_param_store()", "unknown"),
        ("if count % 400 == 0: other.clear_param_store()", "unknown"),
    ],
)
def test_a_function_of_the_library_may_empty_what_it_keeps(
    program: str, kind: str, load: Callable[[str, str], ModuleType]
) -> None:
    library = load(LIBRARY, "library")
    source = "import library, math as other\ncount = 0\ndef step():\n    global count\n    count += 1\n"
    module = load(f"{source}    {program}\n    library.param(f'loc {{count}}', [1])\n", f"program_{next(_numbers)}")
    for _ in range(STEPS):
        module.step()
    structure = structure_at(module, library.STORE.stored_locations)
    assert structure.kind == kind, structure


USED = ["stack(self.kept)", "self.kept[-1].backward()", "stack(*self.kept)", "for x in self.kept: x.backward()"]
OF_NUMBERS = [
    "print(sum(self.kept) / len(self.kept))",
    "print(f'{self.kept[-1]:.3f}')",
    "if self.kept: self.kept.clear()",
]


@pytest.mark.parametrize(("line", "is_used"), [(line, True) for line in USED] + [(line, False) for line in OF_NUMBERS])
def test_whether_numbers_would_do(line: str, is_used: bool, load: Callable[[str, str], ModuleType]) -> None:
    source = keeper(appending() + method("show", line), after="stack = print")
    module = load(source, f"structure_program_{next(_numbers)}")
    module.step()
    search = Paths(module.step, [], frame_locals).to(module.keeper.kept)
    chain = Graph(frame_locals).add(search)["chain"]
    assert judged(chain, sources(module)).are_items_used == is_used


@pytest.mark.parametrize("case", [*RUNNING, *IN_LOOPS], ids=lambda case: case.name)
def test_of_a_running_function(case: Case, load: Callable[[str, str], ModuleType]) -> None:
    module = program(load, case)
    found: list[Structure] = []

    def probe() -> None:
        frame = sys._getframe(1)
        while case.what not in dict(frame_locals(frame)):
            assert frame.f_back is not None
            frame = frame.f_back
        # The search would find it here, in variables of the test.
        chain, function = [dict(frame_locals(frame))[case.what]], frame.f_code.co_name
        found.append(judged(chain, sources(module), case.what, function).structure)

    vars(module)["main"](probe)
    check(case, found[0])


@pytest.mark.parametrize("case", CACHES, ids=lambda case: case.name)
def test_of_a_cache(case: Case, load: Callable[[str, str], ModuleType]) -> None:
    import gc

    module = program(load, case)
    for _ in range(STEPS):
        module.step()
    wrapper = eval(case.what[1:], vars(module))
    cache = next(o for o in gc.get_referents(wrapper) if type(o) is dict and len(o) == STEPS)
    check(case, judged([vars(module), wrapper, cache], sources(module)).structure)


def test_file_that_cannot_be_parsed_makes_it_unknown(load: Callable[[str, str], ModuleType], tmp_path: Path) -> None:
    module = load("losses = []\ndef step():\n    losses.append([1])\n", "program_beside")
    broken = tmp_path / "broken.py"
    broken.write_text("losses = [\n")
    module.step()
    search = Paths(module.step, [], frame_locals).to(module.losses)
    chain = Graph(frame_locals).add(search)["chain"]
    modules = {module.__name__: module}
    assert judged(chain, UserCode([], modules=modules)).structure.kind == "unbounded"
    assert judged(chain, UserCode([], [str(broken)], modules)).structure.kind == "unknown"


@pytest.mark.parametrize(
    ("imports", "kind"), [("", "unbounded"), ("import other", "reset"), ("import others", "unbounded")]
)
def test_what_stands_apart_matters_where_a_file_that_does_not_names_it(
    load: Callable[[str, str], ModuleType], imports: str, kind: str
) -> None:
    other = load("class Forget:\n    def __call__(self, run): run.losses.clear()\nforget = Forget()", "other")
    load("", "others")
    module = load(f"{imports}\nlosses = []\ndef step():\n    losses.append([1])\n", "program_of_the_step")
    module.step()
    chain = Graph(frame_locals).add(Paths(module.step, [], frame_locals).to(module.losses))["chain"]
    modules = {module.__name__: module, "other": other}
    assert judged(chain, UserCode([], modules=modules)).structure.kind == "reset"
    assert judged(chain, UserCode([], modules=modules, apart=[str(other.__file__)])).structure.kind == kind


@pytest.mark.parametrize(
    ("main", "kind"),
    [
        ("", "unbounded"),
        ("from stepleak._syntax import Module, first_line", "unbounded"),
        ("def forget(module): module.losses.clear()", "unknown"),
        ("class Forget:\n    def __call__(self, module): module.losses.clear()", "unknown"),
    ],
)
def test_what_is_typed_in_makes_it_unknown(load: Callable[[str, str], ModuleType], main: str, kind: str) -> None:
    module = load("losses = []\ndef step():\n    losses.append([1])\n", "program_beside_what_is_typed_in")
    module.step()
    search = Paths(module.step, [], frame_locals).to(module.losses)
    chain = Graph(frame_locals).add(search)["chain"]
    typed_in = ModuleType("__main__")
    exec(main, vars(typed_in))
    modules = {module.__name__: module, "__main__": typed_in}
    assert judged(chain, UserCode([], modules=modules)).structure.kind == kind


def test_container_of_a_library_is_never_unbounded(load: Callable[[str, str], ModuleType]) -> None:
    source = "import torch\nweight = torch.nn.Parameter(torch.zeros(2))\noptimizer = torch.optim.SGD([weight], momentum=0.9)\n"
    module = load(
        source + "def step():\n    optimizer.add_param_group({'params': [torch.zeros(1)]})\n", "program_of_library"
    )
    module.step()
    assert structure_at(module, module.optimizer.param_groups).kind == "unknown"


# Names of their own: the search knows the sources of all that is imported, other tests' too.
KEPT = [
    (
        "def add(self, x): self.filled_here.setdefault('a', []).append(x)",
        "self.filled_here = {}",
        "self.filled_here.setdefault('a', []).append(x)",
    ),
    (
        "def add(self, x): self.filled_here.update(**{f'k{len(self.filled_here)}': x})",
        "self.filled_here = {}",
        "self.filled_here.update(**{f'k{len(self.filled_here)}': x})",
    ),
    (
        "def add(self, x): self.filled_here = [*self.filled_here, x]",
        "self.filled_here = []",
        "self.filled_here = [*self.filled_here, x]",
    ),
    (
        "def add(self, x): self.count, self.filled_here = 1, self.filled_here + [x]",
        "self.filled_here = []",
        "self.count, self.filled_here = (1, self.filled_here + [x])",
    ),
    ("def add(self, x): self.waiting_here.put(x)", "self.waiting_here = queue.Queue()", "self.waiting_here.put(x)"),
    (
        "def add(self, x):\n    self.alias_here = self.filled_here\n    self.alias_here.append(x)",
        "self.filled_here = []",
        "self.alias_here.append(x)",
    ),
    (
        "def add(self, x):\n    (self.filled_here.append if self.count else self.filled_here.append)(x)",
        "self.filled_here = []",
        "",
    ),
    (
        "def add(self, x):\n    (a := self.filled_here).append(x); (b := self.filled_here).append(x)",
        "self.filled_here = []",
        "",
    ),
]


@pytest.mark.parametrize(("methods", "init", "statement"), KEPT, ids=[made for made, _, _ in KEPT])
def test_statement_that_fills_it_is_found(
    methods: str, init: str, statement: str, load: Callable[[str, str], ModuleType]
) -> None:
    from stepleak._holders import HolderSearch

    step = "x = torch.ones(1)\naddresses.append(x._cdata)\nkeeper.add(x)"
    module = load("import torch\naddresses = []\n" + keeper(methods, init, step), f"program_{next(_numbers)}")
    search = HolderSearch(module.step, frame_locals)
    search.begin()
    for _ in range(STEPS):
        module.step()
    assert module.__file__ is not None
    found = search.search(module.addresses, {module.__file__: set()}, STEPS)
    holder = found["holders"][found["holder_of"][module.addresses[0]]]
    assert holder["kept_by"]["text"] == statement


def test_search_for_holders_says_it(load: Callable[[str, str], ModuleType]) -> None:
    from stepleak._holders import HolderSearch

    module = load("unlikely_losses = []\ndef step():\n    unlikely_losses.append([1])\n", "program_searched")
    search = HolderSearch(module.step, frame_locals)
    search.begin()
    for _ in range(STEPS):
        module.step()
    holders = search.search([], {}, STEPS)["holders"]
    expected = {"kind": "unbounded", "bound": -1, "file": "", "line": 0, "text": ""}
    assert expected in [holder["structure"] for holder in holders]


OBJECTS = """
import numpy, torch
addresses = []
count = 0
slots = numpy.empty(40, dtype=object)
def step():
    global count, slots
    x = torch.ones(1)
    addresses.append(x._cdata)
    KEEP
    count += 1
"""


@pytest.mark.parametrize(
    ("keep", "kind", "bound"),
    [
        ("slots[count % 40] = x", "bounded", 40),
        ("slots = numpy.concatenate([slots, numpy.empty(1, dtype=object)]); slots[-1] = x", "unknown", -1),
    ],
)
def test_array_of_objects_is_bounded_unless_it_is_made_anew(
    keep: str, kind: str, bound: int, load: Callable[[str, str], ModuleType]
) -> None:
    from stepleak._holders import HolderSearch

    module = load(OBJECTS.replace("KEEP", keep), f"program_{next(_numbers)}")
    search = HolderSearch(module.step, frame_locals)
    search.begin()
    for _ in range(STEPS):
        module.step()
    found = search.search(module.addresses, {}, STEPS)
    holder = found["holders"][found["holder_of"][module.addresses[0]]]
    assert (holder["structure"]["kind"], holder["structure"]["bound"]) == (kind, bound)
    assert holder["free_entries"] == (40 - STEPS if kind == "bounded" else 0)


GROUPS = """
import torch
addresses = []
open_groups = {}
count = 0
def step():
    global count, open_groups
    REBUILD
    for _ in range(2):
        x = torch.ones(1)
        addresses.append(x._cdata)
        group = open_groups.setdefault(count, [])
        group.append(x)
        if len(group) == 4:
            open_groups.pop(count)
    count += 1
"""


@pytest.mark.parametrize("rebuild", ["pass", "open_groups = dict(open_groups)"], ids=["as_it_was", "made_anew"])
def test_bounded_lists_within_a_dict_that_grows_do_not_bound_it(
    rebuild: str, load: Callable[[str, str], ModuleType]
) -> None:
    from stepleak._holders import HolderSearch

    module = load(GROUPS.replace("REBUILD", rebuild), f"program_{next(_numbers)}")
    search = HolderSearch(module.step, frame_locals)
    search.begin()
    gc.freeze()
    try:
        for _ in range(STEPS):
            module.step()
        search.end()
    finally:
        gc.unfreeze()
    found = search.search(module.addresses[-1:], {}, STEPS)
    holder = found["holders"][found["holder_of"][module.addresses[-1]]]
    container = found["nodes"][holder["container"]]
    assert (container["type"], holder["structure"]["kind"] == "bounded") == ("dict", False)


def test_cache_of_regular_expressions_makes_room(load: Callable[[str, str], ModuleType]) -> None:
    module = load("def step():\n    pass\n", f"program_{next(_numbers)}")
    namespace: dict[str, Any] = vars(re)
    structure = judged([namespace, namespace["_cache"]], sources(module)).structure
    assert (structure.kind, structure.bound) == ("bounded", namespace["_MAXCACHE"])
    another = {"_cache": dict(namespace["_cache"])}
    assert judged([another, another["_cache"]], sources(module)).structure.kind != "bounded"


@pytest.mark.parametrize(
    "case", [*WITHDRAWN[:4], *SELECTED[:12], *USED_UP[:4], *POOLS[:2], *HOW_MANY[:13]], ids=lambda case: case.name
)
def test_nothing_stays_of_the_sources(case: Case, load: Callable[[str, str], ModuleType]) -> None:
    # The user's collector may be off, or be held back while we look.
    module = program(load, case)
    for _ in range(STEPS):
        module.step()
    path = Graph(frame_locals).add(Paths(module.step, [], frame_locals).to(eval(case.what, vars(module))))
    code = sources(module)
    is_kept = weakref.ref(code)
    gc.collect()
    gc.disable()
    try:
        judged(path["chain"], code)
        del code
        assert is_kept() is None
    finally:
        gc.enable()
