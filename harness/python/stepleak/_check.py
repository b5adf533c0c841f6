# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""check(), which repeats a step and judges it, and watch(), which follows a loop of the user's own."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from json import loads as _loads  # a step may leave another one in the module
from os import getpid as _getpid  # likewise
from typing import TYPE_CHECKING, Any, Literal

from stepleak import _epochs, _known, _load, _on_leak, _options, _signal_errors, _torch
from stepleak._frames import Call
from stepleak._load import UsageError
from stepleak._objects import type_name
from stepleak._on_leak import OnLeak

if TYPE_CHECKING:
    from typing_extensions import Unpack


class LeakError(AssertionError):
    """A step leaks, or could not be judged; the message is the report, `result` has all of it."""

    __module__ = "stepleak"  # as tracebacks show it

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[type[LeakError], tuple[str, Result]]:
        """As another process gets it: by default an exception is made anew of its message alone."""
        return type(self), (str(self), self.result)


class Interrupted(KeyboardInterrupt):
    """The user interrupted a run (Ctrl-C); `result` has what is known up to there."""

    __module__ = "stepleak"

    def __init__(self, result: Result) -> None:
        super().__init__("interrupted")
        self.result = result


@dataclass(frozen=True)
class Result:
    """What a run came to."""

    verdict: str
    """"clean", "leak", "inconclusive" or "failure"."""
    reason: str
    steps: int
    findings: list[dict[str, Any]]
    """As in docs/schema/result.schema.json: kind, bytes_per_step, where, holder, fix, fingerprint, ..."""
    report: str
    """The text that the command line prints."""
    json: dict[str, Any]
    """The whole result, series included."""
    is_known: bool = False
    """It leaks, and `ignore=` lets all of its findings be; `report` says which text does."""

    @property
    def is_clean(self) -> bool:
        return self.verdict == "clean"

    @property
    def is_let_be(self) -> bool:
        """Clean, or known."""
        return self.is_clean or self.is_known

    def __str__(self) -> str:
        return self.report


@_options.with_options
def check(step: Callable[..., Any], *, name: str | None = None, **options: Unpack[_options.Options]) -> Result:
    """Repeats `step` in this process and judges it. Your set-up has run before.

    `step` takes nothing, or the step index. A coroutine that it returns is awaited, all of a run in one event
    loop, which must not be the caller's own. `effort`: "quick" (clean from 16 steps on), "standard" (64) or
    "nightly" (512). `steps`: the most to run, 0 for the effort's budget. `min_steps`: no verdict before these, 0 for
    the effort's minimum. `budget`: the most seconds to run steps, 0 for no limit. `period`: steps after which yours
    repeats (accumulation, evaluation), 0 to find it. `threads`: torch's intra-op threads meanwhile, 0: as they are; at
    most four for each processor, or 256 where that is more.
    `with_cuda_objects`: count and name raw CUDA memory, streams, events and graphs too; a `torch.profiler` that starts
    later in this process then sees no GPU events (CUPTI has one subscriber).
    `ignore`: findings to let be, as by a file of known leaks (docs/known-leaks.md): fingerprints, or patterns for
    "FILE:FUNCTION" of one of the frames or for the holder; the verdict stays, and `is_known` says that all are let be.
    `json`, `html`, `trace`: files that the result, a page with pictures, and what the result rests on are written to,
    as by the options of that name of the command line, but for `-`; a warning says which were not, and of several ranks
    each needs names of its own.
    Where torch.distributed has initialised several ranks, each calls check() and all run the same steps; each gets the
    worst verdict, and the findings of all with their `rank`; `peer_timeout`: seconds that one waits for another.
    An exception of the step gives the verdict "failure", unless a verdict stood before it.
    Raises UsageError for wrong options and for a step that returns a generator, Interrupted (a KeyboardInterrupt) with
    the result so far on Ctrl-C.
    """
    __tracebackhide__ = True  # by pytest: wrong options are told at the call
    _torch.require()  # the C++ core is linked to torch's own libraries

    from stepleak import _core  # type: ignore[attr-defined]  # built, not written

    target = str(getattr(step, "__qualname__", type_name(step))) if name is None or name == "" else name
    checked = _options.checked("check", target, options)
    wants_index = _load.takes_index(step, target)
    _begin_seeded(checked)
    with _one_judge():
        *found, unwritten = _core.check(step, wants_index, checked.core)
    result, is_interrupted = _result(checked.ignored, *found)
    _on_leak.say_unwritten(unwritten)
    try:
        _signal_errors.raise_held()
    except KeyboardInterrupt:
        is_interrupted = True
    if is_interrupted:
        raise Interrupted(result)
    return result


def _begin_seeded(options: _options.Checked) -> None:
    from stepleak import _core  # type: ignore[attr-defined]  # built, not written

    if not _core.attachments()["is_observing"]:  # else it is refused, and the run that is on keeps its own
        _load.seed_everything(options.seed)


