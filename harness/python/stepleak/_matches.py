# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a statement puts something where it is kept, and how likely that one is meant."""

from __future__ import annotations

import ast
import io
from dataclasses import dataclass, replace

from stepleak._access import Access, Place, held_in, is_item_at, is_named_alike, leads_to, mentions
from stepleak._aliases import Aliases
from stepleak._statement import calls_for_effect
from stepleak._syntax import arguments_of, called_name, last_name

_FILLED_BY_LIBRARIES = (
    ("_hooks", "register_"),
    ("_hooks", "_register_"),
    ("maps", "new_child"),
    ("param_groups", "add_param_group"),
    ("_modules", "add_module"),
    ("_modules", "register_module"),
    ("_parameters", "register_parameter"),
    ("_buffers", "register_buffer"),
    ("handlers", "addHandler"),
    ("filters", "addFilter"),
    ("_exit_callbacks", "callback"),
    ("_exit_callbacks", "push"),
    ("_exit_callbacks", "enter_"),
    ("filters", "filterwarnings"),
    ("filters", "simplefilter"),
    ("__warningregistry__", "warn"),
    ("_modules", "register_parametrization"),
    ("_registry", "finalize"),
    ("registry", "register"),
    ("_scheduled", "call_"),
    ("_callbacks", "add_done_callback"),
    ("_active", "start"),
    ("_waiters", "wait"),
    ("_waiters", "acquire"),
    *(
        (table, function)
        for table in ("_tags_to_pg", "_pg_map", "_pg_names", "_pg_group_ranks", "_pg_backend_config", "_pg_to_tag")
        for function in ("new_group", "new_subgroups")
    ),
)
"""Ends of the names of containers in objects of torch and of Python's own library, and how the functions that fill them
begin."""

_ONLY_THERE = frozenset({"addHandler", "addFilter", "add_param_group", "new_group", "new_subgroups"})
"""Of these functions those whose name says all, in whatever file it stands."""

_CONTAINERS = frozenset({"Counter", "OrderedDict", "defaultdict", "deque", "dict", "list", "set"})
_BY_LABEL = frozenset({"loc", "iloc", "at"})
"""By which pandas sets a row of a table, or adds one."""
_ADDING_ONE = frozenset({"append", "add", "appendleft", "insert", "setdefault", "put", "put_nowait"})
_ADDING_ALL = frozenset({"extend", "update", "write", "writelines"})
_JOINING = frozenset({"append", "cat", "chain", "concat", "concatenate", "hstack", "vstack"})
"""Functions that make one of all that they are given."""


IN_PLACE = frozenset({"add_", "sub_", "mul_", "div_", "lerp_", "copy_"})
"""Of a tensor: what it has then leads to what it had."""


@dataclass(frozen=True)
class Match:
    """A statement that may keep something at a place; the smaller `rank`, the likelier."""

    is_proven: bool
    rank: int
    node: ast.stmt
    value: ast.expr | None
    """The expression of what is held; None where the statement does not write it."""
    is_registering: bool = False
    """Whether it calls a function of a library that fills a container of its."""
    is_adding: bool = True
    """Whether it keeps one more, and does not make the container, or put another in the place of what is there."""


def functions_filling(label: str) -> list[str]:
    """Those that fill a library's container of this name, and are told by their own name wherever that is."""
    return [verb for end, verb in _FILLED_BY_LIBRARIES if label.endswith(end) and verb in _ONLY_THERE]


def match_of(node: ast.AST, place: Place, owner: str, aliases: Aliases) -> Match | None:
    """Of a node of the syntax tree; None where it keeps nothing at the place. `owner`: the class in which it stands."""
    match = _direct_match_of(node, place, owner, aliases)
    return match or (_registering(node) if _is_filled_within(node, place) else None)  # type: ignore[arg-type]


def _direct_match_of(node: ast.AST, place: Place, owner: str, aliases: Aliases) -> Match | None:
    if _is_changed_in_place(node, place, owner):
        # Behind what gives the tensor's place another one, made in the same line of the old one.
        return Match(is_proven=True, rank=3, node=node, value=None)  # type: ignore[arg-type]
    if isinstance(node, (ast.Expr, ast.Assign, ast.Return)) and (call := _call_in(node.value)) is not None:
        method = called_name(call)
        if _is_filling(place, method):
            return _registering(node)
        if _is_set_by(call, place, owner):
            return Match(is_proven=True, rank=1, node=node, value=None)
        if isinstance(node, ast.Expr) and _is_written_by(call, place, owner):
            return Match(is_proven=True, rank=1, node=node, value=None)
    for call in calls_for_effect(node):
        match = _match_call(node, call, place, owner, aliases)  # type: ignore[arg-type]
        if match is not None:
            return match
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        is_filling = any(_is_filling(place, called_name(call)) for call in node.decorator_list)
        return _registering(node) if is_filling else None
    if isinstance(node, ast.AugAssign):
        return _match_assignment(node, aliases.meant(node.target), node.value, place, owner, 1)
    if isinstance(node, ast.Assign):
        # To assign a variable changes nothing of what it stood for; to assign an item of it does.
        parts = [(aliases.meant(to) if isinstance(to, ast.Subscript) else to, value) for to, value in _parts_of(node)]
        matches = [_match_part(node, *part, place, owner) for part in parts]
        # Of what one of several names gets of a call no expression is known: `out, self.hidden = self.rnn(x)`.
        inner = [_match_part(node, each, node.value, place, owner) for each in _targets_within(node)]
        matches += [None if match is None else replace(match, value=None) for match in inner]
        return next((match for match in matches if match is not None), None)
    return None


