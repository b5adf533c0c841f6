# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""One search for holders, and what it found as a person reads it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch
from stepleak._core import frame_locals
from stepleak._holders import HolderSearch

STEPS = 8


class Keeper:
    """Keeps tensors in one of its attributes."""

    def __init__(self, kept: Any) -> None:
        self.kept = kept

    def __call__(self) -> None:
        """The step; what it would keep was kept by the test."""


class SlottedKeeper:
    """The same without a `__dict__`."""

    __slots__ = ("kept",)

    def __init__(self, kept: Any) -> None:
        self.kept = kept

    def __call__(self) -> None:
        """The step."""


def search(
    root: Any,
    keep: Callable[[], list[int]],
    files: tuple[str, ...] = (),
    born_in: frozenset[int] = frozenset(),
    *,
    are_graphs_cyclic: bool = False,
) -> dict[str, Any]:
    """Searches around `keep`, which keeps tensors somewhere and returns their addresses.

    `born_in`: lines of the files.
    """
    holders = HolderSearch(root, frame_locals)
    holders.begin()
    gc.freeze()
    try:
        addresses = keep()
        holders.end()
    finally:
        gc.unfreeze()
    lines = {file: set(born_in) for file in files}
    found = holders.search(addresses, lines, STEPS, are_graphs_cyclic=are_graphs_cyclic)
    assert found["unreachable"] <= set(addresses)
    return {**found, "holders": [as_text(found, holder) for holder in found["holders"]], "addresses": addresses}


def as_text(found: dict[str, Any], holder: dict[str, Any]) -> dict[str, Any]:
    """A holder with its path as a person reads it; the product's own text is made in C++."""
    nodes, edges = found["nodes"], [found["edges"][i] for i in holder["path"]]
    held, container = nodes[holder["held"]], nodes[holder["container"]] if holder["container"] >= 0 else {}
    root = nodes[edges[0]["from"] if edges else holder["held"]]
    path = root["name"] + node_text(root) + "".join(edge_text(e) + node_text(nodes[e["to"]]) for e in edges)
    arrows = ([held] if held["length"] < 0 and held["type"] else []) + (
        [nodes[holder["graph"]]] if holder["graph"] >= 0 else []
    )
    return {
        "path": path + "".join(f" -> {node['type']}" for node in arrows),
        "container_type": container.get("type", ""),
        "container_length": container.get("length", 0),
        "bound": container.get("bound", -1),
        "gains_callbacks": holder["gains_callbacks"],
        **holder["kept_by"],
    }


def node_text(node: dict[str, Any]) -> str:
    if node["length"] >= 0:
        return f" ({node['type']}, len {node['length']})"
    return "" if node["type"] in ("", "Tensor") else f" ({node['type']})"


def edge_text(edge: dict[str, Any]) -> str:
    label = edge["label"]
    texts = {"attribute": f" .{label}", "index": f" [{label}]", "key": f" [{label}]", "hidden": "", "other": " ->"}
    return texts[edge["type"]]


def appended(container: Any) -> Callable[[], list[int]]:
    def keep() -> list[int]:
        addresses = []
        for _ in range(STEPS):
            tensor = torch.zeros(4)
            addresses.append(tensor._cdata)
            container.append(tensor)
        return addresses

    return keep


def holder_of_first(found: dict[str, Any]) -> dict[str, Any]:
    holder: dict[str, Any] = found["holders"][found["holder_of"][found["addresses"][0]]]
    return holder
