# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the command line loads: steps of users' files, and scenarios of a folder."""

from __future__ import annotations

import functools
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stepleak import _load, scenario
from stepleak._failure import format_exception


@pytest.fixture(autouse=True)
def clean_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Loading changes the process's paths, modules and registry; each test has its own."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(scenario, "_REGISTRY", {})
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        del sys.modules[name]


def written(folder: Path, text: str, name: str = "my_steps.py") -> str:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return str(file)


# --- load_step --------------------------------------------------------------------------------------------------------


def test_function_is_loaded(tmp_path: Path) -> None:
    file = written(tmp_path, "def step():\n    return 42\n")
    assert _load.load_step(file, "step")() == 42


def test_method_of_an_object_is_loaded(tmp_path: Path) -> None:
    file = written(tmp_path, "class T:\n    def step(self):\n        return 7\nclass U: pass\nt = U()\nt.inner = T()\n")
    assert _load.load_step(file, "t.inner.step")() == 7


def test_neighbours_of_the_file_are_importable(tmp_path: Path) -> None:
    written(tmp_path, "VALUE = 5\n", "my_neighbour.py")
    file = written(tmp_path, "from my_neighbour import VALUE\ndef step():\n    return VALUE\n")
    assert _load.load_step(file, "step")() == 5


def test_file_is_no_main_program(tmp_path: Path) -> None:
    file = written(tmp_path, "def step(): pass\nif __name__ == '__main__':\n    raise SystemExit('ran as a program')\n")
    assert callable(_load.load_step(file, "step"))


def test_dataclasses_of_the_file_work(tmp_path: Path) -> None:
    # They look their module up by name.
    text = (
        "from __future__ import annotations\nimport dataclasses\n@dataclasses.dataclass\nclass Step:\n    x: int = 1\n"
    )
    assert _load.load_step(written(tmp_path, text), "Step")().x == 1


def test_unknown_name_lists_what_is_there(tmp_path: Path) -> None:
    file = written(tmp_path, "def train(): pass\ndef evaluate(): pass\ndef _private(): pass\nnumber = 3\n")
    with pytest.raises(_load.UsageError, match="has no 'step'") as caught:
        _load.load_step(file, "step")
    assert caught.value.remedy == "callables there: evaluate, train"


def test_file_without_callables_says_so(tmp_path: Path) -> None:
    with pytest.raises(_load.UsageError) as caught:
        _load.load_step(written(tmp_path, "number = 3\n"), "step")
    assert caught.value.remedy == "callables there: none"


def test_what_is_no_callable_names_its_type(tmp_path: Path) -> None:
    with pytest.raises(_load.UsageError, match="is no callable, but of type int"):
        _load.load_step(written(tmp_path, "number = 3\n"), "number")


def test_error_of_the_file_passes_through(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        _load.load_step(written(tmp_path, "1 / 0\n"), "step")


# --- takes_index ------------------------------------------------------------------------------------------------------


class Trainer:
    def no_argument(self) -> None: ...

    def one_argument(self, index: int) -> None: ...

    def __call__(self, index: int) -> None: ...


def two_arguments(batch: Any, labels: Any) -> None: ...


def keyword_only(*, batch: Any) -> None: ...


@pytest.mark.parametrize(
    ("step", "wants"),
    [
        (lambda: None, False),
        (lambda index: None, True),
        (lambda index=0: None, False),
        (lambda index, extra=1: None, True),
        (lambda *args, **kwargs: None, False),
        (lambda index, *, extra=1: None, True),
        (Trainer().no_argument, False),
        (Trainer().one_argument, True),
        (Trainer(), True),
        (functools.partial(two_arguments, 1), True),
        (functools.partial(two_arguments, 1, 2), False),
        (functools.partial(two_arguments, 1, labels=2), False),
        (functools.partial(keyword_only, batch=1), False),
        (dict, False),
    ],
    ids=[
        "none",
        "one",
        "default",
        "one_and_default",
        "any",
        "one_and_keyword_default",
        "method",
        "method_one",
        "object",
        "partial_one",
        "partial_none",
        "partial_keyword",
        "partial_keyword_only",
        "builtin",
    ],
)
def test_index_is_handed_where_it_is_wanted(step: Callable[..., Any], wants: bool) -> None:
    assert _load.takes_index(step, "my_steps.py:step") is wants


@pytest.mark.parametrize("step", [two_arguments, keyword_only, functools.partial(keyword_only)])
def test_more_than_the_index_is_refused_with_a_way_out(step: Callable[..., Any]) -> None:
    with pytest.raises(_load.UsageError, match=r"my_steps.py:train needs arguments: batch") as caught:
        _load.takes_index(step, "my_steps.py:train")
    assert "step = lambda: train(...)" in caught.value.remedy


# --- the step of a scenario -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "wants"),
    [(lambda: None, False), (lambda index: None, True), (Trainer(), True)],
    ids=["none", "one", "object"],
)
def test_index_is_handed_to_a_scenarios_step_too(step: Callable[..., Any], wants: bool) -> None:
    assert _load.scenario_takes_index(step, "mine") is wants


