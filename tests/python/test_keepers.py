# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which of several ways to a tensor is named: what keeps it, and not what has it in use for the moment."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest
import stepleak
import torch
from stepleak._limit import TimeLimit
from stepleak._way_down import way_down
from watched_program import found_in

SERVICE = """
import torch

class Session:
    def __init__(self, number):
        self.number = number
        self.cache = torch.zeros(4)
        program_tensor(self.cache)

class Service:
    def __init__(self):
        self.sessions_of_all_days = {}
        self.opened = 0
    def open(self):
        session = Session(self.opened)
        self.opened += 1
        KEEPS
        return session

def serve():
    service, open_now = Service(), []
    while True:
        open_now = [*open_now[-3:], service.open()]
        program_step()

serve()
"""

REQUESTS = """
import torch

class Request:
    def __init__(self):
        self.tensors_so_far = (torch.zeros(4),)

def serve():
    active = [Request() for _ in range(3)]
    while True:
        for request in active:
            request.tensors_so_far = (torch.zeros(request.tensors_so_far[0].numel() + 4),)
            program_tensor(request.tensors_so_far[0])
        LETS_GO
        program_step()

serve()
"""


def holders_in(program: str, folder: Path) -> list[dict[str, Any]]:
    """Of the tensors that the program tells of, each with its path's names."""
    found = found_in(program, folder)
    edges = found["edges"]
    used = [found["holders"][i] for i in dict.fromkeys(found["holder_of"].values())]
    return [{**holder, "names": [edges[i]["label"] for i in holder["path"] if edges[i]["label"]]} for holder in used]


def test_a_registry_that_grows_is_named_before_a_list_that_each_step_makes_anew(tmp_path: Path) -> None:
    holders = holders_in(SERVICE.replace("KEEPS", "self.sessions_of_all_days[session.number] = session"), tmp_path)
    assert [holder["names"][:2] for holder in holders] == [["service", "sessions_of_all_days"]] * len(holders)
    assert holders


def test_a_list_that_each_step_makes_anew_is_named_where_nothing_else_keeps_it(tmp_path: Path) -> None:
    holders = holders_in(SERVICE.replace("KEEPS", "pass"), tmp_path)
    assert {holder["names"][0] for holder in holders} == {"open_now"}


@pytest.mark.parametrize(
    ("lets_go", "structure"),
    [
        ("active = [r for r in active if r.tensors_so_far[0].numel() < 9999]", "reset"),
        ("if active[0].tensors_so_far[0].numel() > 9999: active.pop(0)", "reset"),
        ("pass", "unknown"),
        ("active.append(Request()) if len(active) < 3 else None", "unknown"),
    ],
)
def test_what_a_loop_goes_over_may_let_go_of_what_its_variable_leads_to(
    lets_go: str, structure: str, tmp_path: Path
) -> None:
    holders = holders_in(REQUESTS.replace("LETS_GO", lets_go), tmp_path)
    by_variable = [holder for holder in holders if holder["names"][0] == "request"]
    assert by_variable and {holder["structure"]["kind"] for holder in by_variable} == {structure}


# --- the way down -----------------------------------------------------------------------------------------------------


def test_the_way_down_leads_through_what_an_entry_keeps() -> None:
    tensor = torch.zeros(2)
    registry = {"a": [1], "b": types.SimpleNamespace(cache=(tensor,))}
    way = way_down(registry, tensor, TimeLimit(10))
    assert way[0] is registry and way[-1] is tensor
    assert any(item is registry["b"] for item in way)


def test_the_way_down_leads_through_what_only_a_function_knows() -> None:
    tensor = torch.zeros(2)

    def captures() -> torch.Tensor:
        return tensor

    def has_default(scratch: torch.Tensor = tensor) -> torch.Tensor:
        return scratch

    for hook in (captures, has_default):
        assert way_down({7: hook}, tensor, TimeLimit(10))[-1] is tensor
        assert way_down([("norms", hook)], tensor, TimeLimit(10))[-1] is tensor
        # A thread that runs it is no registry of hooks.
        assert way_down([types.SimpleNamespace(target=hook)], tensor, TimeLimit(10)) == []


GLOBAL = torch.zeros(2)


def uses_global() -> torch.Tensor:
    return GLOBAL


def test_there_is_no_way_through_the_program_itself() -> None:
    assert way_down([uses_global], GLOBAL, TimeLimit(10)) == []
    assert way_down([1, 2], GLOBAL, TimeLimit(10)) == []


LAYERS = """
import collections, torch

class Probe:
    def __init__(self):
        self.hooks = {}
        self.recent = collections.deque(maxlen=4)
    def attach(self, number):
        scratch = torch.zeros(4)
        program_tensor(scratch)
        def record(output, scratch=scratch):
            scratch.copy_(output)
        KEEPS
        self.recent.append(scratch)

def serve():
    probe, number = Probe(), 0
    while True:
        probe.attach(number)
        number += 1
        program_step()

serve()
"""


@pytest.mark.parametrize(
    ("keeps", "keeper"), [("self.hooks[number] = record", "hooks"), ("self.hooks[0] = record", "recent")]
)
def test_hooks_that_gather_are_named_before_the_last_few(keeps: str, keeper: str, tmp_path: Path) -> None:
    holders = holders_in(LAYERS.replace("KEEPS", keeps), tmp_path)
    assert {holder["names"][1] for holder in holders} == {keeper}


@pytest.mark.parametrize("is_same", [True, False], ids=["one_storage", "another"])
def test_a_full_ring_is_not_named_for_the_list_beside_it(is_same: bool) -> None:
    ring: dict[int, torch.Tensor] = {}
    window: list[torch.Tensor] = []

    def step(index: int) -> None:
        loss = torch.rand(8).sum()
        ring[index % 16] = loss.detach()
        window.append((loss if is_same else torch.rand(8).sum()).detach())

    result = stepleak.check(step)
    assert result.verdict == "leak", result.report
    [finding] = result.findings
    assert "window" in finding["holder"], result.report
