# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Variables of running and suspended functions as roots of the search for holders."""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import multiprocessing
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from holder_search import STEPS, Keeper, appended, holder_of_first, search
from stepleak._core import frame_locals
from stepleak._frames import RunningFrames


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


class Recurrent(torch.nn.Module):
    """Hands its state back."""

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        return state + 1


def looking(found: list[Any], name: str) -> Any:
    """A hook in a module of this name that looks at what running functions hold."""
    namespace = {"__name__": name, "RunningFrames": RunningFrames, "frame_locals": frame_locals, "found": found}
    source = """
def look(module, inputs, output):
    kept = id(output)
    del output
    found.append(RunningFrames(frame_locals).names.get(kept))
"""
    exec(source, namespace)
    return namespace["look"]


@pytest.mark.parametrize(("name", "is_known"), [("stepleak.looking", False), ("training", True)])
def test_what_a_call_of_torch_holds_in_which_a_step_ends_is_held_by_no_variable(name: str, is_known: bool) -> None:
    module, state = Recurrent(), torch.zeros(4)
    found: list[Any] = []
    module.register_forward_hook(looking(found, name))
    module(state)
    [variable] = found
    assert (variable is not None) is is_known
    assert variable is None or variable.is_library


def test_variable_of_the_users_beats_a_module_of_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Keeper([])
    monkeypatch.setattr(threading, "program_waiting", queue.kept, raising=False)
    found = search(None, appended(queue.kept))
    assert ".queue (Keeper) .kept (list" in holder_of_first(found)["path"]


def test_module_of_a_library_is_a_root_where_no_variable_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "program_waiting", [], raising=False)

    def keep() -> list[int]:
        threading.program_waiting.extend(torch.zeros(4) for _ in range(STEPS))  # type: ignore[attr-defined]
        return [tensor._cdata for tensor in threading.program_waiting]  # type: ignore[attr-defined]

    assert holder_of_first(search(None, keep))["path"].startswith("threading.program_waiting (list")


def with_namespaces(keeper: Keeper) -> Keeper:
    """The same as one whose attributes somebody has looked at, which makes its way two layers."""
    vars(keeper)
    return keeper


def put_into_module() -> list[int]:
    threading.program_waiting.extend(torch.zeros(4) for _ in range(STEPS))  # type: ignore[attr-defined]
    return [tensor._cdata for tensor in threading.program_waiting]  # type: ignore[attr-defined]


def test_module_of_the_users_beats_one_of_a_library_that_is_nearer(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Keeper([])
    monkeypatch.setattr(threading, "program_waiting", worker.kept, raising=False)
    for _ in range(3):
        worker = with_namespaces(Keeper(with_namespaces(worker)))
    monkeypatch.setattr(sys.modules[__name__], "program_worker", worker, raising=False)
    del worker
    expected = f"{__name__}.program_worker (Keeper)" + " .kept (Keeper)" * 3 + " .kept (list"
    assert holder_of_first(search(None, put_into_module))["path"].startswith(expected)


def test_object_of_a_librarys_class_keeps_nothing_that_the_class_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "program_waiting", [], raising=False)
    monkeypatch.setattr(sys.modules[__name__], "program_thread", threading.Thread(), raising=False)

    def keep() -> list[int]:
        threading.Thread.program_waiting.extend(torch.zeros(4) for _ in range(STEPS))  # type: ignore[attr-defined]
        return [tensor._cdata for tensor in threading.Thread.program_waiting]  # type: ignore[attr-defined]

    assert holder_of_first(search(None, keep))["path"].startswith("threading.Thread (type) .program_waiting (list")


@pytest.mark.parametrize("is_drained", [False, True])
def test_queue_that_a_thread_of_its_own_empties_is_the_users(is_drained: bool, tmp_path: Path) -> None:
    file = tmp_path / "training.py"
    file.write_text("def f(self, x):\n    self.kept.kept.kept.put(x)\n", encoding="utf-8")
    root: Any = multiprocessing.get_context("fork").Queue()
    for _ in range(3):
        root = with_namespaces(Keeper(root))

    def keep() -> list[int]:
        for _ in range(STEPS):
            root.kept.kept.kept.put(bytes(300_000))  # more than its pipe takes
            if is_drained:
                root.kept.kept.kept.get()
        return []

    root.kept.kept.kept.put(b"")  # which starts the thread
    root.kept.kept.kept.get()
    found = search(root, keep, (str(file),))
    holders = [holder for holder in found["holders"] if "._buffer (deque" in holder["path"]]
    root.kept.kept.kept.cancel_join_thread()
    root.kept.kept.kept.close()
    if is_drained:
        assert holders == []
        return
    assert holders[0]["path"].startswith("Keeper (Keeper) .kept (Keeper) .kept (Keeper) .kept (Queue) ._buffer")
    assert (holders[0]["text"], holders[0]["line"]) == ("self.kept.kept.kept.put(x)", 2)