async def _async_set_up(device: str) -> Callable[[], None]:
    return lambda: None


def _yielding_set_up(device: str) -> Iterator[Callable[[], None]]:
    yield lambda: None


@pytest.mark.parametrize(
    ("returned", "what", "remedy"),
    [
        (None, "the set-up of mine returned nothing, and no step", "`return step`"),
        (3, "the set-up of mine returned an object of type int", "`return step`"),
        (_yielding_set_up("cpu"), "the set-up of mine did not run", "`def mine(device)`"),
        (two_arguments, "mine:two_arguments needs arguments: batch, labels", "step = lambda: two_arguments(...)"),
    ],
    ids=["nothing", "number", "generator", "arguments"],
)
def test_what_is_no_step_is_refused_with_a_way_out(returned: Any, what: str, remedy: str) -> None:
    with pytest.raises(_load.UsageError) as caught:
        _load.scenario_takes_index(returned, "mine")
    assert caught.value.what.startswith(what)
    assert remedy in caught.value.remedy


@pytest.mark.filterwarnings("error")
def test_an_async_set_up_is_refused_and_its_step_may_be_async() -> None:
    with pytest.raises(_load.UsageError, match="the set-up of mine did not run: it is an `async def`"):
        _load.scenario_takes_index(_async_set_up("cpu"), "mine")

    async def step(index: int) -> None: ...

    assert _load.scenario_takes_index(step, "mine")


# --- the rest ---------------------------------------------------------------------------------------------------------


def test_seed_is_of_python_and_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    _load.seed_everything(3)
    first = (random.random(), numpy.random.rand())
    _load.seed_everything(3)
    assert (random.random(), numpy.random.rand()) == first
    _load.seed_everything(2**40)
    assert random.random() != first[0]


def test_own_frames_are_left_out(tmp_path: Path) -> None:
    try:
        _load.load_step(written(tmp_path, "x = 1\n1 / 0\n"), "step")
    except ZeroDivisionError as error:
        text = format_exception(error)
    assert 'my_steps.py", line 2, in <module>' in text
    assert "stepleak/_load.py" not in text


# --- scenarios --------------------------------------------------------------------------------------------------------

ONE = """
from stepleak.scenario import clean, leak

@leak(kind=("growth", "growing_buffer"), report="me/mine#1", bytes_per_step=64)
def mine(device):
    \"\"\"Keeps all.

    The rest of the story.
    \"\"\"
    return lambda: device

@clean(report="me/mine#1")
def mine_clean(device):
    \"\"\"Keeps nothing.\"\"\"
    return lambda: device
"""


def test_scenarios_of_a_folder_are_loaded(tmp_path: Path) -> None:
    file = written(tmp_path, ONE, "mine.py")
    written(tmp_path, "raise RuntimeError('private files are not loaded')\n", "_helpers.py")
    leaky, clean = _load.load_scenarios(str(tmp_path)).scenarios
    assert (leaky.name, leaky.expected, leaky.kinds) == ("mine", "leak", ("growth", "growing_buffer"))
    assert leaky.bytes_per_step == 64
    assert leaky.story == "Keeps all.\n\nThe rest of the story."
    assert leaky.file == file
    assert leaky.set_up("cpu")() == "cpu"
    assert (clean.name, clean.expected, clean.kinds) == ("mine_clean", "clean", ())
    assert clean.report == "me/mine#1"


TOLD = """
from stepleak.scenario import leak

class Trainer:
    def __init__(self):
        self.losses = []

    def step(self):
        self.losses.append(1)

@leak(kind="growth", report="me/mine#1", line="LINE", holder=".losses")
def mine(device):
    \"\"\"Keeps all.\"\"\"
    return Trainer().step
"""


def test_line_and_holder_of_a_scenario_are_its_truth(tmp_path: Path) -> None:
    file = written(tmp_path, TOLD.replace("LINE", "self.losses.append("), "mine.py")
    (leaky,) = _load.load_scenarios(str(tmp_path)).scenarios
    assert (leaky.lines, leaky.holders) == (("self.losses.append(",), (".losses",))
    # The declaration quotes the line, and is not it.
    assert scenario.line_numbers(file, leaky.lines) == [9]


@pytest.mark.parametrize(("piece", "says"), [("self.losses", "lines 6, 9"), ("self.history", "no line")])
def test_line_of_a_scenario_must_be_in_exactly_one_line(piece: str, says: str, tmp_path: Path) -> None:
    written(tmp_path, TOLD.replace("LINE", piece), "mine.py")
    (broken,) = _load.load_scenarios(str(tmp_path)).broken
    assert f"'{piece}' must be in exactly one line of" in broken.what
    assert says in broken.what


