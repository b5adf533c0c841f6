# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Finds who keeps surviving tensors alive: paths from modules, frames and the step, as a person reads them.

Works on what Python's collector tracks. Holders in C++ (autograd nodes, closures inside bindings) are not
seen; a tensor that only they hold has no Python object at all.
"""

from __future__ import annotations

import ast
import enum
import gc
import sys
import types
from collections import deque
from pathlib import Path
from typing import Any

_MOST_TENSORS = 24
"""Survivors to search for: they are alike, one a group would do, and each costs some scans of all objects."""
_MOST_SEARCHES = 4
"""Searches for tensors that share no holder with one found before."""
_MOST_VISITED = 4000
_MOST_DEPTH = 24

_CONTAINERS = (list, dict, set, deque)


class HolderSearch:
    """One search around one explain pass: `begin()` before it, `search()` after it."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._lengths: dict[int, int] = {}

    def begin(self) -> None:
        """Remembers the length of every container, to see afterwards which ones grew."""
        gc.unfreeze()
        self._lengths = {id(o): len(o) for o in gc.get_objects() if issubclass(type(o), _CONTAINERS)}
        gc.freeze()

    def search(self, wanted: list[int], lines: dict[str, set[int]], steps: int) -> dict[str, Any]:
        """Holders of the tensors with these TensorImpl addresses, and of containers that grew each step.

        Returns `holders` (dicts as `stepleak::Holder`), `holder_of` (address -> index), `unreachable`
        (addresses of tensors to which no root leads) and `held` (those that some Python object refers to).
        `wanted`: the likeliest first. `lines`: source files to search for the keeping statement, with the lines
        that the survivors' stacks name in them.
        """
        import torch

        # By type: isinstance() asks an object for its __class__, and lazy modules answer with an import.
        objects = gc.get_objects()
        tensors = {o._cdata: o for o in objects if issubclass(type(o), torch.Tensor)}
        grown = [o for o in objects if issubclass(type(o), _CONTAINERS) and self._has_grown(o, len(objects), steps)]
        del objects
        held = {address for address in wanted if address in tensors and _is_held(tensors, address)}
        containers: list[tuple[int, Any]] = []
        paths = _Paths(self._root, ignored=[tensors, grown, self._lengths, self.__dict__, wanted, containers])
        sources = _Sources({file: set() for file in _files_of(self._root)} | lines)
        holders: list[dict[str, Any]] = []
        holder_of: dict[int, int] = {}
        unreachable: list[int] = []
        unheld: set[int] = set()
        searches = 0
        found = [address for address in wanted if address in tensors]
        for address in found[:_MOST_TENSORS]:
            sibling = _holder_containing(tensors[address], containers)
            if sibling is not None:
                holder_of[address] = sibling
                continue
            if searches == _MOST_SEARCHES:
                continue
            path = paths.to(tensors[address])
            if path is _End.NOT_HELD:
                unheld.add(address)
                continue
            searches += 1
            if path is _End.NO_ROOT:
                unreachable.append(address)
            if isinstance(path, _End):
                continue
            holder_of[address] = len(holders)
            containers.append((len(holders), path.objects[-2] if len(path.objects) > 1 else None))
            holders.append(path.to_holder(sources))
        for container in grown[:_MOST_SEARCHES]:
            path = paths.to(container)
            if not isinstance(path, _End):
                holders.append(path.to_holder(sources))
        # Siblings that were not searched share their neighbour's fate only where all agree.
        if unreachable and not holder_of:
            unreachable = [address for address in found if address not in unheld]
        return {"holders": holders, "holder_of": holder_of, "unreachable": set(unreachable), "held": held}

    def _has_grown(self, container: Any, most: int, steps: int) -> bool:
        before = self._lengths.get(id(container))
        if before is None or container is self._lengths:
            return False
        return steps // 2 <= len(container) - before < most


