# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a step of a test is: what pytest would have run once is repeated and judged."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import itertools
from collections.abc import Callable, Generator, Iterator
from typing import Any
from unittest import TestCase

import pytest

from stepleak import _pytest_judge
from stepleak._pytest_patches import patches_of, undone

_ASKED = pytest.StashKey[dict[str, Any]]()
"""Of a test that is to be judged and has not begun: how."""


@contextlib.contextmanager
def judged(item: pytest.Item, options: dict[str, Any]) -> Iterator[None]:
    """The test is judged when pytest runs it within this, where it can be repeated."""
    with pytest.MonkeyPatch.context() as patch:
        if isinstance(item, pytest.Function) and isinstance(item.instance, TestCase):
            patch.setattr(item, "runtest", functools.partial(_judge, item, _case_step(item), options))
        else:
            item.stash[_ASKED] = options
        yield


def judge_function(item: pytest.Function) -> Generator[None, Any, Any]:
    """Around the call of its function, whoever makes that: plugins with loops of their own do."""
    __tracebackhide__ = True
    options = item.stash.get(_ASKED, None)
    if options is None:
        return (yield)
    del item.stash[_ASKED]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(item, "obj", lambda **_: None)
        yield
    # Afterwards: pytest's own frame of the call holds the fixtures, and would be who keeps what the test does.
    _judge(item, _function_step(item), options)
    return True


def _judge(item: pytest.Item, step: Callable[[], Any], options: dict[str, Any]) -> None:
    __tracebackhide__ = True
    _pytest_judge.judge(item, step, {"name": item.name, **options})


def _function_step(item: pytest.Function) -> Callable[[], Any]:
    if "anyio_backend" in item.funcargs:
        # Only its plugin can run coroutines in the loop of its fixtures.
        return lambda: item.ihook.pytest_pyfunc_call(pyfuncitem=item)
    # A holder's text begins with these names.
    function, fixtures = item.obj, {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
    function = _set_up_anew(item, function)
    if "subtests" in fixtures:
        fixtures["subtests"] = _Subtests()
    patches = patches_of(item.funcargs.values())
    if not patches:
        return lambda: function(**fixtures)
    if inspect.iscoroutinefunction(function):

        async def awaited() -> None:
            with undone(patches):
                await function(**fixtures)

        return awaited

    def step() -> None:
        __tracebackhide__ = True
        with undone(patches):
            function(**fixtures)

    return step


def _set_up_anew(item: pytest.Function, function: Callable[..., Any]) -> Callable[..., Any]:
    """As pytest runs it: between `setup_method` and `teardown_method` of its class, or `setup_function` and
    `teardown_function` of its module. pytest has called the one for the first step, and calls the other after the
    last."""
    owner, kind = (item.module, "function") if item.instance is None else (item.instance, "method")
    around = [getattr(owner, f"{name}_{kind}", None) for name in ("teardown", "setup")]
    between = [each for each in around if inspect.isroutine(each)]  # a fixture of that name is none
    if not between:
        return function
    steps = itertools.count()

    def prepare() -> None:
        for each in between if next(steps) > 0 else ():
            each(*([function] if inspect.signature(each).parameters else []))

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(**fixtures: Any) -> None:
            prepare()
            await function(**fixtures)

        return awaited

    @functools.wraps(function)
    def method(**fixtures: Any) -> None:
        __tracebackhide__ = True
        prepare()
        function(**fixtures)

    return method


def _case_step(item: pytest.Function) -> Callable[[], None]:
    """A run of the case, as fixtures have left it, with its setUp, tearDown and clean-ups. The class is set up once."""
    result, patches = _CaseResult(item), patches_of(item.funcargs.values())

    def step() -> None:
        __tracebackhide__ = True
        # Each in an instance of its own, as unittest runs it: coroutines can be run once in each.
        with undone(patches):
            copy.copy(item.instance)(result=result)
        # Kept by pytest until the test's report, and what unittest calls skipped or expected with it.
        errors = item.__dict__.pop("_excinfo", None)
        if errors:
            raise errors[0].value

    return step


class _Subtests:
    """In the place of pytest's fixture, which would report anew in every step: what one raises fails the step."""

    @contextlib.contextmanager
    def test(self, msg: str | None = None, **kwargs: Any) -> Iterator[None]:
        __tracebackhide__ = True
        with contextlib.suppress(pytest.skip.Exception, pytest.xfail.Exception):
            yield


class _CaseResult:
    """What unittest tells of a case, told to pytest; but no subtests, which that would report anew in every step."""

    def __init__(self, item: Any) -> None:
        self._item = item

    def __getattr__(self, name: str) -> Any:
        return getattr(self._item, name)

    def addSubTest(self, case: TestCase, subtest: TestCase, error: Any) -> None:
        if error is not None:
            self._item.addFailure(case, error)
