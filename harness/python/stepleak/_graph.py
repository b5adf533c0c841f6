# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Turns paths of objects into values: nodes and labelled edges, as `stepleak::ObjectGraph` holds them."""

from __future__ import annotations

import contextvars
import types
from collections.abc import Callable
from typing import Any

from stepleak import _tensors
from stepleak._access import Access, Place
from stepleak._frames import ReadLocals, beginning_of, frame_of, name_in
from stepleak._laggards import TEE
from stepleak._objects import (
    attributes_of,
    bound_of,
    class_names,
    container_kind,
    is_a,
    is_namespace_of,
    is_one_of,
    is_optimizer,
    items_of,
    key_text,
    type_name,
)
from stepleak._paths import Search
from stepleak._unseen import base_of, contents_of, is_array, length_of

_UNNAMED = (types.ModuleType, types.FunctionType, types.MethodType, types.CellType, types.FrameType, tuple, str)

Edge = tuple[str, str]
"""Type, as `stepleak::EdgeType`, and label."""
NEW = -1
"""The growth of a container that was not there before."""
CYCLE = "a cycle"
"""The name of what a way begins with where no root leads to it."""
HIDDEN: Edge = ("hidden", "")
OTHER: Edge = ("other", "")


class Graph:
    """Nodes and edges of all paths, each object once.

    `growth`: by how much a container has grown while survivors were recorded; below zero where it was born then.
    """

    def __init__(self, read_locals: ReadLocals, growth: Callable[[Any], int] = lambda _: 0) -> None:
        self._growth = growth
        self.nodes: list[dict[str, Any]] = []
        self.edges: list[dict[str, Any]] = []
        self._read_locals = read_locals
        self._node_of: dict[tuple[int, str], int] = {}
        self._edge_of: dict[tuple[int, int], int] = {}

    def add(self, search: Search, *, is_whole: bool = False, within: Any = None) -> dict[str, Any]:
        """Adds a path that was found. Returns it as a `stepleak::HeldPath`.

        And the `place` where it is kept, and the `chain` of objects up to its container. `is_whole`: what is held grew
        itself, as a buffer does and what a chain begins with, so that there is no container. `within`: a container on
        the way, beyond which none is looked for.
        """
        objects, name = search.objects, search.root_name
        path: list[int] = []
        way: list[Access] = []
        if search.variable:
            node = self._node(None, name)
            path.append(self._edge(node, self._node(objects[0]), ("attribute", search.variable)))
            way.append(Access("variable", search.variable, scope=search.scope))
        else:
            if is_a(objects[0], dict) and len(objects) > 1 and search.is_namespace:
                # "train.trainer" reads better than "train .trainer".
                edge, objects = _label(objects[0], objects[1]), objects[1:]
                name += _text(edge)
                way.append(Access("variable" if edge[0] == "attribute" else "other", edge[1]))
            else:
                way.append(Access("other", name))
            self._node(objects[0], name)
        found = self._walk(objects, "" if search.variable else name, path, way, is_whole, within)
        beyond = found.pop("beyond")
        chain = search.objects[: len(search.objects) - beyond] if found["container"] >= 0 else []
        return found | {"chain": chain}

    def add_place(self, search: Search) -> dict[str, Any]:
        """Adds a path to what lies in the only place for it, as a leaf's gradient does: the leaf is a container of one.
        Returns it as a `stepleak::HeldPath`."""
        found = self.add(search, is_whole=True)
        container = self._node(search.objects[-2])
        self.nodes[container]["length"] = 1
        return {"path": found["path"], "held": found["held"], "container": container, "graph": -1}

    def begin_with(self, other: Graph) -> None:
        """Takes over the nodes and edges of another one, of objects that are gone: one that is made later may have the
        `id` of one of them. Before anything is added."""
        self.nodes, self.edges = list(other.nodes), list(other.edges)

    def add_cycle(self, objects: list[Any]) -> tuple[dict[str, Any], list[Access]]:
        """Adds a way that begins with a cycle. Returns it as a `stepleak::HeldPath` of no container, and the way."""
        path: list[int] = []
        way = [Access("other", "")]
        self._node(objects[0], CYCLE)
        found = self._walk(objects, CYCLE, path, way, is_whole=True)
        return {"path": path, "held": found["held"], "container": -1, "graph": -1}, way

    def _walk(
        self, objects: list[Any], name: str, path: list[int], way: list[Access], is_whole: bool, within: Any = None
    ) -> dict[str, Any]:
        node = self._node(objects[0], name)
        container, length, beyond, most = -1, len(way), 0, NEW
        # Of a tuple, which is made anew where it grows, of an error, whose traceback keeps the rest, and of an iterator
        # of tee, which no statement fills.
        inside = -1
        is_sought = not is_whole
        for i, item in enumerate(objects):
            if i > 0:
                edge = self._label_at(objects, i)
                following = self._node(item, is_namespace=edge == HIDDEN and is_namespace_of(objects[i - 1], item))
                path.append(self._edge(node, following, edge))
                node = following
                if edge != HIDDEN:
                    way.append(_access(objects, i, edge))
            is_closure = i > 0 and _is_closure(objects[i - 1], item)
            is_own = is_a(item, BaseException) or type(item) is TEE
            if inside < 0 and ((is_a(item, tuple) and not is_closure) or is_own):
                inside = len(way)
            # The innermost container that was there before, but where one grew: what is put in is often one, too.
            if is_sought and self.nodes[node]["length"] >= 0 and (growth := self._growth(item)) >= most:
                container, length, beyond, most = node, len(way), len(objects) - 1 - i, growth
            is_sought = is_sought and (within is None or item is not within)
        if container < 0:
            length = len(way) if inside < 0 else inside
        return {
            "path": path,
            "held": node,
            "container": container,
            "graph": self._autograd_node(objects[-1]),
            "place": Place(way[:length], way[length:], container >= 0),
            "beyond": beyond,
        }

    def _autograd_node(self, held: Any) -> int:
        if not _tensors.is_tensor(held):
            return -1
        graph = _tensors.graph_of(held)
        return -1 if graph is None else self._node(graph)

    def _node(self, item: Any, name: str = "", is_namespace: bool = False) -> int:
        key = (id(item), name)
        if key not in self._node_of:
            self._node_of[key] = len(self.nodes)
            has_no_name = item is None or is_namespace or is_unnamed(item)
            self.nodes.append(
                {
                    "type": "" if has_no_name else type_name(item),
                    "name": name,
                    "length": -1 if is_namespace else length_of(item),
                    "bound": bound_of(item),
                    "is_optimizer": is_optimizer(item),
                }
            )
        return self._node_of[key]

    def _edge(self, start: int, end: int, edge: Edge) -> int:
        if (start, end) not in self._edge_of:
            self._edge_of[start, end] = len(self.edges)
            self.edges.append({"from": start, "to": end, "type": edge[0], "label": edge[1]})
        return self._edge_of[start, end]

    def _label_at(self, objects: list[Any], index: int) -> Edge:
        parent, item = objects[index - 1], objects[index]
        variables = _variables_in(objects[index - 2], parent) if index >= 2 else ()
        if variables:
            return "attribute", variables[[value is item for value in parent].index(True)]
        frame = frame_of(parent)
        name = None if frame is None else name_in(frame, item, self._read_locals)
        return _label(parent, item) if name is None else ("attribute", name)