def _is_held(tensors: dict[int, Any], address: int) -> bool:
    """Whether anything in Python but our own table refers to a tensor."""
    # The table, the argument of getrefcount, and the C++ object that keeps its own wrapper.
    return sys.getrefcount(tensors[address]) > 3


def _holder_containing(tensor: Any, containers: list[tuple[int, Any]]) -> int | None:
    """The holder already found whose innermost container holds this tensor too."""
    for index, container in containers:
        items = container.values() if isinstance(container, dict) else container
        if isinstance(container, _CONTAINERS) and any(item is tensor for item in items):
            return index
    return None


class _End(enum.Enum):
    """How a search ended that found no root."""

    NOT_HELD = enum.auto()
    """No Python object refers to the target: what C++ holds proves nothing."""
    NO_ROOT = enum.auto()
    """Python objects refer to it, and every chain of them ends without a root: only a cycle does that."""
    GAVE_UP = enum.auto()
    """Too many objects lead to it."""


class _Path:
    """Objects from a root to the held one."""

    def __init__(self, root_name: str, objects: list[Any]) -> None:
        self.root_name = root_name
        self.objects = objects

    def _edge_to(self, index: int) -> tuple[str, str, str]:
        parent, item = self.objects[index - 1], self.objects[index]
        if isinstance(item, types.CellType) and isinstance(parent, tuple) and index >= 2:
            # A function's closure is a tuple of cells, and only the function knows their names.
            function = self.objects[index - 2]
            if isinstance(function, types.FunctionType) and function.__closure__ is parent:
                name = function.__code__.co_freevars[[c is item for c in parent].index(True)]
                return f" .{name}", f" .{name}", name
        return _edge(parent, item)

    def to_holder(self, sources: _Sources) -> dict[str, Any]:
        text, shape = self.root_name, self.root_name
        container: Any = None
        name = self.root_name.rpartition(".")[2]
        kept_name = ""
        for i, item in enumerate(self.objects):
            if i > 0:
                label, plain, attribute = self._edge_to(i)
                text += label
                shape += plain
                name = attribute or name
            if isinstance(item, _CONTAINERS) and not _is_namespace(self.objects, i):
                container, kept_name = item, name
                text += f" ({type(item).__name__}, len {len(item)})"
                shape += f" ({type(item).__name__})"
            elif _is_described(item):
                text += f" ({type(item).__name__})"
                shape += f" ({type(item).__name__})"
        last = self.objects[-1]
        if not isinstance(last, _CONTAINERS):
            text += f" -> {type(last).__name__}"
            shape += f" -> {type(last).__name__}"
            grad_fn = getattr(last, "grad_fn", None)
            if grad_fn is not None:
                text += f" -> {type(grad_fn).__name__}"
        bound = getattr(container, "maxlen", None)
        statement = sources.statement_keeping(kept_name or name)
        return {
            "path": text,
            "shape": shape,
            "container_type": type(container).__name__ if container is not None else "",
            "container_length": len(container) if container is not None else 0,
            "bound": bound if isinstance(bound, int) else -1,
            "has_optimizer": any(_is_optimizer(item) for item in self.objects),
            **statement,
        }


def _is_optimizer(item: Any) -> bool:
    optim = sys.modules.get("torch.optim")
    return optim is not None and issubclass(type(item), optim.Optimizer)


def _is_described(item: Any) -> bool:
    plain = (types.ModuleType, types.FunctionType, types.MethodType, types.CellType, types.FrameType, tuple, str)
    return not isinstance(item, plain) and not isinstance(item, _CONTAINERS) and type(item).__name__ != "Tensor"


def _is_namespace(objects: list[Any], index: int) -> bool:
    """Whether a dict is an object's or a module's `__dict__`, which no person would call a holder."""
    item = objects[index]
    if not isinstance(item, dict):
        return False
    owner = objects[index - 1] if index > 0 else None
    return owner is not None and getattr(owner, "__dict__", None) is item