def test_empty_folder_has_no_scenarios(tmp_path: Path) -> None:
    assert _load.load_scenarios(str(tmp_path)) == _load.LoadedFolder([], [])


def test_name_used_in_two_files_names_both(tmp_path: Path) -> None:
    written(tmp_path, ONE, "mine.py")
    again = written(tmp_path, ONE, "mine_again.py")
    (broken,) = _load.load_scenarios(str(tmp_path)).broken
    assert broken.file == again
    assert re.search(r"'mine' is declared twice: .*mine\.py and .*mine_again\.py", broken.what)


def test_name_used_twice_in_one_file_is_told(tmp_path: Path) -> None:
    # The second function hides the first: a scenario would silently be lost.
    written(tmp_path, ONE + ONE, "mine.py")
    (broken,) = _load.load_scenarios(str(tmp_path)).broken
    assert "'mine' is declared twice" in broken.what


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def (:\n", "SyntaxError"),
        ("raise RuntimeError('not today')\n", "RuntimeError: not today"),
        ("raise SystemExit('no GPU, no fun')\n", "SystemExit: no GPU, no fun"),
        (ONE.replace("mine", "half") + "1 / 0\n", "ZeroDivisionError"),
    ],
)
def test_file_that_does_not_load_costs_no_others(text: str, says: str, tmp_path: Path) -> None:
    broken_file = written(tmp_path, text, "broken.py")
    written(tmp_path, ONE, "mine.py")
    loaded = _load.load_scenarios(str(tmp_path))
    # Of the broken one not even what it had declared by then.
    assert [item.name for item in loaded.scenarios] == ["mine", "mine_clean"]
    (broken,) = loaded.broken
    assert broken.file == broken_file
    assert says in broken.what


def test_each_file_is_told_before_it_is_imported_but_for_those_left_out(tmp_path: Path) -> None:
    last_words = written(tmp_path, "raise RuntimeError('not today')\n", "broken.py")
    left_out = written(tmp_path, "raise RuntimeError('not at all')\n", "left.py")
    file = written(tmp_path, ONE, "mine.py")
    told: list[bytes] = []
    loaded = _load.load_scenarios(str(tmp_path), {left_out}, told.append)
    assert told == [last_words.encode(), file.encode()]
    assert [item.name for item in loaded.scenarios] == ["mine", "mine_clean"]
    assert [broken.file for broken in loaded.broken] == [last_words]


def test_same_file_loaded_twice_is_no_duplicate(tmp_path: Path) -> None:
    written(tmp_path, ONE, "mine.py")
    _load.load_scenarios(str(tmp_path))
    assert len(_load.load_scenarios(str(tmp_path)).scenarios) == 2


def test_scenario_without_a_story_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'silent' in .* has no docstring"):

        @scenario.clean(report="me/mine#1")
        def silent(device: str) -> Callable[[], None]:
            return lambda: None


def test_decorators_hand_the_function_back() -> None:
    @scenario.leak(kind="growth", report="me/mine#1")
    def kept(device: str) -> Callable[[], None]:
        """A story."""
        return lambda: None

    assert kept("cpu")() is None
    assert [item.name for item in scenario.registered()] == ["kept"]
    assert scenario.registered()[0].kinds == ("growth",)


def test_scenario_whose_library_is_missing_says_so_and_does_not_run() -> None:
    @scenario.clean(report="me/mine#1", needs=("json", "no_such_library"))
    def trained(device: str) -> Callable[[], None]:
        """Trains."""
        raise AssertionError("it has nothing to train with")

    (declared,) = scenario.registered()
    assert declared.missing == "no_such_library"
    assert declared.story == "Trains.\n\nNeeds json, no_such_library."
    with pytest.raises(ModuleNotFoundError, match="trained needs no_such_library, which is not installed"):
        scenario.set_up("trained", "cpu")


def test_scenario_whose_library_is_there_runs_as_any_other() -> None:
    @scenario.clean(report="me/mine#1", needs="json")
    def trained(device: str) -> Callable[[], None]:
        """Trains."""
        return lambda: None

    (declared,) = scenario.registered()
    assert declared.missing == ""
    assert scenario.set_up("trained", "cpu")() is None


def test_files_of_other_scenarios_are_known_where_one_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenario, "_running", None)
    written(tmp_path, ONE, "mine.py")
    other = written(tmp_path, ONE.replace("mine", "other"), "other.py")
    _load.load_scenarios(str(tmp_path))
    assert scenario.files_of_others() == []
    assert callable(scenario.set_up("mine_clean", "cpu"))
    assert scenario.files_of_others() == [other]
