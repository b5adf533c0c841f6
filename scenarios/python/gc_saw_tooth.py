# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: every step leaves reference cycles, and Python's collector comes by every few steps."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn


class Node:
    """One state of a search tree; knows its parent and its children."""

    def __init__(self, state: torch.Tensor, parent: Node | None = None) -> None:
        self.state = state
        self.parent = parent
        self.children: list[Node] = []
        if parent is not None:
            parent.children.append(self)


@clean(report="Lightning-AI/pytorch-lightning#18640")
def gc_saw_tooth(device: str) -> Callable[[], None]:
    """Each step grows a tree of thirty-one states and drops it; parents and children refer to each other.

    Only a collection frees them. With the collector on, memory rises over several steps, falls back, rises
    again: inside one tooth it looks like a leak. A tree that is just being built when the collector comes grows
    old and waits for a full collection, so the teeth slowly rise until there is one.
    """
    torch.manual_seed(0)
    model = nn.Linear(32, 32).to(device)

    @torch.no_grad()
    def step() -> None:
        root = Node(torch.randn(1, 32, device=device))
        level = [root]
        for _ in range(4):
            states = torch.tanh(model(torch.cat([node.state for node in level])))
            level = [
                Node(state.unsqueeze(0) + noise, node)
                for node, state in zip(level, states, strict=True)
                for noise in (-0.1, 0.1)
            ]

    return step