def _match_call(node: ast.stmt, call: ast.Call, place: Place, owner: str, aliases: Aliases) -> Match | None:
    method = called_name(call)
    added_to = _added_to(call)
    if added_to is None or method not in _ADDING_ONE | _ADDING_ALL:
        return None
    container = aliases.meant(added_to)
    value = held_in(call.args[-1], place.beyond[1:]) if method in _ADDING_ONE else None
    return _found(node, container, place, leads_to(container, place.way, owner), 0, value)


def _added_to(call: ast.Call) -> ast.expr | None:
    """What a method with arguments is called of, also by its class: `kept.append(x)`, `list.append(kept, x)`."""
    if not isinstance(call.func, ast.Attribute) or not call.args:
        return None
    of = call.func.value
    return call.args[0] if len(call.args) > 1 and last_name(of) in _CONTAINERS else of


def _match_part(node: ast.Assign, target: ast.expr, value: ast.expr, place: Place, owner: str) -> Match | None:
    # A literal or a constructor is how an empty container is made, unless it takes over what was in the old one, or
    # is an item of it.
    is_new = isinstance(value, ast.Constant) or makes_empty(value)
    if is_new and not is_item_at(target, place, owner) and not _takes_over(value, place.way, owner):
        return None
    if _is_part_of(value, place.way, owner):
        return None
    if _is_row_of(target, place, owner):
        return Match(is_proven=True, rank=1, node=node, value=None)
    return _match_assignment(node, target, value, place, owner, 3 if isinstance(value, ast.Call) else 2)


def _match_assignment(
    node: ast.Assign | ast.AugAssign,
    target: ast.expr,
    assigned: ast.expr,
    place: Place,
    owner: str,
    rank: int,
) -> Match | None:
    # An item of the container is kept there, and so is what takes the place of a tensor; to assign the container
    # itself is mostly how it is made.
    is_item = is_item_at(target, place, owner)
    is_whole = leads_to(target, place.way, owner)
    # What a buffer grows by is put behind what it holds; else it is made anew.
    if place.buffer is not None and rank > 1 and not is_item and not mentions(assigned, place.way, owner):
        if not isinstance(assigned, ast.Name):
            return None
        rank += 1  # of what the variable was assigned before
    is_part = place.is_container or bool(place.beyond)
    value = None if is_part and not is_item else held_in(assigned, place.beyond[1:])
    if is_whole and place.is_container and rank > 1:
        rank = 4
    is_more = _is_new_item(target, place) if is_item else has_more_than(assigned, place.way, owner)
    match = _found(node, target, place, is_item or is_whole, rank, value)
    return None if match is None else replace(match, is_adding=rank == 1 or is_more)


def _is_new_item(target: ast.expr, place: Place) -> bool:
    """Whether an item may be one more: a list has another one only where a slice is assigned."""
    is_of_list = bool(place.beyond) and place.beyond[0].kind == "index"
    return not is_of_list or (isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice))


def has_more_than(value: ast.expr, way: list[Access], owner: str) -> bool:
    """Whether it is made of what is at a place and something beside it: `kept + [x]`, `cat((kept, x))`."""
    if isinstance(value, ast.BinOp):
        parts = [value.left, value.right]
    elif isinstance(value, (ast.List, ast.Tuple)):
        parts = [part.value if isinstance(part, ast.Starred) else part for part in value.elts]
    elif isinstance(value, ast.Dict):
        parts = value.values
    elif isinstance(value, ast.Call):
        parts = value.args if called_name(value) in _JOINING | _CONTAINERS else []
    else:
        return False
    is_beside = len(parts) > 1 and any(leads_to(part, way, owner) for part in parts)
    return is_beside or any(has_more_than(part, way, owner) for part in parts)


def _found(
    node: ast.stmt, target: ast.expr, place: Place, is_proven: bool, rank: int, value: ast.expr | None
) -> Match | None:
    if is_proven:
        return Match(is_proven=True, rank=rank, node=node, value=value)
    if rank > 1 or not is_named_alike(target, place.way[-1].label):
        return None
    return Match(is_proven=False, rank=rank, node=node, value=value)


def _registering(node: ast.stmt) -> Match:
    return Match(is_proven=False, rank=0, node=node, value=None, is_registering=True)


