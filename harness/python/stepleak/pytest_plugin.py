# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""stepleak in pytest: the fixture and the marker `no_leak`, and `pytest --stepleak`."""

from __future__ import annotations

import contextlib
import fnmatch
import os
from collections.abc import Callable, Generator
from typing import Any

import pytest

from stepleak import (
    _pytest_fresh,
    _pytest_judge,
    _pytest_known,
    _pytest_steps,
    _pytest_unjudged,
    _pytest_worker,
    _pytest_writer,
)

_MARKER = """no_leak(**options): the test's body is a step: it is repeated, and fails where memory that it takes never \
stops growing. Fixtures are set up once. Options as of stepleak.check: effort, steps, min_steps, period, ..."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("stepleak", "memory that never stops growing")
    group.addoption("--stepleak", action="store_true", help="judge every test by repetition, each in a fresh process")
    group.addoption(
        "--stepleak-select",
        metavar="GLOB",
        default="*",
        help="the tests that --stepleak judges, by their ids, such as '*test_train*'; others run as ever",
    )
    group.addoption(
        "--stepleak-effort",
        choices=("quick", "standard", "nightly"),
        help="of the tests that --stepleak judges: clean after 16, 64 or 512 repetitions (default: quick, and standard "
        "for those that it leaves undecided)",
    )
    group.addoption("--stepleak-known", metavar="FILE", help=_pytest_known.HELP)
    group.addoption("--stepleak-reports", metavar="FILE", help=_pytest_writer.HELP)
    group.addoption("--stepleak-place", metavar="TEST", help=_pytest_writer.HELP_PLACE)
    group.addoption("--stepleak-parent", metavar="PROCESS", type=int, help=_pytest_writer.HELP_PARENT)
    group.addoption("--stepleak-worker", metavar=("ID", "RUN"), nargs=2, help=_pytest_worker.HELP)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    _pytest_known.configure(config, is_fresh=bool(config.getoption("--stepleak-reports")))
    config.pluginmanager.register(_pytest_unjudged.Summary(), "stepleak-unjudged")
    _pytest_writer.configure(config)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Nothing judged would be as green as all clean."""
    if not session.config.getoption("--stepleak") or not session.items:
        return
    if not any(map(_is_selected, session.items)):
        select = session.config.getoption("--stepleak-select")
        bracket = "; in a pattern, [[] stands for a bracket" if "[" in select else ""
        raise pytest.UsageError(
            f"--stepleak-select {select!r} matches none of the tests that are to run; their ids are such as "
            f"{session.items[0].nodeid!r}{bracket}"
        )


@pytest.fixture
def no_leak(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Judges a step of the test's: no_leak(step, effort="quick"). Options as of stepleak.check."""

    def judge(step: Callable[..., Any], **options: Any) -> None:
        __tracebackhide__ = True
        _pytest_judge.judge(request.node, step, {"name": request.node.name, **options})

    return judge


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    __tracebackhide__ = True
    options = _options_of(item)
    with _pytest_steps.judged(item, options) if options is not None else contextlib.nullcontext():
        outcome = yield
    if options is not None:
        _pytest_unjudged.note(item, _pytest_unjudged.CANNOT)
    elif _is_meant(item):
        _pytest_unjudged.note(item, _pytest_unjudged.UNCALLED)
    return outcome


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    __tracebackhide__ = True
    return (yield from _pytest_steps.judge_function(pyfuncitem))


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    # Under --setup-plan and --setup-only no test runs.
    if not _is_judged_afresh(item) or _is_fresh(item) or item.config.getoption("setuponly", False):
        return None
    _pytest_fresh.run(item, nextitem)
    return True


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    properties = dict(getattr(report, "user_properties", []))
    verdict = properties.get(_pytest_judge.PROPERTY)
    # Whether what was expected to fail did is for pytest to say.
    if getattr(report, "when", "") != "call" or verdict is None or hasattr(report, "wasxfail"):
        return None
    if report.passed:
        words = {"clean": "no leak", _pytest_unjudged.VERDICT: _pytest_unjudged.VERDICT}
        said = "known leak" if properties.get(_pytest_judge.LET_BE) else words.get(str(verdict))
        # What a test expects of its own step (`pytest.raises(LeakError)`) is its business.
        return ("passed", ".", f"PASSED ({said})") if said else None
    failures = {"leak": ("failed", "L", "LEAK"), "inconclusive": ("failed", "I", "INCONCLUSIVE")}
    return failures.get(str(verdict))


def _options_of(item: pytest.Item) -> dict[str, Any] | None:
    """How a test is judged; None: it is not."""
    marker = item.get_closest_marker("no_leak")
    if marker is not None:
        if marker.args:
            # Dropped, they would judge otherwise than they say.
            pytest.fail(
                f'no_leak takes its options by name, such as effort="quick", and no {marker.args[0]!r}', pytrace=False
            )
        return dict(marker.kwargs)
    return {"effort": item.config.getoption("--stepleak-effort") or "quick"} if _is_wanted(item) else None


def _is_meant(item: pytest.Item) -> bool:
    """By --stepleak."""
    return bool(item.config.getoption("--stepleak")) and _is_selected(item)


def _is_wanted(item: pytest.Item) -> bool:
    """Whether --stepleak is to repeat it: one that judges a step of its own is repeated by that already."""
    return _is_meant(item) and "no_leak" not in getattr(item, "fixturenames", ())


def _is_selected(item: pytest.Item) -> bool:
    """By a pattern, or by the very id, as pytest prints it: brackets in a pattern are a class of characters."""
    select = item.config.getoption("--stepleak-select")
    return fnmatch.fnmatchcase(item.nodeid, select) or select in (item.nodeid, _printed_id(item))


def _printed_id(item: pytest.Item) -> str:
    _, separator, within = item.nodeid.partition("::")
    return f"{os.path.relpath(item.path, item.config.invocation_params.dir)}{separator}{within}"


def _is_judged_afresh(item: pytest.Item) -> bool:
    return _is_wanted(item) and isinstance(item, pytest.Function)


def _is_fresh(item: pytest.Item) -> bool:
    return bool(item.config.getoption("--stepleak-reports"))
