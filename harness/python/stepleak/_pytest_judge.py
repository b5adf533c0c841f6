# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Judges a step of a test, and tells pytest what came of it."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable
from typing import Any

import pytest

from stepleak import _options, _pytest_gpu, _pytest_known
from stepleak._load import UsageError, is_of_another_run
from stepleak._pytest_errors import StepErrors
from stepleak._pytest_logs import StepLogs
from stepleak._pytest_output import StepOutput

PROPERTY = "stepleak"
"""Of a test's report: what was said of it."""
LET_BE = f"{PROPERTY}.let_be"
"""Of one that passes though it leaks."""

_IN_LATER_STEP = (
    "It raised in step {}. The test is repeated to be judged, and its fixtures are set up once: where it cannot run "
    "twice with these, leave it out (pytest --stepleak --stepleak-select EXPRESSION)."
)


def judge(item: pytest.Item, step: Callable[..., Any], options: dict[str, Any]) -> None:
    """Raises LeakError unless the step is clean; what the step raised before there was a verdict is raised again."""
    __tracebackhide__ = True
    import stepleak

    raised: list[BaseException] = []
    process = os.getpid()
    try:
        with _pytest_gpu.alone_on(str(options.get("device", "auto"))):
            result = stepleak.check(_keeping(item, step, raised), **options)
    except stepleak.Interrupted:
        raise KeyboardInterrupt from None
    except (UsageError, TypeError) as error:
        if is_of_another_run(error):
            raise
        # Of its options: frames of ours do not help who wrote them.
        raise pytest.fail.Exception(f"no_leak: {error}", pytrace=False) from None
    if os.getpid() != process:
        # Forked by the step, and come back from it: it would run the session's other tests as well.
        os._exit(1 if raised else 0)
    own = raised[0] if result.verdict == "failure" and raised else None
    judges_itself = own is not None and is_of_another_run(own)
    if not judges_itself and not isinstance(own, pytest.skip.Exception):  # of which nothing was judged
        item.user_properties.append((PROPERTY, result.verdict))
        item.user_properties.append((f"{PROPERTY}.steps", result.steps))
    if judges_itself:
        returned = step()  # once, as without us
        if inspect.iscoroutine(returned):
            asyncio.run(returned)
        return
    if own is not None and not isinstance(own, pytest.skip.Exception) and result.steps > 0:
        item.add_report_section("call", "stepleak", _IN_LATER_STEP.format(result.steps + 1))
    if own is not None:
        raise own
    ignored = _options.ignored(options.get("ignore", ()))
    if not result.is_clean:
        if not _pytest_known.is_known(item, result, ignored):
            raise stepleak.LeakError(result.report, result)
        item.user_properties.append((LET_BE, True))
    item.add_report_section("call", "stepleak", result.report)  # shown by -rP


def _keeping(item: pytest.Item, step: Callable[..., Any], raised: list[BaseException]) -> Callable[[], Any]:
    """The step, of which pytest keeps what the newest one logged, wrote and recorded (`record_property`),
    and of exceptions that nobody catches the first.

    It does not hold the item, which would be who keeps what the test does.
    """
    kept = (StepLogs(), StepOutput(), StepErrors(item.config))
    properties, recorded = item.user_properties, len(item.user_properties)

    def test() -> Any:
        __tracebackhide__ = True
        for each in kept:
            each.forget()
        del properties[recorded:]
        try:
            return step()
        # pytest's own outcomes (skip, fail) are no Exceptions.
        except BaseException as error:
            raised.append(error)
            raise

    return test