def is_unnamed(item: Any) -> bool:
    """Whether it is of a type that no person would call a holder."""
    return is_a(item, _UNNAMED)  # type: ignore[arg-type]


def _is_closure(owner: Any, held: Any) -> bool:
    return type(owner) is types.FunctionType and owner.__closure__ is held


def _access(objects: list[Any], index: int, edge: Edge) -> Access:
    """How the source would write the edge that ends at `objects[index]`."""
    kind, label = edge
    parent = objects[index - 1]
    if kind != "attribute":
        return Access(kind, label)
    if (frame := frame_of(parent)) is not None:
        return Access("variable", label, scope=beginning_of(frame.f_code))
    if index > 1 and _variables_in(objects[index - 2], parent):
        return Access("variable", label, scope=beginning_of(objects[index - 2].__code__))
    if is_a(parent, dict):
        owner = objects[index - 2] if index > 1 else None
        if not is_namespace_of(owner, parent):
            return Access("key", label)
        parent = owner
    if is_a(parent, types.ModuleType):
        return Access("variable", label)
    return Access("attribute", label, class_names(parent))


def _variables_in(function: Any, values: Any) -> tuple[str, ...]:
    """Names of what a function's closure (a tuple of cells) or its defaults hold, which only the function knows."""
    if type(function) is not types.FunctionType or type(values) is not tuple:
        return ()
    code = function.__code__
    if values is function.__closure__:
        return code.co_freevars
    return code.co_varnames[: code.co_argcount][-len(values) :] if values is function.__defaults__ else ()


def _label(parent: Any, child: Any) -> Edge:
    """How one object leads to the next."""
    if is_array(parent):
        if base_of(parent) is child:
            return "attribute", "base"
        return "index", str([item is child for item in contents_of(parent)].index(True))
    known = _label_of_plain(parent, child) or _label_of_item(parent, child)
    if known is not None:
        return known
    if is_namespace_of(parent, child):
        return HIDDEN
    name = next((name for name, value in attributes_of(parent) if value is child), None)
    if name is None and _tensors.is_tensor(parent) and child is not None:
        name = _tensors.name_of(parent, child)
    return OTHER if name is None else ("attribute", name)


def _label_of_item(parent: Any, child: Any) -> Edge | None:
    if is_a(parent, dict):
        for key, value in list(dict.items(parent)):
            if value is child:
                is_name = type(key) is str and key.isidentifier()
                return ("attribute", key) if is_name else ("key", key_text(key))
    elif is_a(parent, tuple) or container_kind(parent) not in (None, set):
        index = next((i for i, value in enumerate(items_of(parent)) if value is child), None)
        return None if index is None else ("index", str(index))
    return None


def _label_of_plain(parent: Any, child: Any) -> Edge | None:
    """Of the steps that a person does not see."""
    kind = type(parent)
    is_hidden = (
        is_one_of(kind, (types.CellType, types.MappingProxyType, contextvars.ContextVar))
        or (kind is types.FunctionType and bool(_variables_in(parent, child)))
        or (kind is types.MethodType and parent.__self__ is child)
    )
    return HIDDEN if is_hidden else None


def _text(edge: Edge) -> str:
    """How an edge out of a module's namespace reads behind the module's name."""
    return f".{edge[1]}" if edge[0] == "attribute" else f"[{edge[1]}]"