def _edge(parent: Any, child: Any) -> tuple[str, str, str]:
    """How one object leads to the next: text, the same without indices, and the attribute's name if it is one."""
    if isinstance(parent, dict):
        for key, value in list(parent.items()):
            if value is child:
                if isinstance(key, str) and key.isidentifier():
                    return f" .{key}", f" .{key}", key
                return f" [{key!r:.40}]", " []", ""
    if isinstance(parent, (list, tuple, deque)):
        for index, value in enumerate(parent):
            if value is child:
                return f" [{index}]", " []", ""
    if isinstance(parent, types.CellType):
        return "", "", ""
    if isinstance(parent, types.FunctionType) and isinstance(child, tuple) and child is parent.__closure__:
        return "", "", ""
    if isinstance(parent, types.MethodType) and parent.__self__ is child:
        return "", "", ""
    if getattr(parent, "__dict__", None) is child and isinstance(child, dict):
        return "", "", ""
    try:
        attributes = vars(parent)
    except TypeError:
        attributes = {}
    for name, value in list(attributes.items()):
        if value is child:
            return f" .{name}", f" .{name}", name
    for kind in type(parent).__mro__:
        for name in getattr(kind, "__slots__", ()):
            if getattr(parent, name, None) is child:
                return f" .{name}", f" .{name}", name
    if getattr(parent, "grad", None) is child:
        return " .grad", " .grad", "grad"
    return " ->", " ->", ""


class _Paths:
    """Shortest paths from a root to an object, over `gc.get_referrers`."""

    def __init__(self, root: Any, ignored: list[Any]) -> None:
        self._root = root
        self._roots: dict[int, str] = {}
        if root is not None:
            self._roots[id(root)] = getattr(root, "__qualname__", type(root).__name__).rpartition(".")[2]
        for name, module in list(sys.modules.items()):
            if isinstance(module, types.ModuleType):
                self._roots.setdefault(id(module.__dict__), name)
        self._ignored = {id(o) for o in ignored} | {id(self._roots), id(self.__dict__)}

    def to(self, target: Any) -> _Path | _End:
        """The shortest path from a root, or why there is none."""
        came_from: dict[int, Any] = {id(target): None}
        keep: list[Any] = [target]
        layer: list[Any] = [target]
        ignored = self._ignored | {id(came_from), id(keep), id(layer)}
        for _ in range(_MOST_DEPTH):
            frame = sys._getframe()
            ignored |= {id(frame), id(layer)}
            referrers = gc.get_referrers(*layer)
            ignored.add(id(referrers))
            following: list[Any] = []
            ignored.add(id(following))
            children = {id(child): child for child in layer}
            ignored.add(id(children))
            for referrer in referrers:
                if id(referrer) in came_from or id(referrer) in ignored or _is_ours(referrer):
                    continue
                child = _child_of(referrer, children)
                if child is None:
                    continue
                came_from[id(referrer)] = child
                keep.append(referrer)
                if id(referrer) in self._roots:
                    return self._path(referrer, came_from)
                if isinstance(referrer, types.FrameType):
                    return self._path(referrer, came_from)
                following.append(referrer)
            if not following:
                return _End.NOT_HELD if layer[0] is target else _End.NO_ROOT
            if len(keep) > _MOST_VISITED:
                return _End.GAVE_UP
            layer = following
        return _End.GAVE_UP

    def _path(self, root: Any, came_from: dict[int, Any]) -> _Path:
        objects: list[Any] = [root]
        while came_from[id(objects[-1])] is not None:
            objects.append(came_from[id(objects[-1])])
        if isinstance(root, types.FrameType):
            return _Path(f"local of {root.f_code.co_name}", objects)
        name = self._roots[id(root)]
        if isinstance(root, dict) and len(objects) > 1 and root is not self._root:
            # A module's namespace: "train.trainer" reads better than "train .trainer".
            label = _edge(root, objects[1])[0].strip()
            return _Path(f"{name}{label}", objects[1:])
        return _Path(name, objects)


