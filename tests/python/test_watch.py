# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A watch over a loop of one's own."""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
import inspect
import json
import os
import random
import subprocess
import sys
import threading
import types
import warnings
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stepleak
import torch
from torch import nn


class Loop:
    """A small training loop; what it keeps is up to the test.

    No other module of the tests has an attribute of that name: what may be the same container is read as such, and the
    proof of a leak then takes more steps.
    """

    def __init__(self) -> None:
        self.model = nn.Linear(16, 4)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.losses_of_this_loop: list[Any] = []

    def train(self) -> torch.Tensor:
        loss: torch.Tensor = self.model(torch.randn(8, 16)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


@pytest.fixture(name="loop")
def make_loop() -> Loop:
    return Loop()


def test_finds_the_leak_of_a_loop_its_line_and_its_holder(loop: Loop) -> None:
    with stepleak.watch(name="my loop", effort="quick") as w:
        for _ in range(200):
            loop.losses_of_this_loop.append(loop.train())
            w.step()
    assert w.result.verdict == "leak"
    finding = w.result.findings[0]
    assert finding["kind"] == "graph_retention"
    assert finding["where"][0]["file"].endswith("test_watch.py")
    assert "losses_of_this_loop" in finding["holder"]
    assert w.result.report.startswith("my loop leaks ")


def test_random_numbers_stay_the_loops_unless_a_seed_is_given() -> None:
    def drawn(**options: Any) -> list[float]:
        torch.manual_seed(5)
        random.seed(6)
        np.random.seed(7)  # the generator that programs share
        with stepleak.watch(on_leak=lambda _: None, **options) as w:
            w.step()
            return [torch.rand(()).item(), random.random(), np.random.rand()]

    torch.manual_seed(5)
    random.seed(6)
    np.random.seed(7)
    plain = [torch.rand(()).item(), random.random(), np.random.rand()]
    assert drawn() == plain
    assert drawn(seed=3) == drawn(seed=3) != plain


def test_a_copy_of_what_holds_a_watch_does_not_end_it(loop: Loop) -> None:
    w = stepleak.watch(name="my loop", effort="quick", on_leak=lambda _: None)
    copy.copy(w)
    copy.deepcopy({"watch": w})
    for _ in range(200):
        loop.losses_of_this_loop.append(loop.train())
        w.step()
    assert w.result.verdict == "leak"


def test_says_that_it_has_ended_where_another_loop_begins_with_it() -> None:
    with warnings.catch_warnings(), stepleak.watch() as w:
        warnings.simplefilter("error")
        w.step()
    with pytest.warns(RuntimeWarning, match="has ended after"), w:
        w.step()


def test_asks_nothing_at_operators_but_in_a_record_pass(loop: Loop) -> None:
    """A check counts tensors and autograd nodes at each boundary; a loop of the user's would feel that."""
    with stepleak.watch(effort="quick", device="cpu") as w:
        for _ in range(60):
            loop.train()
            w.step()
    assert w.result.is_clean
    assert "live_bytes@cpu" in w.result.json["series"]
    assert not {"live_nodes@cpu", "live_tensors@cpu"} & set(w.result.json["series"])


def test_is_clean_where_numbers_are_kept_and_the_last_loss_is_alive(loop: Loop) -> None:
    with stepleak.watch(effort="quick") as w:
        for _ in range(200):
            loss = loop.train()
            loop.losses_of_this_loop.append(loss.item())
            w.step()
    assert w.result.is_clean, w.result.report


def test_is_quiet_once_it_has_decided(loop: Loop) -> None:
    frozen = gc.get_freeze_count()
    w = stepleak.watch(effort="quick")
    while w.step():
        loop.train()
    assert w.is_decided
    assert gc.get_freeze_count() == frozen
    steps = w.result.steps
    for _ in range(20):
        loop.losses_of_this_loop.append(loop.train())
        assert not w.step()
    assert w.result.steps == steps


def test_has_no_verdict_where_the_loop_is_too_short(loop: Loop) -> None:
    with stepleak.watch() as w:
        for _ in range(5):
            loop.train()
            assert w.step()
    assert w.result.verdict == "inconclusive"
    assert "5 steps" in w.result.reason


def test_lets_the_loops_own_exception_through_and_keeps_its_evidence(loop: Loop) -> None:
    frozen = gc.get_freeze_count()
    w = stepleak.watch()
    with pytest.raises(StopIteration), w:
        for _ in range(5):
            loop.train()
            w.step()
        raise StopIteration
    assert w.result.verdict == "failure"
    assert "StopIteration" in w.result.json["failure"]["what"]
    assert w.result.steps == 5
    assert gc.get_freeze_count() == frozen


def test_ctrl_c_passes_with_what_is_known(loop: Loop) -> None:
    def step(index: int) -> None:
        if index == 20:
            raise KeyboardInterrupt
        loop.losses_of_this_loop.append(loop.train())

    with pytest.raises(KeyboardInterrupt) as caught:
        stepleak.check(step)
    assert isinstance(caught.value, stepleak.Interrupted)
    assert caught.value.result.verdict == "failure"
    assert caught.value.result.steps == 20


def test_ctrl_c_in_the_record_pass_leaves_the_verdict(loop: Loop) -> None:
    def step(index: int) -> None:
        if index == 30:
            raise KeyboardInterrupt
        loop.losses_of_this_loop.append(loop.train())

    with pytest.raises(stepleak.Interrupted) as caught:
        stepleak.check(step, effort="quick")
    assert caught.value.result.verdict == "leak"
    assert caught.value.result.findings


def test_a_loader_that_ends_in_the_record_pass_leaves_the_verdict(loop: Loop) -> None:
    batches = iter(range(30))

    def step() -> None:
        next(batches)
        loop.losses_of_this_loop.append(loop.train())

    result = stepleak.check(step, effort="quick")
    assert result.verdict == "leak"
    assert "StopIteration" in result.json["failure"]["what"]


def test_waits_for_the_steps_that_are_asked_for(loop: Loop) -> None:
    with stepleak.watch(effort="quick", min_steps=40) as w:
        while w.step():
            loop.train()
    assert w.result.is_clean
    assert w.result.steps >= 40
    assert stepleak.check(loop.train, effort="quick", min_steps=40).steps >= 40


def test_torch_has_the_threads_that_are_asked_for_until_it_has_decided(loop: Loop) -> None:
    before = torch.get_num_threads()
    seen = set()
    with stepleak.watch(effort="quick", threads=before + 2) as w:
        while w.step():
            seen.add(torch.get_num_threads())
            loop.train()
    assert seen == {before + 2}
    assert w.result.json["conditions"]["threads"] == str(before + 2)
    assert torch.get_num_threads() == before
    with pytest.raises(stepleak.UsageError, match="threads"):
        stepleak.watch(threads=-1)


def test_writes_what_it_came_to_where_it_is_asked_to(
    loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"json": "out/r.json", "html": Path("r.html"), "trace": tmp_path / "r.trace"}
    with pytest.warns(stepleak.LeakWarning), stepleak.watch(name="my loop", effort="quick", **files) as w:  # type: ignore[arg-type]
        monkeypatch.chdir("/")  # what is relative is so where the watch began
        for _ in range(60):
            loop.losses_of_this_loop.append(loop.train())
            w.step()
    assert json.loads((tmp_path / "out/r.json").read_text())["verdict"] == "leak"
    page = (tmp_path / "r.html").read_text()
    assert "my loop leaks" in page
    assert "loop.losses_of_this_loop.append(loop.train())" in page, "the source around the line is missing"
    assert '"survivors":[]' not in page.replace(" ", ""), "what the recorded steps left behind is missing"
    assert (tmp_path / "r.trace").read_bytes()[:2] == b"\x1f\x8b"
    for name in ("c.json", "-"):
        stepleak.check(loop.train, effort="quick", json=tmp_path / name)
        assert json.loads((tmp_path / name).read_text())["verdict"] == "clean"


def test_a_file_that_cannot_be_written_is_told_before_and_costs_no_result_after(loop: Loop, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(stepleak.UsageError, match="file"):
        stepleak.watch(json=tmp_path / "file" / "r.json")
    with pytest.raises(stepleak.UsageError, match="html"):
        stepleak.watch(html=3)  # type: ignore[arg-type]
    folder = tmp_path / "gone"
    folder.mkdir()
    with pytest.warns(RuntimeWarning, match="gone") as caught, stepleak.watch(json=folder / "r.json") as w:
        folder.rmdir()
        folder.touch()  # no folder any more
        w.step()
    assert caught[0].filename == __file__
    assert w.result.verdict == "inconclusive"


def test_refuses_wrong_options() -> None:
    with pytest.raises(stepleak.UsageError, match="16"):
        stepleak.watch(steps=3)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_one_that_was_never_made_goes_in_silence() -> None:
    with pytest.raises(TypeError, match="core"):
        stepleak.Watch()  # type: ignore[call-arg]
    gc.collect()


def test_a_watched_loader_ends_steps_with_its_items_over_all_epochs(loop: Loop) -> None:
    batches = stepleak.watch(list(range(10)), effort="quick")
    assert len(batches) == 10
    for _ in range(20):
        for _batch in batches:
            loop.train()
    assert batches.result.is_clean
    assert batches.result.steps >= 16


def test_marks_the_epochs_of_a_watched_loader_and_what_it_is_told(loop: Loop) -> None:
    batches = [torch.randn(8, 16)] * 40
    watched = stepleak.watch(batches, on_leak="warn", device="cpu")
    for epoch in range(2):
        for _ in watched:
            loop.train()
        if epoch == 0:
            watched.mark("evaluation")
    assert [tuple(mark.values()) for mark in watched.result.json["marks"]] == [
        (1, "epoch"), (41, "evaluation"), (41, "epoch"),
    ]  # fmt: skip
    watched.mark("epoch")  # of a watch that is over


def test_a_loop_without_epochs_has_no_marks(loop: Loop) -> None:
    with stepleak.watch(device="cpu") as watch:
        for _ in range(70):
            loop.train()
            watch.step()
    assert "marks" not in watch.result.json


@pytest.mark.parametrize("what", ["lunch", 5, ["epoch"]])
def test_refuses_a_mark_that_there_is_not(what: Any) -> None:
    with stepleak.watch(device="cpu") as watch, pytest.raises(stepleak.UsageError, match="no mark ") as refused:
        watch.mark(what)
    assert repr(what) in str(refused.value)


def test_warns_once_of_a_leak_at_the_users_line(loop: Loop) -> None:
    batches = stepleak.watch(range(200), name="my loop", effort="quick")
    with pytest.warns(stepleak.LeakWarning, match="my loop leaks") as caught:
        for _ in batches:
            loop.losses_of_this_loop.append(loop.train())
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert batches.result.verdict == "leak"


def test_raises_where_it_shall_and_hands_the_result_to_a_function(loop: Loop) -> None:
    with pytest.raises(stepleak.LeakError, match="leaks"):
        for _ in stepleak.watch(range(200), on_leak="raise", effort="quick"):
            loop.losses_of_this_loop.append(loop.train())
    found: list[stepleak.Result] = []
    for _ in stepleak.watch(range(200), on_leak=found.append, effort="quick"):
        loop.losses_of_this_loop.append(loop.train())
    assert [result.verdict for result in found] == ["leak"]
    with pytest.raises(stepleak.UsageError, match="on_leak"):
        stepleak.watch(on_leak="shout")


def test_a_leak_that_is_let_be_neither_warns_nor_raises_nor_calls(loop: Loop, recwarn: pytest.WarningsRecorder) -> None:
    called: list[stepleak.Result] = []
    for on_leak in ("warn", "raise", called.append):
        with stepleak.watch(on_leak=on_leak, effort="quick", ignore="*.losses_of_this_loop (list*") as w:
            for _ in range(100):
                loop.losses_of_this_loop.append(loop.train())
                w.step()
        assert w.result.verdict == "leak" and w.result.is_known, w.result
    assert not called and not recwarn.list
    with pytest.raises(stepleak.LeakError), stepleak.watch(on_leak="raise", effort="quick", ignore="*.others*") as w:
        for _ in range(100):
            loop.losses_of_this_loop.append(loop.train())
            w.step()


def test_a_clean_loop_calls_nothing(loop: Loop, recwarn: pytest.WarningsRecorder) -> None:
    for _ in stepleak.watch(range(100), on_leak="raise", effort="quick"):
        loop.train()
    assert not [w for w in recwarn if issubclass(w.category, stepleak.LeakWarning)]


def test_the_loops_own_error_wins_over_the_leak(loop: Loop) -> None:
    with pytest.raises(ZeroDivisionError), stepleak.watch(on_leak="raise", effort="quick") as w:
        for step in range(60):
            loop.losses_of_this_loop.append(loop.train())
            if step == 30:
                raise ZeroDivisionError
            w.step()


def test_a_loop_that_ends_in_the_record_pass_keeps_what_was_recorded(loop: Loop) -> None:
    with pytest.warns(stepleak.LeakWarning), stepleak.watch() as w:
        for _ in range(44):  # the record pass of steps 33 to 50 is under way
            loop.losses_of_this_loop.append(loop.train())
            w.step()
    assert w.result.verdict == "leak"
    assert "losses_of_this_loop" in w.result.findings[0]["holder"]


def test_says_at_exit_what_nobody_asked_for() -> None:
    script = """
import torch, stepleak
w = torch.ones(2, requires_grad=True)
for _ in stepleak.watch(range(40), name="unread", effort="quick"):
    (w * 2).sum().backward()
read = stepleak.watch(range(40), name="read", effort="quick")
for _ in read:
    (w * 2).sum().backward()
assert read.result.is_clean
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr.startswith("unread is clean")
    assert "read is clean" not in done.stderr.partition("\n")[2]


def test_says_nothing_at_exit_where_there_is_no_stderr() -> None:
    script = """
import sys, stepleak
w = stepleak.watch(name="unread")
w.step()
sys.stderr = None
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_file_is_named_by_its_whole_path_where_the_working_folder_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(stepleak.UsageError, match="json is relative to the working folder"):
        stepleak.watch(json="a.json")
    with stepleak.watch(json=tmp_path / "a.json") as w:
        w.step()
    assert (tmp_path / "a.json").exists()


async def _batches() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("loader", [5, print, _batches(), lambda: 1, object()])
def test_refuses_at_once_what_no_loop_can_go_over(loader: Any) -> None:
    with pytest.raises(stepleak.UsageError, match="which no loop can go over"):
        stepleak.watch(loader)


class Rows:
    """Iterable by its items alone, as sequences of old."""

    def __getitem__(self, index: int) -> int:
        return [7, 8][index]


def test_goes_over_whatever_a_loop_can() -> None:
    for loader in (Rows(), (each for each in [7, 8]), {7: 0, 8: 0}):
        watched = stepleak.watch(loader)  # type: ignore[arg-type]
        assert list(watched) == [7, 8]
        assert watched.result.steps == 2


def test_another_thread_within_a_step_is_refused() -> None:
    w = stepleak.watch(device="cpu")
    refused: list[str] = []

    def step() -> bool:
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        return True

    def ask() -> None:
        for use in (w.step, lambda: w.mark("epoch"), lambda: w.result):
            with pytest.raises(stepleak.UsageError) as raised:
                use()
            refused.append(str(raised.value))

    core = w._core
    w._core = types.SimpleNamespace(step=step, mark=None, finish=None, is_decided=False)
    assert w.step()
    w._core = core
    assert len(refused) == 3
    assert "another one is in" in refused[0]
    assert w.step()
    assert w.result.steps == 1


def test_threads_that_take_turns_share_a_watch() -> None:
    w = stepleak.watch(device="cpu")
    for _ in range(4):
        thread = threading.Thread(target=w.step)
        thread.start()
        thread.join()
    assert w.result.steps == 4


def test_threads_that_race_crash_nothing() -> None:
    w = stepleak.watch(device="cpu")

    def race() -> None:
        for _ in range(400):
            with contextlib.suppress(stepleak.UsageError):
                w.step()

    threads = [threading.Thread(target=race) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert w.result.verdict in ("clean", "inconclusive")


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_is_told_that_it_is_not_watched() -> None:
    w = stepleak.watch(device="cpu", name="forks")
    w.step()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            w.step()
            os.write(write, w.result.report.encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as told:
        assert told.readline().startswith("forks failed: a forked child is not watched")
    w.step()
    assert w.result.steps == 2
    assert w.result.verdict == "inconclusive"


def test_a_watched_loader_stands_in_the_place_of_the_loader() -> None:
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(12, 2)), batch_size=4)
    watched = stepleak.watch(loader)
    assert (len(watched), len(watched.dataset), watched.batch_size) == (3, 12, 4)
    with pytest.raises(AttributeError, match="batch_sise"):
        _ = watched.batch_sise
    _ = watched.result


def test_a_watch_without_a_loader_is_there_and_lends_no_attributes() -> None:
    with stepleak.watch() as w:
        assert w
        assert not hasattr(w, "dataset")
        with pytest.raises(TypeError):
            len(w)


def test_a_loop_that_is_over_cannot_be_raised_in(loop: Loop, recwarn: pytest.WarningsRecorder) -> None:
    for _ in stepleak.watch(range(30), effort="quick", on_leak="raise"):
        loop.losses_of_this_loop.append(loop.train())
    with stepleak.watch():  # ends the other one
        pass
    assert [str(one.message).partition(" ")[0] for one in recwarn if one.category is stepleak.LeakWarning] == ["loop"]


def collections_of(steps: int, objects: int) -> int:
    """How many collections a watched loop forces that makes so many objects in its first step.

    In a process of its own: what other tests have left takes time to collect.
    """
    script = inspect.getsource(forced_collections) + f"print({forced_collections.__name__}({steps}, {objects}))"
    imports = "import gc, stepleak\nfrom typing import Any\n"
    done = subprocess.run([sys.executable, "-c", imports + script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def forced_collections(steps: int, objects: int) -> int:
    made: list[Any] = []
    counts = {"full": 0}

    def count(phase: str, info: dict[str, int]) -> None:
        counts["full"] += phase == "start" and info["generation"] == 2

    with stepleak.watch() as w:
        for _ in range(6):  # past the ones after which objects are set apart
            w.step()
        gc.callbacks.append(count)
        for index in range(steps):
            if index == 0:
                made.extend([[]] for _ in range(objects))
            w.step()
        gc.callbacks.remove(count)
    assert "at every boundary, unless" in w.result.json["conditions"]["garbage collections"]
    return counts["full"]


def test_collections_that_take_long_are_sampled_in_a_loop_of_the_users() -> None:
    """Those that take no time are made at each boundary, but for some on a busy machine."""
    sampled = collections_of(40, 400_000)
    assert sampled < 20
    assert sampled < collections_of(40, 0)


class Knot:
    """Garbage that only the cycle collector finds."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_that_waits_for_a_collection_is_not_counted() -> None:
    ballast = []
    with stepleak.watch() as w:
        for index in range(70):
            if index == 8:  # past the steps after which objects are set apart
                ballast = [[index] for _ in range(400_000)]
            Knot()
            w.step()
    assert len(ballast) == 400_000
    objects, read_at = w.result.json["series"]["python_objects@cpu"], w.result.json["sampled"]["python_objects@cpu"]
    assert len(read_at) < 60 and 64 in read_at
    assert set(objects[20:]) == {objects[20]}


def test_while_the_collector_is_off_each_boundary_collects() -> None:
    gc.disable()
    try:
        assert collections_of(10, 400_000) >= 10
    finally:
        gc.enable()


def test_one_loader_over_many_short_epochs_is_one_watch(loop: Loop) -> None:
    loader = [0] * 5
    for _epoch in range(8):
        for _batch in (watched := stepleak.watch(loader, effort="quick")):
            loop.train()
    assert watched.result.is_clean
    assert watched.result.steps >= 16


class Batches(list[int]):
    """A loader: an object that is no plain list can be known again."""


def test_epochs_after_the_verdict_pass_through(loop: Loop, capfd: pytest.CaptureFixture[str]) -> None:
    loader = Batches([0] * 20)
    results = []
    for _epoch in range(3):
        items = 0
        for _batch in (watched := stepleak.watch(loader, effort="quick")):
            loop.train()
            items += 1
        assert (items, len(watched)) == (20, 20)
        results.append(watched.result)
    assert results[0].is_clean
    assert results[1] is results[0] and results[2] is results[0]
    assert "let it run" not in capfd.readouterr().err


def test_another_loop_over_the_loader_is_watched_anew(loop: Loop) -> None:
    loader = Batches([0] * 20)
    source = "for _batch in (watched := stepleak.watch(loader, effort='quick')):\n    loop.train()\n"
    results = []
    for cell in ("first", "second"):
        names: dict[str, Any] = {"stepleak": stepleak, "loader": loader, "loop": loop}
        exec(compile(source, cell, "exec"), names)
        results.append(names["watched"].result)
    assert results[0] is not results[1]
    assert [result.steps for result in results] == [16, 16]


class Trainer:
    def step(self) -> None:
        self.newest = torch.zeros(64)


class LeakingTrainer(Trainer):
    def __init__(self) -> None:
        self.tensors_of_this_trainer: list[torch.Tensor] = []

    def step(self) -> None:
        self.tensors_of_this_trainer.append(torch.zeros(64))


def _trained(trainer: Trainer, loader: Batches, *, is_last: bool = False, epoch: int = 0, **options: Any) -> Any:
    options.setdefault("on_leak", lambda _: None)
    for _batch in (watched := stepleak.watch(loader, effort="quick", **options)):
        trainer.step()
    assert epoch < 3 or is_last
    return watched.result


@pytest.mark.usefixtures("loop")
def test_a_function_that_loops_for_another_model_is_watched_anew() -> None:
    loader = Batches([0] * 40)
    healthy, leaking = Trainer(), LeakingTrainer()
    first = _trained(healthy, loader)
    assert first.is_clean
    assert _trained(leaking, loader).verdict == "leak"
    again = _trained(Trainer(), loader)
    assert again.is_clean
    assert again is not first
    assert _trained(leaking, loader, name="other").json["target"] == "other"
    told = _trained(healthy, loader, is_last=True)
    assert told.is_clean
    assert told is not first


@pytest.mark.usefixtures("loop")
def test_a_function_that_loops_for_the_same_model_is_the_same_loop_in_each_epoch() -> None:
    loader = Batches([0] * 40)
    trainer, other = Trainer(), Trainer()
    found = []
    for epoch in range(3):
        told = functools.partial(print, epoch)
        found.append((_trained(trainer, loader, epoch=epoch), _trained(other, loader, on_leak=told)))
    (first, second), *later = found
    assert first is not second
    assert all(one is first and two is second for one, two in later)


def test_a_coroutine_function_is_not_called_with_a_leak() -> None:
    async def tell(result: object) -> None:
        del result

    with pytest.raises(stepleak.UsageError, match="coroutine function"):
        stepleak.watch(on_leak=tell)


def test_another_loader_and_another_check_end_the_watch_over_the_first(loop: Loop) -> None:
    first = stepleak.watch([0] * 3)
    for _batch in first:
        loop.train()
    second = stepleak.watch([0] * 3)
    assert second is not first
    for _batch in second:
        loop.train()
    assert stepleak.check(loop.train, effort="quick").is_clean
    assert (first.result.steps, second.result.steps) == (3, 3)


def test_a_loop_that_still_runs_keeps_its_watch(loop: Loop) -> None:
    for index, _batch in enumerate(stepleak.watch([0] * 3)):
        loop.train()
        if index == 1:
            with pytest.raises(stepleak.UsageError, match="end that first"):
                stepleak.check(loop.train, effort="quick")
    with stepleak.watch():
        pass
