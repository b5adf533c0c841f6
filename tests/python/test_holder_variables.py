# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Variables of running and suspended functions as roots of the search for holders."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

import torch
from holder_search import STEPS, Keeper, appended, holder_of_first, search


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