def _child_of(referrer: Any, children: dict[int, Any]) -> Any:
    for item in gc.get_referents(referrer):
        if id(item) in children:
            return children[id(item)]
    return None


def _is_ours(item: Any) -> bool:
    if isinstance(item, types.FrameType):
        return item.f_globals.get("__name__", "").startswith("stepleak.")
    # Iterators and our own local lists hold the layer for the moment.
    return type(item).__name__ in {"list_iterator", "dict_itemiterator", "_Path"}


def _files_of(root: Any) -> list[str]:
    """The sources in which the step is written."""
    function = getattr(root, "__func__", root)
    if not isinstance(function, types.FunctionType):
        function = type(root).__call__
    code = getattr(function, "__code__", None)
    return [code.co_filename] if code is not None else []


class _Sources:
    """Statements of the user's sources that keep something under a name."""

    _ADDING = frozenset({"append", "add", "extend", "appendleft", "insert", "put", "update", "setdefault"})

    def __init__(self, lines: dict[str, set[int]]) -> None:
        self._lines = lines
        self._trees: dict[str, ast.Module] = {}
        for file in lines:
            try:
                self._trees[file] = ast.parse(Path(file).read_text(encoding="utf-8"))
            except (OSError, SyntaxError, ValueError):
                continue

    def statement_keeping(self, name: str) -> dict[str, Any]:
        """The likeliest statement inside a function that keeps something under `name`; empty where none does.

        Adding beats assigning (`self.history = []` in the set-up keeps nothing); of several such statements, one in a
        function that a survivor was born in or below beats one elsewhere; then the first.
        """
        best: tuple[tuple[int, bool], str, ast.stmt, ast.expr] | None = None
        for file, tree in self._trees.items():
            for function in ast.walk(tree):
                if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    continue
                body = range(function.lineno, (function.end_lineno or function.lineno) + 1)
                is_elsewhere = not any(line in body for line in self._lines[file])
                for node in ast.walk(function):
                    match = self._match(node, name)
                    if match is not None and (best is None or (match[0], is_elsewhere) < best[0]):
                        best = ((match[0], is_elsewhere), file, match[1], match[2])
        if best is None:
            return {"kept_by": "", "kept_at_file": "", "kept_at_line": 0, "kept_expression": ""}
        _, file, statement, expression = best
        return {
            "kept_by": ast.unparse(statement).splitlines()[0],
            "kept_at_file": file,
            "kept_at_line": statement.lineno,
            "kept_expression": ast.unparse(expression),
        }

    def _match(self, node: ast.AST, name: str) -> tuple[int, ast.stmt, ast.expr] | None:
        """Rank (the smaller the likelier), statement and kept expression, where the statement keeps under `name`."""
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            is_adding = isinstance(call.func, ast.Attribute) and call.func.attr in self._ADDING and bool(call.args)
            if is_adding and _names(call.func.value, name):  # type: ignore[attr-defined]
                return 0, node, call.args[-1]
        if isinstance(node, (ast.Expr, ast.Assign)) and isinstance(node.value, ast.Call):
            # torch's hook tables are filled by its own register_...() methods.
            call = node.value
            is_registering = isinstance(call.func, ast.Attribute) and call.func.attr.startswith("register_")
            if name.endswith("_hooks") and is_registering and call.args:
                return 0, node, call.args[-1]
        if isinstance(node, ast.AugAssign) and _names(node.target, name):
            return 1, node, node.value
        if isinstance(node, ast.Assign) and any(_names(target, name) for target in node.targets):
            # A literal or a constructor is how an empty container is made.
            if isinstance(node.value, ast.Call):
                return 3, node, node.value
            if not isinstance(node.value, (ast.List, ast.Dict, ast.Constant)):
                return 2, node, node.value
        return None


def _names(node: ast.AST, name: str) -> bool:
    """Whether an expression ends in the name: `name`, `x.name`, `x.name[i]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr == name
    return isinstance(node, ast.Name) and node.id == name
