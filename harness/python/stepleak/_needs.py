# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of an expression's value in the user's sources: whether a number would do for it, or gradients flow.

Whatever cannot be followed needs the graph: detaching it may silently stop the training.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from enum import IntEnum

from stepleak._reads import Read, reads, reads_of_attribute, reads_of_variable
from stepleak._syntax import (
    FUNCTIONS,
    Function,
    Module,
    argument_of,
    called_name,
    first_name,
    is_property,
    last_name,
    parameters,
)
from stepleak._user_code import UserCode


class Need(IntEnum):
    """The greater, the more is needed."""

    NUMBER = 0
    TENSOR = 1
    """Its methods, and no graph."""
    GRAPH = 2


_MOST_READS = 400
_OF_NUMBERS = frozenset({"float", "int", "bool", "str", "repr", "format", "print", "round", "isinstance", "type", "id"})
_COMPARING = frozenset({"abs", "max", "min", "sum"})
"""Builtins that give one of what they get, or make another of these."""
_LOGGING = frozenset(
    {"debug", "info", "warning", "error", "critical", "exception", "log", "log_dict", "log_metrics", "log_metric"}
    | {"add_scalar", "add_scalars", "set_postfix", "set_postfix_str", "set_description", "write", "report_scalar"}
    | {"format"}
)
"""Methods that print, or write to a log."""
_LIBRARIES = frozenset({"torch", "F"})
_ASKING = frozenset({"is_tensor", "isnan", "isfinite", "isinf", "equal", "allclose", "argmax", "argmin", "save"})
_WITHOUT_GRAPH = frozenset(
    {"detach", "detach_", "item", "tolist", "numpy", "size", "dim", "numel", "nelement", "is_contiguous", "data_ptr"}
    | {"element_size", "get_device", "requires_grad_", "shape", "device", "dtype", "ndim", "requires_grad", "grad_fn"}
    | {"is_leaf", "is_cuda", "data", "nbytes", "itemsize"}
)
"""Methods and attributes of a tensor that lead to no graph."""
_INTO_GRAPH = frozenset({"backward", "manual_backward", "grad", "register_hook", "retain_grad"})
_SWITCHES = frozenset({"no_grad", "inference_mode"})
_UNSEEN = frozenset({"__call__", "forward"})
"""Functions that are called under no name of theirs."""
_ON = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Await, ast.Starred),
    *(ast.Tuple, ast.List, ast.Set, ast.Dict),
)
_TESTING = (ast.If, ast.While, ast.IfExp, ast.Assert)


def need_of(code: UserCode, read: Read) -> Need:
    """Of an expression, with all that is made of it."""
    return _Needs(code).of(*read)


