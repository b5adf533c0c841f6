# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the user's decorators do: when one runs, and by what it calls the function that it was given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stepleak._syntax import Function, Module, is_parameter, last_name
from stepleak._user_code import UserCode


def named(decorator: ast.expr) -> ast.expr:
    """What a decorator is called by, whether it takes arguments or not."""
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def is_decorating(code: UserCode, module: Module, function: Function, calls: int = 1) -> bool:
    """Whether a function runs only where modules and classes are defined, as a decorator or in one with arguments.

    `calls`: of it, and of what it returns, until something is decorated: two for `limit` of `@limit(3)`.
    """
    maker = module.function(function)
    is_any = False
    for home in code.mentioning(function.name)[0]:
        for node in home.named.get(function.name, ()):
            outer, field = home.parent(node)
            is_called = isinstance(outer, ast.Call) and field == "func"
            decorated, place = home.parent(outer) if is_called and outer is not None else (outer, field)
            is_any = True
            if place == "decorator_list" and decorated is not None:
                if home.function(decorated) is not None or calls > 1 + is_called:
                    return False
            elif (
                not isinstance(outer, ast.Return)
                or maker is None
                or home.function(node) is not maker
                or calls > 1
                or not is_decorating(code, module, maker, calls + 1)
            ):
                return False
    return is_any


def calls_of_wrapped(code: UserCode, function: Function) -> Iterator[tuple[Module, ast.Call]]:
    """Calls of a function in the user's decorators of it: of a parameter of theirs, or of what a class keeps."""
    for name in (last_name(named(decorator)) for decorator in function.decorator_list):
        for home, maker in [*code.functions(name), *code.classes(name)] if name else ():
            for call in ast.walk(maker):
                if isinstance(call, ast.Call) and _is_of_wrapped(home, call):
                    yield home, call


def _is_of_wrapped(module: Module, call: ast.Call) -> bool:
    """Whether it calls what a decorator was given."""
    if isinstance(call.func, ast.Name):
        return is_parameter(module.resolve(call, call.func.id), call.func.id)
    owner = module.class_of_self(call.func.value) if isinstance(call.func, ast.Attribute) else None
    return owner is not None and any(
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and module.class_of_self(node.value) is owner
        for node in module.named.get(last_name(call.func), ())
    )
