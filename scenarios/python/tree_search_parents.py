# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A tree search, of which the child that was chosen is the next root; each node knows its parent."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak


class Node:
    """A state that can be reached, and those that follow it."""

    def __init__(self, state: torch.Tensor, parent: Node | None = None) -> None:
        self.state = state
        self.parent = parent
        self.children: list[Node] = []
        self.value = 0.0

    def expand(self) -> None:
        self.children = [Node(self.state + torch.randn_like(self.state), parent=self) for _ in range(3)]


class Planner:
    """Chooses the best of three at each step, and tells all before it what came of it."""

    def __init__(self, device: str, *, forgets_the_past: bool) -> None:
        torch.manual_seed(0)
        self.root = Node(torch.zeros(64, device=device))
        self.forgets_the_past = forgets_the_past

    def step(self) -> None:
        self.root.expand()
        best = max(self.root.children, key=lambda child: float(child.state.mean()))
        self.reward(best)
        if self.forgets_the_past:
            best.parent = None
        self.root = best

    def reward(self, node: Node) -> None:
        ancestor: Node | None = node
        for _ in range(3):
            if ancestor is not None:
                ancestor.value += 1.0
                ancestor = ancestor.parent


@leak(
    kind=("growth", "detached_activation"),
    report="opendilab/LightZero#492",
    line="self.root = best",
    holder=".root",
)
def tree_search_parents(device: str) -> Callable[[], None]:
    """Each root leads to all before it, and to what was not chosen there."""
    return Planner(device, forgets_the_past=False).step


@clean(report="opendilab/LightZero#492")
def tree_search_parents_clean(device: str) -> Callable[[], None]:
    """What is not below the new root are cycles, which the collector frees. The first root leads to all later ones."""
    return Planner(device, forgets_the_past=True).step
