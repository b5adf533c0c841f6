# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Cycles that keep what nothing leads to: the way round, the statement that closes them, and near misses."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from holder_search import Keeper, holder_of_first, search
from stepleak._cycles import Ways
from stepleak._limit import TimeLimit

NO_LIMIT = TimeLimit(math.inf)

BACKBONE = """
import torch

def make_features():
    return torch.relu(torch.zeros(4, requires_grad=True))
"""

SOURCES = {
    "hook that is a lambda": (
        BACKBONE
        + """
def step():
    features = make_features()
    features.register_hook(lambda grad: (features * grad).sum())
    return features
""",
        "features.register_hook(lambda grad: (features * grad).sum())",
    ),
    "function that captures what it is put on": (
        BACKBONE
        + """
def step():
    features = make_features()
    def watch(grad):
        return features * grad
    for act in [watch]:
        features.register_hook(act)
    return features
""",
        "features.register_hook(act)",
    ),
    "attributes of two objects": (
        BACKBONE
        + """
class Rollout:
    def __init__(self, values):
        self.values = values
        self.advantages = None

class Advantages:
    def __init__(self, rollout):
        self.rollout = rollout

def step():
    rollout = Rollout(make_features())
    rollout.advantages = Advantages(rollout)
    return rollout.values
""",
        "rollout.advantages = Advantages(rollout)",
    ),
    "result on what it was made of": (
        """
import torch

def step():
    latent = torch.zeros(4, requires_grad=True)
    latent.picture = torch.sigmoid(latent)
    return latent.picture
""",
        "latent.picture = torch.sigmoid(latent)",
    ),
    "constructors only": (
        BACKBONE
        + """
class Node:
    def __init__(self, values):
        self.values = values
        self.root = self

def step():
    return Node(make_features()).values
""",
        "self.root = self",
    ),
}


def made_by(source: str, file: Path) -> Callable[[], Any]:
    """The function `step` of a file of the user's."""
    file.write_text(source, encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "training"}
    exec(compile(source, str(file), "exec"), namespace)
    made: Callable[[], Any] = namespace["step"]
    return made


@pytest.mark.parametrize("name", SOURCES)
def test_statement_that_closes_a_cycle_is_named(name: str, tmp_path: Path) -> None:
    source, statement = SOURCES[name]
    step = made_by(source, tmp_path / "training.py")
    gc.disable()
    try:
        found = search(Keeper(None), lambda: [step()._cdata], (str(tmp_path / "training.py"),))
    finally:
        gc.enable()
    assert found["unreachable"] == set(found["addresses"])
    holder = holder_of_first(found)
    assert holder["path"].startswith("a cycle"), holder
    assert (holder["file"], holder["text"]) == (str(tmp_path / "training.py"), statement)


def test_cycle_that_something_leads_to_is_not_named_instead(tmp_path: Path) -> None:
    source, _ = SOURCES["hook that is a lambda"]
    step, root = made_by(source, tmp_path / "training.py"), Keeper(None)

    def keep() -> list[int]:
        root.kept = step()
        address: int = root.kept._cdata
        return [address]

    found = search(root, keep, (str(tmp_path / "training.py"),))
    assert found["unreachable"] == set()
    assert holder_of_first(found)["path"] == "Keeper (Keeper) .kept -> Tensor -> ReluBackward0"


# --- gradients that have a graph --------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_graph", [False, True])  # with a graph it stays for ever
def test_gradient_with_a_graph_is_the_holder_of_it(has_graph: bool) -> None:
    root = Keeper(torch.ones(4, requires_grad=True))

    def keep() -> list[int]:
        root.kept.pow(2).sum().backward(create_graph=has_graph)
        return []

    found = search(root, keep, are_graphs_cyclic=True)
    if has_graph:
        path = found["holders"][found["gradient"]]["path"]
        assert path.startswith("Keeper (Keeper) .kept .grad -> Tensor -> ")
    else:
        assert found["gradient"] == -1


def test_gradient_with_a_graph_of_a_leaf_that_is_lost_is_a_cycle(tmp_path: Path) -> None:
    source = """
import torch

def step():
    point = torch.zeros(4, requires_grad=True)
    point.pow(2).sum().backward(create_graph=True)
    return point

def step_without():
    point = torch.zeros(4, requires_grad=True)
    point.pow(2).sum().backward(create_graph=False)

def sum_up(points, gradients):
    for point, gradient in zip(points, gradients):
        point.grad = gradient if point.grad is None else point.grad + gradient
"""
    step = made_by(source, tmp_path / "training.py")
    files = (str(tmp_path / "training.py"),)
    found = search(Keeper(None), lambda: [step().pow(2)._cdata], files, are_graphs_cyclic=True)
    holder = found["holders"][found["gradient"]]
    assert holder["path"] == "a cycle .grad -> Tensor"
    assert holder["line"] == 6


# --- the way round ----------------------------------------------------------------------------------------------------


def test_nearest_cycle_is_found_with_the_way_on() -> None:
    target = object()
    item: list[Any] = [target]
    inner: list[Any] = [item]
    outer: list[Any] = [inner]
    inner.append(outer)
    far: list[Any] = [outer]
    outer.append(far)
    assert Ways(target, [target, item, inner, outer, far], NO_LIMIT).round() == [inner, outer, inner, item, target]


def test_object_that_holds_itself_is_a_cycle() -> None:
    item: list[Any] = []
    item.append(item)
    way = Ways(item, [item], NO_LIMIT).round()
    assert len(way) == 2
    assert all(part is item for part in way)


def test_cycle_through_what_is_no_member_is_none() -> None:
    target = object()
    inner: list[Any] = [target]
    outer: list[Any] = [inner]
    inner.append(outer)
    assert Ways(target, [target, inner], NO_LIMIT).round() == []