def _is_filled_within(node: ast.AST, place: Place) -> bool:
    """Whether a statement hands something to a library and does more with what that gives: it puts the handle of a hook
    into a list, say."""
    value = node.value if isinstance(node, (ast.Expr, ast.Assign, ast.AugAssign, ast.Return)) else None
    parts = [] if value is None else list(ast.walk(value))
    removed = {part.value for part in parts if isinstance(part, ast.Attribute) and part.attr == "remove"}
    return any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and _is_filling(place, part.func.attr)
        for part in parts
        if part not in removed
    )


def _is_filling(place: Place, called: str) -> bool:
    """Whether a function of this name puts something into a library's container."""
    # Of a list of the library's own containers, one of these may be the innermost.
    is_item = place.way[-1].kind == "index" and len(place.way) > 1
    label = place.way[-2 if is_item else -1].label
    # `register_buffer()` adds no hook.
    is_hooking = "hook" in called or not label.endswith("_hooks")
    return is_hooking and any(label.endswith(end) and called.startswith(verb) for end, verb in _FILLED_BY_LIBRARIES)


def _is_set_by(call: ast.Call, place: Place, owner: str) -> bool:
    """Whether a call gives a context variable another value, which no attribute shows."""
    is_set = isinstance(call.func, ast.Attribute) and call.func.attr == "set" and bool(call.args)
    if not is_set or isinstance(call.args[0], ast.Constant):
        return False
    return leads_to(call.func.value, place.way, owner)  # type: ignore[attr-defined]


def _is_written_by(call: ast.Call, place: Place, owner: str) -> bool:
    """Whether a call gets the file in memory that grew: `torch.save(state, self.file)`, `print(text, file=log)`."""
    is_file = place.buffer is not None and issubclass(place.buffer, (io.BytesIO, io.StringIO))
    return is_file and any(leads_to(value, place.way, owner) for value in arguments_of(call))


def _is_changed_in_place(node: ast.AST, place: Place, owner: str) -> bool:
    """Whether a statement changes a tensor in place, which makes its graph longer: `self.total.add_(loss)`, or
    `self.window[i] = hidden`."""
    if place.is_container or place.beyond or place.buffer is not None:
        return False
    changed: list[ast.expr] = []
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        changed = [node.value.func.value] if node.value.func.attr in IN_PLACE else []
    elif isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        changed = [target.value for target in targets if isinstance(target, ast.Subscript)]
    return any(leads_to(each, place.way, owner) for each in changed)


def _call_in(value: ast.expr | None) -> ast.Call | None:
    """What a statement calls, or awaits the call of."""
    value = value.value if isinstance(value, ast.Await) else value
    return value if isinstance(value, ast.Call) and isinstance(value.func, (ast.Attribute, ast.Name)) else None


def _parts_of(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """What is assigned to what: `a, b = 1, 2` are two assignments."""
    parts: list[tuple[ast.expr, ast.expr]] = []
    for target in node.targets:
        is_pairwise = isinstance(target, (ast.Tuple, ast.List)) and isinstance(node.value, (ast.Tuple, ast.List))
        inner = [target.elts, node.value.elts] if is_pairwise else [[target], [node.value]]  # type: ignore[attr-defined]
        if len(inner[0]) != len(inner[1]) or any(isinstance(e, ast.Starred) for e in inner[0] + inner[1]):
            inner = [[target], [node.value]]
        parts += zip(*inner, strict=True)
    return parts


def _targets_within(node: ast.Assign) -> list[ast.expr]:
    """Those that get a part each of one value."""
    whole = [target for target, _ in _parts_of(node) if isinstance(target, (ast.Tuple, ast.List))]
    return [each for target in whole for each in target.elts]


def makes_empty(value: ast.expr) -> bool:
    """Whether an expression makes a container with nothing in it, or by a literal: `OrderedDict()`, `[]`."""
    if isinstance(value, (ast.List, ast.Dict)):
        return True
    if not isinstance(value, ast.Call):
        return False
    name = called_name(value)
    return len(value.args) <= (name == "defaultdict") and name in _CONTAINERS


def _is_part_of(value: ast.expr, way: list[Access], owner: str) -> bool:
    """Whether it is a part of what is at a place, as of a buffer that is cut: `self.keys[kept]`."""
    return isinstance(value, ast.Subscript) and leads_to(value.value, way, owner)


def _is_row_of(target: ast.expr, place: Place, owner: str) -> bool:
    """Whether it is a row of a table that grew, as pandas writes one: `self.frame.loc[len(self.frame)]`."""
    if place.buffer is None or not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Attribute):
        return False
    return target.value.attr in _BY_LABEL and leads_to(target.value.value, place.way, owner)


def _takes_over(value: ast.expr, way: list[Access], owner: str) -> bool:
    """Whether a literal has all that is at a place: `[*losses, loss]`."""
    old = value.elts if isinstance(value, ast.List) else []
    return any(isinstance(part, ast.Starred) and leads_to(part.value, way, owner) for part in old)