@contextlib.contextmanager
def _one_judge() -> Iterator[None]:
    """A watch of the command line over this script makes room. The core reports wrong use as ValueError."""
    __tracebackhide__ = True
    script = sys.modules.get("stepleak._script_watch")
    if script is not None:
        script.step_aside()
    _epochs.end()
    _signal_errors.forget()
    try:
        yield
    except ValueError as error:
        raise UsageError(str(error).replace("--device cpu", 'device="cpu"')) from None


def _result(ignored: list[_known.Entry], text: str, report: str, is_interrupted: bool) -> tuple[Result, bool]:
    data = _loads(text)
    # Today is asked for only if need be: that imports, which the step may have forbidden.
    is_known, lines = _known.told(ignored, data, date.today()) if ignored else (False, [])
    report += "".join(f"  known   {line}\n" for line in lines)
    found = Result(data["verdict"], data["reason"], data["steps"], data["findings"], report, data, is_known)
    return found, is_interrupted


class Watch:
    """A watch over a loop of your own; made by watch(). Not to be used by two threads at once."""

    _process = 0  # no process's: of one that was never made

    def __init__(
        self,
        core: Any,
        loader: Iterable[Any] | None = None,
        on_leak: OnLeak = "warn",
        loop: _epochs.Loop | None = None,
        result: Result | None = None,
        ignored: Sequence[_known.Entry] = (),
    ) -> None:
        """`loop`: the one over the loader. `result`: of its epochs before, which leave nothing to do.
        `ignored`: findings that are let be.
        """
        self._core = core
        self._loader = loader
        self._on_leak = on_leak
        self._loop = loop
        self._result = result
        self._ignored = list(ignored)
        self._is_told = result is not None
        self._loops = 0
        self._training: Call | None = None
        self._process = _getpid()
        self._is_in_core = False
        _on_leak.follow(self)

    def step(self) -> bool:
        """The end of a step. False once a verdict stands or the budget is used up; later calls do nothing."""
        goes_on = self._result is None and self._alone(self._core.step)
        if self._result is None and not goes_on:
            self._finish()
        _signal_errors.raise_held()
        return self._result is None

    def mark(self, what: Literal["epoch", "evaluation"]) -> None:
        """An epoch or an evaluation begins, which pictures then show. A loader's epochs are marked by themselves."""
        if what not in ("epoch", "evaluation"):
            raise UsageError(f"a watch has no mark {what!r}", "there are 'epoch' and 'evaluation'")
        if self._result is None:
            self._alone(self._core.mark, what)

    def _alone(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Calls the core, which lets go of the GIL, and is no place for two threads at once."""
        if self._is_in_core:
            raise UsageError(
                "a thread uses a watch that another one is in", "call its step(), mark() and result from one thread"
            )
        self._is_in_core = True  # between these two lines the interpreter changes no thread
        try:
            return call(*arguments)
        finally:
            self._is_in_core = False

    def __iter__(self) -> Iterator[Any]:
        """The items of the loader; a step ends where the next one is asked for. Once more for each epoch."""
        if self._loader is None:
            raise UsageError("this watch has no loader", "for batch in stepleak.watch(loader): ...")
        self.mark("epoch")
        self._loops += 1
        try:
            for item in self._loader:
                yield item
                self.step()
        finally:
            self._loops -= 1

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]  # its own error, where it has no length

    def __bool__(self) -> bool:
        """As the loader's; without one a watch is there."""
        return self._loader is None or bool(self._loader)

    def __getattr__(self, name: str) -> Any:
        """What the loader has, so that a watched one stands in its place: `len(loader.dataset)`."""
        if name.startswith("_") or self._loader is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._loader, name)

    def follow_training(self, training: Call) -> Watch:
        """Of a library that says where its steps end, but not always that it has: the watch is over once this call is,
        and makes room for another one. Not for users."""
        self._training = training
        return _epochs.keep(self)  # type: ignore[no-any-return]

    @property
    def is_in_loop(self) -> bool:
        """Whether what it watches runs: a loop over its items, or the training of a library."""
        return self._loops > 0 or (self._training is not None and self._training.runs)

    def is_over(self, loader: Any, options: str) -> bool:
        """Whether it watches this loader with these options and goes on."""
        is_same = self._loader is loader and self._loop is not None and self._loop.options == options
        return is_same and self._result is None

    @property
    def is_decided(self) -> bool:
        return self._result is not None or bool(self._core.is_decided)

    @property
    def result(self) -> Result:
        """Ends the watch, where it has not decided yet, and judges what was seen."""
        self._is_told = True
        return self._finish()

    def _finish(self) -> Result:
        if self._result is None:
            is_decided = self.is_decided
            if self._training is not None and not self._training.runs:
                self._alone(self._core.fail, "the training raised")
            *found, unwritten = self._alone(self._core.finish)
            self._result = _result(self._ignored, *found)[0]
            _epochs.forget(self)
            if is_decided and self._loader is not None and self._loop is not None:
                _epochs.remember(self._loader, self._loop, self._result)
            _on_leak.say_unwritten(unwritten)
            if self._result.verdict == "leak" and not self._result.is_known:
                self._is_told = True
                _on_leak.act(self._on_leak, self._result, LeakError)
        return self._result

    def headline(self) -> str:
        """The verdict in one line, ending the watch; empty where it was said or asked for before."""
        if self._is_in_core:
            return ""  # the end of the program overtakes the thread that is there
        if self._on_leak == "raise":
            self._on_leak = "warn"  # there is no loop any more that it could be raised in
        result = self._finish()
        known = " (known: ignore= lets it be)" if result.is_known else ""
        return "" if self._is_told else result.report.partition("\n")[0] + known

    def headline_at_exit(self) -> None:
        """Ends it now."""
        _on_leak.say_at_exit(self.headline())
        self._is_told = True

    def __del__(self) -> None:
        # In a forked child nothing is watched.
        if _getpid() == self._process:
            self.headline_at_exit()

    def __copy__(self) -> Watch:
        """Itself: one loop has one watch, also where what holds it is copied."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Watch:
        return self

    def __enter__(self) -> Watch:
        if self._result is not None and self._loader is None:
            _on_leak.say_ended(self._result.steps)
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None and self._result is None:
            self._alone(self._core.fail, f"the loop raised {type_name(error)}")
            if self._on_leak == "raise":
                self._on_leak = "warn"  # the loop's own error is on its way
        self._finish()  # detaches
        if error is None:
            _signal_errors.raise_held()


@_options.with_options
def watch(
    loader: Iterable[Any] | None = None,
    *,
    on_leak: OnLeak = "warn",
    name: str = "loop",
    **options: Unpack[_options.Options],
) -> Watch:
    """Watches a loop of your own: its steps end with `w.step()`, or with the items of a loader. Options as in check().

        with stepleak.watch() as w:
            for batch in loader:
                train(batch)
                w.step()
        print(w.result)

        for epoch in range(10):
            for batch in stepleak.watch(loader):  # one watch; once it has decided, epochs pass through
                train(batch)

    Observes until it has decided, at the latest to the end of the `with` or of the program; then the process is as it
    was. What lies between two calls of `step()` is one step. `on_leak`: "warn" gives a LeakWarning with the report,
    "raise" a LeakError out of `step()`, a function is called with the result; each once. At the program's end a verdict
    is said that nobody asked for.
    """
    __tracebackhide__ = True
    checked = checked_options("watch", {**options, "on_leak": on_leak, "name": name})
    _check_loader(loader)
    _torch.require()  # the C++ core is linked to torch's own libraries

    from stepleak import _core  # type: ignore[attr-defined]  # built, not written

    frame = sys._getframe(1)
    loop = _epochs.loop_of(frame, _core.frame_locals(frame), {**options, "name": name, "on_leak": on_leak})
    if loader is not None and (running := _epochs.going_on_over(loader, loop)) is not None:
        return running  # type: ignore[no-any-return]
    if loader is not None and (result := _epochs.result_of(loader, loop)) is not None:
        return Watch(None, loader, on_leak, loop, result)
    if "seed" in options:
        _begin_seeded(checked)
    with _one_judge():
        made = Watch(_core.Watch(checked.core), loader, on_leak, loop, ignored=checked.ignored)
    return made if loader is None else _epochs.keep(made)  # type: ignore[no-any-return]


def checked_options(function: str, given: Mapping[str, Any]) -> _options.Checked:
    """Of what watches as watch() does, and is called by this name. Raises as watch() does for a wrong one."""
    __tracebackhide__ = True
    options = dict(given)
    _on_leak.checked(options.pop("on_leak", "warn"))
    return _options.checked(function, options.pop("name", "loop"), options)


def _check_loader(loader: object) -> None:
    """Whether a loop can go over it, without beginning one: a loader starts its workers then."""
    __tracebackhide__ = True
    ways = [getattr(type(loader), name, None) for name in ("__iter__", "__getitem__")]
    if loader is None or any(way is not None for way in ways):
        return
    remedy = "give it what a loop goes over, or nothing: with stepleak.watch() as w: ... w.step()"
    if callable(loader):
        remedy = "give it what a loop goes over; stepleak.check(step) repeats a function"
    raise UsageError(f"watch() was given a {type_name(loader)}, which no loop can go over", remedy)


@_options.with_options
def assert_no_leak(step: Callable[..., Any], *, name: str | None = None, **options: Unpack[_options.Options]) -> None:
    """check() that raises LeakError unless it is clean, or `ignore` lets the leak be. Options as in check()."""
    __tracebackhide__ = True
    result = check(step, name=name, **options)
    if not result.is_let_be:
        raise LeakError(result.report, result)