class _Needs:
    """Of one expression. What it is assigned to, passed as, or returned as, is followed once."""

    def __init__(self, code: UserCode) -> None:
        self._code = code
        self._met: set[ast.AST] = set()

    def of(self, module: Module, node: ast.AST) -> Need:
        if node in self._met:
            return Need.NUMBER
        self._met.add(node)
        if len(self._met) > _MOST_READS:
            return Need.GRAPH
        found = self._of(module, node)
        return min(found, Need.TENSOR) if found is Need.GRAPH and _is_without_graph(module, node) else found

    def _of(self, module: Module, node: ast.AST) -> Need:
        parent, field = module.parent(node)
        is_test = isinstance(parent, _TESTING) and field in ("test", "msg")
        is_negated = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
        if is_test or is_negated or isinstance(parent, (ast.Expr, ast.Compare, ast.FormattedValue, ast.Delete)):
            return Need.NUMBER
        if isinstance(parent, ast.Attribute):
            return self._of_attribute(module, parent)
        if isinstance(parent, ast.Subscript):
            if field == "slice":
                return Need.TENSOR
            return max(Need.TENSOR, self.of(module, parent)) if isinstance(parent.ctx, ast.Load) else Need.GRAPH
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod) and _is_text(parent.left):
            return Need.NUMBER
        if isinstance(parent, _ON):
            return self.of(module, parent)
        if isinstance(parent, ast.Call) and field == "args":
            return self._of_argument(module, parent, node)
        if isinstance(parent, ast.keyword):
            call, _ = module.parent(parent)
            return self._of_argument(module, call, node) if isinstance(call, ast.Call) else Need.GRAPH
        if isinstance(parent, ast.NamedExpr):
            return max(self._of_target(module, parent.target), self.of(module, parent))
        if isinstance(parent, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and field == "value":
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            return max(self._of_target(module, target) for target in targets)
        return self._of_returned(module, node) if isinstance(parent, ast.Return) else Need.GRAPH

    def _of_all(self, found: Iterable[Read]) -> Need:
        return max((self.of(*read) for read in found), default=Need.NUMBER)

    def _of_attribute(self, module: Module, attribute: ast.Attribute) -> Need:
        """Of what a method, or an attribute, is asked of."""
        call, field = module.parent(attribute)
        if attribute.attr in _WITHOUT_GRAPH and isinstance(attribute.ctx, ast.Load):
            return Need.TENSOR
        if attribute.attr in _INTO_GRAPH or not isinstance(attribute.ctx, ast.Load):
            return Need.GRAPH
        is_called = isinstance(call, ast.Call) and field == "func"
        return max(Need.TENSOR, self.of(module, call if is_called and call is not None else attribute))

    def _of_argument(self, module: Module, call: ast.Call, node: ast.AST) -> Need:
        name, is_method = called_name(call), isinstance(call.func, ast.Attribute)
        library = first_name(call.func)
        if name in _INTO_GRAPH:
            return Need.GRAPH
        if library in _LIBRARIES and is_method:
            return Need.TENSOR if name in _ASKING else max(Need.TENSOR, self.of(module, call))
        if library in ("np", "numpy", "pickle", "json"):
            return Need.TENSOR
        if library in ("math", "logging") or (name in _LOGGING if is_method else name in _OF_NUMBERS):
            return Need.NUMBER
        if name in _COMPARING and not is_method:
            return self.of(module, call)
        return self._of_parameter(module, call, node)

    def _of_parameter(self, module: Module, call: ast.Call, node: ast.AST) -> Need:
        """Of what a function of the user's gets."""
        name = called_name(call)
        functions = [] if self._code.is_of_library(module, call) else self._code.functions(name)
        if not functions or self._code.classes(name):
            return Need.GRAPH
        return max(self._of_passed(home, function, call, node) for home, function in functions)

    def _of_passed(self, home: Module, function: Function, call: ast.Call, node: ast.AST) -> Need:
        is_bound = home.class_of_method(function) is not None
        names = [*parameters(function), *(argument.arg for argument in function.args.kwonlyargs)]
        name = next((name for name in names if argument_of(call, function, name, is_bound) is node), None)
        return Need.GRAPH if name is None else self._of_all(reads_of_variable(home, function, name))

    def _of_target(self, module: Module, target: ast.expr) -> Need:
        if isinstance(target, (ast.Tuple, ast.List)):
            return max((self._of_target(module, each) for each in target.elts), default=Need.NUMBER)
        is_item = isinstance(target, ast.Subscript)
        while isinstance(target, (ast.Subscript, ast.Starred)):
            target = target.value
        if not isinstance(target, (ast.Name, ast.Attribute)):
            return Need.GRAPH
        # To put an item into a container changes nothing of those that it has.
        found = reads(self._code, module, target)
        return self._of_all(read for read in found if not (is_item and _is_put_into(*read)))

    def _of_returned(self, module: Module, node: ast.AST) -> Need:
        function = module.function(node)
        if function is None or module.scope(node) is not function or function.name in _UNSEEN:
            return Need.GRAPH
        if is_property(function):
            return self._of_all(reads_of_attribute(self._code, function.name, module.class_of_method(function)))
        if self._code.is_step(module, function):
            return Need.NUMBER
        calls = self._code.calls(function.name)
        return self._of_all(calls) if calls else Need.GRAPH


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_put_into(module: Module, node: ast.expr) -> bool:
    item, field = module.parent(node)
    return isinstance(item, ast.Subscript) and field == "value" and not isinstance(item.ctx, ast.Load)


def _is_without_graph(module: Module, node: ast.AST) -> bool:
    """Whether it stands where torch records nothing: `with torch.no_grad():`."""
    for outer, field in module.around(node):
        if isinstance(outer, (ast.With, ast.AsyncWith)) and field == "body":
            if any(called_name(item.context_expr) in _SWITCHES for item in outer.items):
                return True
        elif isinstance(outer, FUNCTIONS) and field == "body":
            used = [made.func if isinstance(made, ast.Call) else made for made in outer.decorator_list]
            return any(last_name(each) in _SWITCHES for each in used)
    return False