def report_at_exit(_margin: torch.Tensor) -> None:
    """What a program leaves for its end."""


def test_arguments_of_a_call_at_exit_are_held_by_atexit() -> None:
    def keep() -> list[int]:
        addresses = []
        for _ in range(STEPS):
            margin = torch.zeros(4)
            atexit.register(report_at_exit, margin)
            addresses.append(margin._cdata)
        return addresses

    try:
        holder = holder_of_first(search(None, keep))
    finally:
        atexit.unregister(report_at_exit)
    assert holder["path"] == "atexit [0] -> Tensor"
    assert holder["text"] == ""


class ReportAtExit:
    """Registers a function of its own, which nothing else keeps."""

    def __init__(self, how: str) -> None:
        self.margin = torch.zeros(4)
        called: dict[str, Callable[[], None]] = {
            "method": self.report,
            "partial": functools.partial(report_at_exit, self.margin),
            "closure": lambda: report_at_exit(self.margin),
        }
        atexit.register(called[how])

    def report(self) -> None:
        report_at_exit(self.margin)


@pytest.mark.parametrize(
    ("how", "path"),
    [
        ("method", "atexit (ReportAtExit) .margin -> Tensor"),
        ("partial", "atexit (partial) .args [0] -> Tensor"),
        ("closure", "atexit .self (ReportAtExit) .margin -> Tensor"),
    ],
)
def test_functions_that_are_called_at_exit_are_held_by_atexit(how: str, path: str) -> None:
    def keep() -> list[int]:
        return [ReportAtExit(how).margin._cdata for _ in range(STEPS)]

    assert holder_of_first(search(None, keep))["path"] == path


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


class Spans(list[torch.Tensor]):
    """One that may be referred to weakly."""


@contextlib.contextmanager
def traced() -> Any:
    spans = Spans()
    yield weakref.ref(spans)


def test_variable_of_a_context_manager_is_found_through_its_with() -> None:
    # The running function's frame holds the manager where nobody can see it, and nothing else does.
    with traced() as spans:

        def keep() -> list[int]:
            spans().extend(torch.zeros(4) for _ in range(STEPS))
            return [tensor._cdata for tensor in spans()]

        found = search(None, keep)
    assert holder_of_first(found)["path"] == f"local of traced .spans (Spans, len {STEPS}) [0] -> Tensor"


def proposals() -> Any:
    for tensor in [torch.zeros(4) for _ in range(3)]:
        yield
        del tensor


def test_what_the_loop_of_a_suspended_generator_goes_over_is_kept_by_it() -> None:
    root = Keeper([])
    addresses: list[int] = []

    def keep() -> list[int]:
        for _ in range(STEPS):
            generator = proposals()
            next(generator)
            root.kept.append(generator)
            addresses.extend(t._cdata for t in loop_of(generator))
        return addresses

    found = search(root, keep)
    assert found["unreachable"] == set()
    assert "(generator)" in found["holders"][found["holder_of"][addresses[1]]]["path"]


def loop_of(generator: Any) -> list[torch.Tensor]:
    """The list that it goes over."""
    iterators: list[Any] = [item for item in gc.get_referents(generator) if type(item) is type(iter([]))]
    return gc.get_referents(iterators[0])[0]  # type: ignore[no-any-return]


def waits_with_its_batch(tensors: list[torch.Tensor], end: threading.Event) -> None:
    batch = tensors.pop()
    tensors.clear()
    end.wait()
    del batch


def test_a_variable_of_a_waiting_thread_is_kept_by_where_that_waits() -> None:
    end, threads = threading.Event(), []

    def keep() -> list[int]:
        tensors = [torch.zeros(4)]
        address: int = tensors[0]._cdata
        threads.append(threading.Thread(target=waits_with_its_batch, args=(tensors, end)))
        threads[0].start()
        while tensors:
            time.sleep(0.001)
        return [address]

    try:
        holder = holder_of_first(search(None, keep, (__file__,)))
    finally:
        end.set()
        threads[0].join()
    assert holder["path"] == "local of waits_with_its_batch .batch -> Tensor"
    assert holder["text"] == "end.wait()"


def test_a_list_of_a_waiting_thread_is_kept_by_what_fills_it() -> None:
    elsewhere = Elsewhere()
    try:
        found = search(None, elsewhere.keep, (__file__,))
    finally:
        elsewhere.go.release()
        elsewhere.thread.join()
    assert holder_of_first(found)["text"].startswith("losses.append(")


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
