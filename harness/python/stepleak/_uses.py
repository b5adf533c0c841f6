# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the user's sources do with one container, under all names under which it goes there.

From the name under which it is kept every expression is followed that may be the container: other variables, arguments
of the user's functions, what they return, loops over several containers, `getattr`. What cannot be followed is said.
"""

from __future__ import annotations

import ast
import dataclasses

from stepleak._assignments import assignments, variable_stores
from stepleak._container_words import ADDING, FRESH, OF_QUEUES, READING, READING_LIBRARIES, REMOVING, SAME_ITEMS
from stepleak._literals import may_be
from stepleak._slots import Slot
from stepleak._syntax import (
    COMPREHENSIONS,
    FUNCTIONS,
    Module,
    argument_of,
    called_name,
    first_name,
    has_text,
    is_parameter,
    last_name,
    parameters,
)
from stepleak._use import VALUE, Keys, Name, Use
from stepleak._user_code import OwnerClasses, UserCode

_DYNAMIC = ("getattr(", "setattr(", "delattr(", "vars(", "__dict__", "globals(")
_MOST_NAMES = 200
_CONTAINERS = frozenset({"list", "dict", "set", "deque", "OrderedDict", "defaultdict"})


class Uses:
    """All uses of one container.

    `classes`: its owner's. `own`: of its own class and bases. `methods`: what its class defines.
    """

    def __init__(self, code: UserCode, classes: OwnerClasses, own: frozenset[str], methods: frozenset[str]) -> None:
        self.found: list[Use] = []
        self.lengths: set[ast.AST] = set()
        """Expressions that are its length."""
        self.denoting: set[ast.AST] = set()
        """Expressions that are it, or hold it."""
        self.stores_elsewhere: list[tuple[Module, ast.expr]] = []
        """Where another attribute that had it may get something else."""
        self.is_whole = True
        self._is_dynamic = False
        self._code = code
        self._classes = classes
        self._own = own
        self.methods = methods
        self._removing = REMOVING | OF_QUEUES if "put" in methods else REMOVING
        self._names: set[tuple[str, str, Keys, int, bool, int]] = set()
        self._waiting: list[Name] = []
        self.kept_as: dict[ast.expr, ast.expr] = {}
        """Of what a variable is given, where the variable is kept then."""
        self._origins: set[tuple[ast.AST, str, Keys]] = set()
        """Variables from which it got to where it is kept: the scope, the name and the keys."""

    def follow(self, names: list[Name]) -> None:
        for name in names:
            self.add(name)
        self._follow_all()

    def _follow_all(self) -> None:
        while self._waiting:
            name = self._waiting.pop()
            self._is_dynamic = name.is_guess
            modules, is_whole = self._modules_of(name)
            self.is_whole = self.is_whole and is_whole and len(self._names) < _MOST_NAMES
            if len(self._names) >= _MOST_NAMES:
                return
            for module in modules if name.module is None else [name.module]:
                for node in module.nodes:
                    if isinstance(node, ast.expr):
                        self._meet(name, module, node)
                    elif isinstance(node, (ast.ImportFrom, ast.MatchAs)):
                        self._meet_binding(name, module, node)
        self._is_dynamic = False

    def _modules_of(self, name: Name) -> tuple[list[Module], bool]:
        modules, is_whole = self._code.mentioning(name.name)
        if name.kind == "attribute":
            for word in _DYNAMIC:
                dynamic, is_parsed = self._code.mentioning(word)
                modules = modules + [m for m in dynamic if m not in modules]
                is_whole = is_whole and is_parsed
        return modules, is_whole

    def add(self, name: Name) -> None:
        if self._is_dynamic:
            name = dataclasses.replace(name, is_guess=True)
        if name.module is not None and name.scope is name.module.tree:
            for cell in self._code.sharing(name.module.namespace, name.name):
                self._add_name(dataclasses.replace(name, module=cell, scope=cell.tree))
        self._add_name(name)

    def _add_name(self, name: Name) -> None:
        key = (name.kind, name.name, name.keys, id(name.scope), name.is_guess, id(name.given_to))
        if key not in self._names:
            self._names.add(key)
            self._waiting.append(name)

    # --- which expressions are it -------------------------------------------------------------------------------------

    def _meet(self, name: Name, module: Module, node: ast.expr) -> None:
        if name.kind == "variable":
            is_it = isinstance(node, ast.Name) and node.id == name.name
            if is_it and module.resolve(node, name.name) is name.scope:
                self._use(name, module, node, True)
        elif name.kind == "attribute" and isinstance(node, ast.Attribute) and node.attr == name.name:
            owner = module.class_of_self(node.value)
            if owner is None or _is_of(owner, name.given_to) or self._classes.has(owner):
                self._use(name, module, node, owner is not None or self._is_only_here(name.name))
        elif (name.kind == "call" and isinstance(node, ast.Call) and called_name(node) == name.name) or (
            name.kind == "self" and module.class_of_self(node) is name.scope
        ):
            self._use(name, module, node, True)
        if name.kind == "attribute":
            self._meet_dynamic(name, module, node)

    def _meet_dynamic(self, name: Name, module: Module, node: ast.expr) -> None:
        """`getattr(x, n)`, `vars(x)` and the like, where they may mean the attribute."""
        if isinstance(node, ast.Attribute) and node.attr == "__dict__":
            self._walk_dynamic(module, node, node.value, (name.name, *name.keys))
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return
        call = node.func.id
        if call == "globals":
            self._walk_dynamic(module, node, node, (name.name, *name.keys))
        elif call == "vars" and node.args:
            self._walk_dynamic(module, node, node.args[0], (name.name, *name.keys))
        elif call in ("getattr", "setattr", "delattr") and len(node.args) > 1:
            owner, text = node.args[:2]
            is_it = isinstance(text, ast.Constant) and text.value == name.name
            if not self._may_own(module, owner) or not may_be(module, text, name.name):
                return
            if call == "getattr":
                self._walk_dynamic(module, node, owner, name.keys)
            elif call == "delattr":
                self._add("reset", module, node, None, is_it)
            elif is_it or module.class_of_self(owner) is not None or has_text(module, name.name):
                self._add("assign" if is_it else "escape", module, node, node.args[-1])

    def _walk_dynamic(self, module: Module, node: ast.expr, owner: ast.expr, keys: Keys) -> None:
        """Follows what may be the attribute, among all that an object has."""
        if self._may_own(module, owner):
            # What a library gets of an unknown object (`config.update(vars(arguments))`) says nothing about this one.
            before = self._is_dynamic
            self._is_dynamic = before or module.class_of_self(owner) is None
            self._walk(module, node, keys, False)
            self._is_dynamic = before

    def _may_own(self, module: Module, owner: ast.expr) -> bool:
        own_class = module.class_of_self(owner)
        if own_class is not None:
            return self._classes.has(own_class)
        return first_name(owner) not in READING_LIBRARIES and first_name(owner) not in ("args", "optim", "nn", "F")

    def _meet_binding(self, name: Name, module: Module, node: ast.AST) -> None:
        if name.kind != "attribute" or not isinstance(node, ast.ImportFrom):
            return
        for alias in node.names:
            if alias.name == name.name:
                self.add(Name("variable", alias.asname or name.name, name.keys, module, module.scope(node)))
            elif alias.name == "*":
                self.add(Name("variable", name.name, name.keys, module, module.tree))

    def _is_only_here(self, attribute: str) -> bool:
        """Whether no class of the user's but the owner's has an attribute of this name."""
        for module in self._code.mentioning(attribute)[0]:
            for node in module.named.get(attribute, ()):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    owner = module.class_of_self(node.value)
                    if owner is not None and not self._classes.has(owner):
                        return False
        return True

    # --- where it comes from ------------------------------------------------------------------------------------------

    def origin(
        self, module: Module, value: ast.expr | None, keys: Keys, depth: int = 0, kept_as: ast.expr | None = None
    ) -> None:
        """What the container was called before it was kept, as `kept_as`: it may still go by that name."""
        if value is None or depth > 6:
            return
        if isinstance(value, ast.Name):
            scope = module.resolve(value, value.id)
            self.add(Name("variable", value.id, keys, module, scope))
            if kept_as is not None:
                self._given(module, scope, value.id, keys, kept_as)
            if is_parameter(scope, value.id):
                self.origin_of_parameter(module, scope, value.id, keys, depth + 1)
        elif isinstance(value, ast.Attribute):
            self.add(Name("attribute", value.attr, keys, given_to=module.class_of_self(value.value)))
        elif isinstance(value, (ast.BoolOp, ast.IfExp)):
            for part in value.values if isinstance(value, ast.BoolOp) else [value.body, value.orelse]:
                self.origin(module, part, keys, depth + 1, kept_as)
        elif isinstance(value, ast.NamedExpr):
            self.origin(module, value.target, keys, depth + 1, kept_as)
            self.origin(module, value.value, keys, depth + 1, kept_as)
        elif isinstance(value, ast.Call) and kept_as is not None and self._is_copied_back(module, value, kept_as):
            self.origin(module, value.args[0], keys, depth + 1, kept_as)
        elif isinstance(value, ast.Call):
            name = called_name(value)
            if name not in FRESH and (keys == () and name not in self._own):
                self._add("escape", module, value)
        elif isinstance(value, (ast.Subscript, ast.Await)) and not (
            isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)
        ):
            self._add("escape", module, value)

    def _is_copied_back(self, module: Module, call: ast.Call, kept_as: ast.expr) -> bool:
        """Whether it makes a container of a variable that was made of what is kept: `mixed = list(self.rows)`,
        `self.rows = deque(mixed)`."""
        variable = call.args[0] if len(call.args) == 1 and called_name(call) in FRESH else None
        if not isinstance(variable, ast.Name) or is_parameter(
            scope := module.resolve(variable, variable.id), variable.id
        ):
            return False
        values = assignments(module, scope, variable.id)
        kept = ast.unparse(kept_as)
        is_of_it = any(ast.unparse(n) == kept for value in values for n in ast.walk(value) if isinstance(n, ast.expr))
        return is_of_it and scope is module.scope(call)

    def _given(self, module: Module, scope: ast.AST, name: str, keys: Keys, kept_as: ast.expr) -> None:
        """What the variable was given before: `live = [x for x in self.kept if x]`, `self.kept = live`."""
        if (scope, name, keys) in self._origins:
            return
        self._origins.add((scope, name, keys))
        for node in variable_stores(module, scope, name):
            if isinstance(node.ctx, ast.Store) and not isinstance(module.parent(node)[0], ast.AugAssign):
                self.kept_as[node] = kept_as
                self._stored(module, node, keys, True)

    def origin_of_parameter(self, module: Module, function: ast.AST, name: str, keys: Keys, depth: int = 0) -> None:
        owner = module.class_of_method(function)
        called = getattr(function, "name", "")
        if owner is not None and called == "__init__":
            called = owner.name
        for home, call in self._code.calls(called) if called else []:
            self.origin(home, argument_of(call, function, name, owner is not None), keys, depth)

    # --- what is done with it -----------------------------------------------------------------------------------------

    def _add(
        self, kind: str, module: Module, node: ast.expr, detail: ast.expr | None = None, sure: bool = True
    ) -> None:
        if kind != "escape" or not self._is_dynamic:
            self.found.append(Use(kind, module, node, detail, sure))

    def _use(self, name: Name, module: Module, node: ast.expr, is_sure: bool) -> None:
        is_stored = isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
        parent, field = module.parent(node)
        if isinstance(parent, ast.AugAssign) and field == "target":
            kind = "fill" if isinstance(parent.op, (ast.Add, ast.BitOr)) else "remove"
            if not name.keys:
                self._add(kind, module, node, parent.value, is_sure)
        elif not is_stored:
            if not (name.is_slot and _gives_keys(module, node, name.keys)):
                self._walk(module, node, name.keys, is_sure)
        elif name.is_slot:
            self._stored(module, node, name.keys, is_sure)
        elif name.kind == "attribute" and not name.keys:
            self.stores_elsewhere.append((module, node))

    def _stored(self, module: Module, node: ast.expr, keys: Keys, is_sure: bool) -> None:
        parent, field = module.parent(node)
        if isinstance(node.ctx, ast.Del):  # type: ignore[attr-defined]
            self._add("reset", module, node, None, is_sure)
        elif isinstance(parent, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and field in ("target", "targets"):
            if parent.value is not None:
                self._add("assign", module, node, parent.value, is_sure)
                if not isinstance(node, ast.Subscript):
                    self.origin(module, parent.value, keys, kept_as=node)
                elif len(keys) == 1:
                    self.origin(module, parent.value, ())
        elif isinstance(parent, (ast.Tuple, ast.List)):
            statement = module.statement(node)
            value = statement.value if isinstance(statement, ast.Assign) else None
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(parent.elts):
                value = value.elts[parent.elts.index(node)]
            self._add("assign", module, node, value, is_sure)
        elif isinstance(parent, ast.withitem):
            self._add("assign", module, node, parent.context_expr, is_sure)
        else:
            self._add("reset", module, node, None, is_sure)

    def _walk(self, module: Module, node: ast.expr, keys: Keys, sure: bool) -> None:
        """Follows an expression that is it, or that holds it below `keys`, to what is done with it."""
        self.denoting.add(node)
        parent, field = module.parent(node)
        if isinstance(parent, ast.Attribute):
            self._method(module, parent, keys, sure)
        elif isinstance(parent, ast.Subscript) and field == "value":
            self._item(module, parent, keys, sure)
        elif isinstance(parent, ast.Call) and field == "args":
            self._argument(module, parent, node, keys)
        elif isinstance(parent, ast.keyword):
            call, _ = module.parent(parent)
            if not isinstance(call, ast.Call) or parent.arg is None:
                if keys:
                    self._add("escape", module, node)
            else:
                self._argument(module, call, node, keys, parent.arg)
        elif isinstance(parent, ast.Compare):
            if not keys and field == "comparators" and any(isinstance(op, (ast.In, ast.NotIn)) for op in parent.ops):
                self._add("ask", module, node, parent.left, sure)
        elif isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.UnaryOp)) and field in ("test", "operand"):
            self._add("truth", module, node, None, sure)
        elif isinstance(parent, ast.BoolOp):
            self._add("truth", module, node, None, sure)
            self._walk(module, parent, keys, sure)
        elif isinstance(parent, (ast.IfExp, ast.Await)) or (isinstance(parent, ast.BinOp) and keys):
            self._walk(module, parent, keys, sure)
        elif isinstance(parent, ast.NamedExpr):
            self._bind(module, parent.target, keys)
            self._walk(module, parent, keys, sure)
        elif isinstance(parent, (ast.Assign, ast.AnnAssign)) and field == "value":
            for target in parent.targets if isinstance(parent, ast.Assign) else [parent.target]:
                self._bind(module, target, keys)
        elif isinstance(parent, (ast.Tuple, ast.List, ast.Set)):
            self._walk(module, parent, (None, *keys), sure)
        elif isinstance(parent, ast.Dict) and field == "values":
            key = parent.keys[parent.values.index(node)]
            if key is not None:
                self._walk(module, parent, (key.value if isinstance(key, ast.Constant) else None, *keys), sure)
            elif keys:  # `{**tables}` has the same items
                self._walk(module, parent, keys, sure)
        elif isinstance(parent, (*COMPREHENSIONS[:2], COMPREHENSIONS[3])) and field == "elt":
            self._walk(module, parent, (None, *keys), sure)
        elif isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)) and field == "iter":
            if keys:
                self._bind(module, _without_key(parent.target, parent.iter), keys[1:], is_item=True)
        elif isinstance(parent, ast.arguments):
            self._default(module, parent, node, keys)
        elif isinstance(parent, ast.Return):
            self._returned(module, node, keys)
        elif isinstance(parent, ast.Starred):
            if keys:
                self._add("escape", module, node)
        elif isinstance(parent, ast.Call) and not keys and "__call__" not in self.methods:
            # It is called, as no container is: a method of that name (`items`), of another object.
            self.denoting.discard(node)
        elif not isinstance(parent, (ast.Expr, ast.FormattedValue, ast.BinOp, ast.AugAssign, ast.Assert, ast.Slice)):
            self._add("escape", module, node)

    def _bind(self, module: Module, target: ast.expr, keys: Keys, is_item: bool = False) -> None:
        """Another name for it: the target of an assignment or of a loop."""
        if isinstance(target, ast.Name):
            self.add(Name("variable", target.id, keys, module, module.resolve(target, target.id)))
        elif isinstance(target, ast.Attribute):
            self.add(Name("attribute", target.attr, keys, given_to=module.class_of_self(target.value)))
        elif isinstance(target, ast.Starred):
            self._bind(module, target.value, (None, *keys))
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                if keys or is_item:
                    self._bind(module, part, keys if is_item else keys[1:], is_item)
        else:
            self._add("escape", module, target)

    def _returned(self, module: Module, node: ast.expr, keys: Keys) -> None:
        function = module.function(node)
        if function is None or module.scope(node) is not function:
            self._add("escape", module, node)
            return
        self.add(Name("call", function.name, keys))
        if function.decorator_list:
            self.add(Name("attribute", function.name, keys))

    def _default(self, module: Module, arguments: ast.arguments, node: ast.expr, keys: Keys) -> None:
        function, _ = module.parent(arguments)
        positional = [*arguments.posonlyargs, *arguments.args]
        if node in arguments.defaults:
            found = positional[len(positional) - len(arguments.defaults) + arguments.defaults.index(node)]
        else:
            found = arguments.kwonlyargs[arguments.kw_defaults.index(node)]
        self.add(Name("variable", found.arg, keys, module, function))

    def _method(self, module: Module, attribute: ast.Attribute, keys: Keys, sure: bool) -> None:
        call, field = module.parent(attribute)
        name = attribute.attr
        if not isinstance(call, ast.Call) or field != "func":
            # A method that is called later, under another name.
            if name in self._removing or name == "clear" or (name in ADDING and not keys):
                self._add("escape", module, attribute.value)
            return
        first = call.args[0] if call.args else None
        if keys:
            self._outer_method(module, call, name, keys, sure)
        elif name in self.methods:
            kind = self._kind_of(name)
            if kind in ("reset", "remove"):
                self._add(kind, module, attribute.value, first if kind == "remove" else None, sure)
            elif name in ("get", "setdefault", "__contains__"):
                self._add("ask", module, attribute.value, first, sure)
            elif kind == "fill":
                detail = call.args[-1] if name == "insert" and call.args else first
                self._add(kind, module, attribute.value, detail, sure)
            elif name in ("__init__", "__setstate__", "__ior__", "__iadd__", "__imul__", "__delattr__"):
                self._add("escape", module, attribute.value)
            elif name in ("__len__", "qsize"):
                self._length(module, call)

    def _context_variable(self, module: Module, call: ast.Call, keys: Keys, sure: bool) -> None:
        name = called_name(call)
        if name == "get":
            self._walk(module, call, keys[1:], sure)
        elif name == "reset":
            # Of tuples each is a longer one, and what comes back is the one before.
            self._add("remove" if "tuple" in self._own else "reset", module, call, None, sure)
        elif name == "set" and len(keys) == 1 and call.args:
            self._add("assign", module, call, call.args[0], sure)
            self.origin(module, call.args[0], ())
        elif name == "set":
            self._add("escape", module, call)

    def _outer_method(self, module: Module, call: ast.Call, name: str, keys: Keys, sure: bool) -> None:
        if keys[0] is VALUE:
            self._context_variable(module, call, keys, sure)
        elif name in ("get", "setdefault", "__getitem__"):
            if may_be(module, call.args[0] if call.args else None, keys[0]):
                self._walk(module, call, keys[1:], sure)
        elif name in ("values", "items", "copy"):
            self._walk(module, call, keys, sure)
        elif name == "clear" or (
            name in REMOVING and may_be(module, call.args[0] if call.args and name == "pop" else None, keys[0])
        ):
            self._add("reset", module, call.func.value, None, sure)  # type: ignore[attr-defined]
        elif name == "update":
            self._updated(module, call, keys, sure)
        elif name not in ADDING and name not in ("keys", "index", "count", "sort", "reverse", "rotate", "move_to_end"):
            functions = self._code.functions(name)
            if functions and name not in self.methods:
                self._add("escape", module, call)

    def _updated(self, module: Module, call: ast.Call, keys: Keys, sure: bool) -> None:
        """`vars(trainer).update(state=fresh)`, or by a mapping, which may have any key where it is not written out."""
        named = next((keyword.value for keyword in call.keywords if keyword.arg == keys[0]), None)
        mappings = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg is None)]
        if named is not None:
            self._add("assign", module, call, named, sure)
        elif not all(_lacks(mapping, keys[0]) for mapping in mappings):
            self._add("reset", module, call, None, False)

    def _item(self, module: Module, item: ast.Subscript, keys: Keys, sure: bool) -> None:
        parent, field = module.parent(item)
        is_slice = isinstance(item.slice, ast.Slice)
        if keys:
            if isinstance(item.ctx, ast.Load):
                if is_slice or may_be(module, item.slice, keys[0]):
                    self._walk(module, item, keys if is_slice else keys[1:], sure)
            elif isinstance(parent, ast.AugAssign) and len(keys) == 1:
                if may_be(module, item.slice, keys[0]):
                    self._add("fill", module, item, parent.value, sure)
            elif is_slice or may_be(module, item.slice, keys[0]):
                self._stored(module, item, keys, sure)
        elif isinstance(item.ctx, ast.Load):
            self._add("index", module, item.value, item.slice, sure)
        elif isinstance(item.ctx, ast.Del):
            self._add("trim" if is_slice else "remove", module, item.value, item.slice, sure)
        elif is_slice:
            value = parent.value if isinstance(parent, ast.Assign) and field == "targets" else None
            self._add("assign", module, item, value, sure)
        else:
            kind = "index" if isinstance(parent, ast.AugAssign) else "put"
            self._add(kind, module, item.value, item.slice, sure)

    def _argument(self, module: Module, call: ast.Call, node: ast.expr, keys: Keys, keyword: str = "") -> None:
        name = called_name(call)
        if name == "len" and not keys:
            self._length(module, call)
            return
        if keys and name in SAME_ITEMS and isinstance(call.func, ast.Name):
            self._walk(module, call, keys, False)
            return
        if name == "cast":
            self._walk(module, call, keys, False)
            return
        if keys and name == "map" and node is not call.args[0]:
            self._mapped(module, call.args[0], keys[1:])
            return
        if not keys and node in call.args[:1] and (kind := self.kind_of_unbound(call.func)):
            self._add(kind, module, node, call.args[1] if len(call.args) > 1 else None)
            return
        if name in ("getattr", "setattr", "vars") and isinstance(call.func, ast.Name):
            self._add("escape", module, node)
            return
        if name in ("heappush", "insort", "insort_left", "insort_right") and call.args[0] is node and not keys:
            self._add("fill", module, node, call.args[-1])
            return
        if name == "heappop" and not keys:
            self._add("remove", module, node)
            return
        if self._into_user_code(module, call, node, keys, keyword):
            return
        if name not in READING and first_name(call.func) not in READING_LIBRARIES:
            self._add("escape", module, node)

    def _mapped(self, module: Module, function: ast.expr, keys: Keys) -> None:
        """What `map()` calls with it: `map(list.clear, self.parts)`."""
        functions = self._code.functions(function.id) if isinstance(function, ast.Name) else []
        kind = self.kind_of_unbound(function)
        if isinstance(function, ast.Lambda) and function.args.args:
            self.add(Name("variable", function.args.args[0].arg, keys, module, function))
        elif kind and not keys:
            self._add(kind, module, function)
        elif functions:
            for home, called in functions:
                if names := parameters(called):
                    self.add(Name("variable", names[0], keys, home, called))
        elif last_name(function) not in READING and first_name(function) not in READING_LIBRARIES:
            self._add("escape", module, function)

    def kind_of_unbound(self, function: ast.expr) -> str:
        """What `list.clear`, or `methodcaller("clear")`, does with the container that it is called with; empty where
        that is none of these, or only reads."""
        if isinstance(function, ast.Call) and called_name(function) == "methodcaller" and function.args:
            text = function.args[0]
            return self._kind_of(text.value) if isinstance(text, ast.Constant) else ""
        is_unbound = isinstance(function, ast.Attribute) and last_name(function.value) in _CONTAINERS
        return self._kind_of(last_name(function)) if is_unbound else ""

    def _kind_of(self, method: object) -> str:
        """What a method of this name does with the container; empty where it changes nothing."""
        if method == "clear":
            return "reset"
        return "remove" if method in self._removing else "fill" if method in ADDING else ""

    def _into_user_code(self, module: Module, call: ast.Call, node: ast.expr, keys: Keys, keyword: str) -> bool:
        """Follows it into the functions and classes of the user's that the call may mean."""
        name = last_name(call.func)
        if not name or self._code.is_of_library(module, call):
            return False
        functions = [(m, f, m.class_of_method(f) is not None) for m, f in self._code.functions(name)]
        classes = self._code.classes(name)
        for home, made in classes:
            inits = [(home, f) for f in _inits_of(made)] or [
                (module_of_base, f)
                for base in made.bases
                for module_of_base, definition in self._code.classes(last_name(base))
                for f in _inits_of(definition)
            ]
            functions += [(where, f, True) for where, f in inits]
            if not inits:
                self._field(made, call, node, keys, keyword, home)
        for home, function, is_method in functions:
            names = parameters(function)
            if keyword:
                found = keyword if is_parameter(function, keyword) else ""
            elif any(isinstance(a, ast.Starred) for a in call.args[: call.args.index(node)]):
                found = ""
            else:
                decorators = {last_name(d) for d in function.decorator_list}
                index = call.args.index(node) + (is_method and "staticmethod" not in decorators)
                found = names[index] if index < len(names) else ""
            if found:
                self.add(Name("variable", found, keys, home, function))
            else:
                self._add("escape", module, node)
        return bool(functions) or bool(classes)

    def _field(
        self, made: ast.ClassDef, call: ast.Call, node: ast.expr, keys: Keys, keyword: str, module: Module
    ) -> None:
        """A class without `__init__`: a dataclass keeps it in the field; of others it is not known."""
        fields = [n.target.id for n in made.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
        index = call.args.index(node) if not keyword else -1
        name = keyword or (fields[index] if index < len(fields) else "")
        if name in fields:
            self.add(Name("attribute", name, keys, given_to=made))
        else:
            self._add("escape", module, node)

    def _length(self, module: Module, call: ast.expr) -> None:
        self.lengths.add(call)
        self._add("length", module, call)


def uses_of(slot: Slot, code: UserCode) -> Uses:
    """Of what a slot keeps, whatever methods that has."""
    uses = Uses(code, OwnerClasses(code, slot.owner), frozenset(), frozenset())
    uses.follow(list(slot.names))
    return uses


def _inits_of(made: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in made.body if isinstance(n, FUNCTIONS) and n.name == "__init__"]


def _is_of(owner: ast.ClassDef, given_to: ast.ClassDef | None) -> bool:
    """Whether a class is one, derived from it, or its base."""
    if given_to is None or owner is given_to:
        return given_to is not None
    return given_to.name in map(last_name, owner.bases) or owner.name in map(last_name, given_to.bases)


def _gives_keys(module: Module, mapping: ast.expr, keys: Keys) -> bool:
    """Whether a loop goes over what keeps it by a key of its own, as a mapping does: `for name in self.columns`."""
    if not keys or type(keys[0]) not in (str, int):
        return False
    outer, field = module.parent(mapping)
    while isinstance(outer, ast.Call) and field == "args" and called_name(outer) in SAME_ITEMS:
        outer, field = module.parent(outer)
    return isinstance(outer, (ast.For, ast.AsyncFor, ast.comprehension)) and field == "iter"


def _lacks(mapping: ast.expr, key: object) -> bool:
    keys = mapping.keys if isinstance(mapping, ast.Dict) else [None]
    return all(isinstance(each, ast.Constant) and each.value != key for each in keys)


def _without_key(target: ast.expr, over: ast.expr) -> ast.expr:
    """The target of a loop; of one over a mapping's items that of their values, and without a count: a key and a number
    hold nothing."""
    pair = target.elts if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
    name = called_name(over) if isinstance(over, ast.Call) else ""
    if isinstance(over, ast.Call) and name in SAME_ITEMS and len(over.args) == 1:
        is_counted = name == "enumerate" and pair is not None
        return _without_key(pair[1] if is_counted and pair else target, over.args[0])
    is_of_items = isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute) and name == "items"
    return pair[1] if is_of_items and pair else target
