# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The watch over an unchanged script: events of its loop become steps, and what it comes to is told at once."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from os import getpid as _getpid  # the script may leave another one in the module
from typing import Any

from stepleak import _signal_errors, _torch
from stepleak._kept_file import KeptFile
from stepleak._messages import Messages
from stepleak._objects import type_name
from stepleak._script_events import ScriptEvents, Source
from stepleak._step_cycle import StepCycle

# Batches and calls that no optimizer's step follows, before they are steps of their own.
_WAIT = {Source.CALL: 4, Source.BATCH: 4}
# The same where the script has made an optimizer: it may accumulate, or check its evaluation first.
_WAIT_FOR_OPTIMIZER = 64
# Optimizer steps of other threads after which the one that was followed is taken to optimise no more.
_MOST_OF_OTHERS = 64
# By how much longer a loop has run than at a clean verdict, when it is watched again.
_AGAIN_FACTOR = 2
# What a process takes to import torch, at the least.
_IMPORT_SECONDS = 1.0


@dataclass(frozen=True)
class Request:
    """What the command line wants of a script."""

    options: dict[str, Any]
    """Of the core's watch."""
    recorder: KeptFile
    """The ledgers go there, so that they outlive a crash."""
    messages: Messages
    """The results go there."""
    stops: bool
    """End the script once it is decided."""
    most_steps: int
    """End it after so many steps; 0: never."""


ENDING = signal.SIGRTMIN + 13
"""Ends a wait of the main thread as Ctrl-C does, also where SIGINT is ignored, as under `nohup` and in a shell's
background, or means something else to the script."""


class Stopped(SystemExit):
    """Ends the script at a boundary, as the user asked for."""

    def __init__(self) -> None:
        super().__init__(0)
        self._task = _running_task()

    def retrieve(self) -> None:
        """Where it ended a task of asyncio's, that would be reported as one whose exception nobody asked for."""
        if self._task is not None and self._task.done():
            self._task.exception()


def _running_task() -> Any:
    asyncio = sys.modules.get("asyncio")
    try:
        return None if asyncio is None else asyncio.current_task()
    except RuntimeError:  # no loop runs
        return None


_watches: list[ScriptWatch] = []


def step_aside() -> None:
    """The script judges its steps itself, which is surer: called before it does, as one process has one watch."""
    for watch in _watches:
        watch.drop("the script judges itself, with stepleak's own functions: see what it says")


class ScriptWatch:
    """Begins once steps repeat, and anew where surer ones come up; is quiet once it has decided.

    What is clean may leak later: where another optimizer steps after such a verdict (fine-tuning after pretraining) a
    watch begins over its steps. A leak that it finds is the script's verdict, and so is that it could not decide. Where
    the same loop goes on it is watched again once it has run twice as long, for as many steps as it has run by then, so
    that what an epoch leaves shows as well, and so on: of that a leak counts, and that it could not decide once a leak
    is called by its trend and the steps are no fewer than a clean verdict takes, or took before.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._process = _getpid()
        self._lock = threading.RLock()
        self._thread: int | None = None
        """The one whose optimizer steps are followed."""
        self._others_since = 0
        """Optimizer steps of other threads, since the last one of that."""
        self._others = 0
        """The same of all, since it was told."""
        self._events: ScriptEvents | None = None
        self._cycles = {source: StepCycle() for source in Source}
        self._seen: Counter[Source] = Counter()
        self._source: Source | None = None
        self._closing: Any = None
        self._ends: dict[Any, bool] = {}
        """What ended steps of this watch, in order; whether each did by itself."""
        self._told: list[str] = []
        """How each watch that is over found its steps, and what it came to."""
        self._watched: set[Any] = set()
        """What ended steps of watches that are over."""
        self._core: Any = None
        self._steps = 0
        """Of the newest watch."""
        self._steps_to_clean = 0
        """The most that a watch took which found nothing."""
        self._passed = 0
        """Steps of the script, those after its verdict included."""
        self._again_after = 0
        """Of them, those after which the same loop is watched again; 0: it is not."""
        self._again_since = 0
        """Those after which the newest watch began, where it is such a one."""
        self._is_ended = False
        self._is_final = False
        """No other watch follows: what goes on is counted, until there are as many steps as were asked for."""
        self._is_busy = False
        self.interrupting: threading.Thread | None = None
        """The thread in which the script is to end, where it is another than the main one, which it has interrupted."""
        _watches.append(self)

    def drop(self, why: str) -> None:
        """Ends without a verdict, unless it has ended."""
        if not self._is_ended and _getpid() == self._process:
            self._give_up(why)

    def _give_up(self, why: str) -> None:
        self._is_ended, self._core = True, None
        if self._events is not None:
            self._events.detach()
        self._tell("W", why)

    def attach(self) -> None:
        """Once torch is imported."""
        if self._events is None and not self._is_ended:
            self._events = self._guarded(lambda: ScriptEvents(self._on_event, self._on_mark))

    def end(self, failed: str = "") -> None:
        """The script has ended; `failed`: by what exception. Later calls do nothing, nor those of a forked child."""
        if self._is_ended or _getpid() != self._process:
            return
        with self._lock:
            self._tried(lambda: self._end(failed))

    def _end(self, failed: str = "") -> None:
        if self._is_ended:
            return
        self._is_ended = True
        if self._events is not None:
            self._events.detach()
        if self._core is not None:
            self._conclude(failed)
        elif not self._told:
            self._tell("W", f"no step was found before {failed}" if failed else self._why_none())

    def _conclude(self, failed: str = "") -> str:
        """Tells what the watch came to, if it is the first or found a leak. Returns its verdict."""
        core, self._core = self._core, None
        if failed:
            core.fail(failed)
        verdict: str = json.loads(core.finish()[0])["verdict"]
        record = core.record()
        # What had as many steps as a clean verdict takes, and has none, takes the one of another loop away; of the same
        # loop, which was clean, it may fill something: a leak is called by its trend after some hundred steps, and
        # where its first verdict took more, or this one was to take more, no fewer are needed.
        policy = json.loads(record)["policy"]
        is_long = self._steps >= policy["clean_steps"]
        enough = policy["clean_steps"]
        if self._again_since > 0:
            enough = max(policy["leak_steps"], self._steps_to_clean, self._again_since)
        if verdict == "clean":
            self._steps_to_clean = max(self._steps_to_clean, self._steps)
        is_undecided = verdict != "clean" and self._steps >= enough
        is_telling = not self._told or verdict == "leak" or is_undecided
        if self._again_since == 0 or verdict in ("leak", "clean") or is_long:
            how = self._how() + self._of_others()
            self._told.append(how if not self._told else f"{how} ({verdict})")
        self._watched |= set(self._ends)
        self._tell("H", "; then ".join(self._told))
        if is_telling:
            self._tell("R", record)
        return verdict

    def _on_event(self, source: Source, name: str) -> None:
        if self._is_ended or self._is_busy or _getpid() != self._process or not self._is_followed(source):
            return
        # What another thread does meanwhile lies within the step.
        if not self._lock.acquire(blocking=False):
            return
        self._is_busy = True
        try:
            if not self._is_ended and self._guarded(lambda: self._ends_step(source, name)):
                self._boundary()
        finally:
            self._is_busy = False
            self._lock.release()

    def _on_mark(self, what: str) -> None:
        if self._is_ended or self._is_busy or _getpid() != self._process or not self._lock.acquire(blocking=False):
            return
        try:
            if self._core is not None:
                self._guarded(lambda: self._core.mark(what))
        finally:
            self._lock.release()

    def _is_followed(self, source: Source) -> bool:
        """Of several threads that optimise, the first has steps, until it has ended or does so no more. A server may
        have a thread for each request."""
        thread = threading.get_ident()
        if source != Source.OPTIMIZER:
            return True
        if thread != self._thread:
            if self._thread in sys._current_frames() and self._others_since < _MOST_OF_OTHERS:
                self._others_since += 1
                self._others += 1
                return False
            if self._others_since > 0:
                self._begin_anew()
        self._thread, self._others_since = thread, 0
        return True

    def _begin_anew(self) -> None:
        """A watch that has not decided: what was not looked at lies within its last step."""
        if self._core is None:
            return
        self._core, self._steps, self._ends = None, 0, {}
        if self._again_since > 0:
            self._again_after = self._passed

    def _ends_step(self, source: Source, name: str) -> bool:
        self._seen[source] += 1
        cycle = self._cycles[source]
        if not cycle.ends_step(name) or source < (self._source or source):
            return False
        is_over = self._core is None and bool(self._told)
        if (source, cycle.closing) == (self._source, self._closing):
            return True
        if self._is_final or self._seen[source] < self._wait_of(source) or (is_over and cycle.closing in self._watched):
            return False
        is_alone = len(cycle.pattern) == 1
        # Surer steps than those so far, or another pattern of them: what was seen of the others does not count. But one
        # optimizer after the other ends steps of the same loop, as in a search for hyperparameters.
        goes_on = self._core is not None and source == self._source and is_alone and all(self._ends.values())
        self._source, self._closing = source, cycle.closing
        if not goes_on:
            self._core, self._steps, self._again_since, self._again_after, self._ends = None, 0, 0, 0, {}
            if not is_over:
                self._passed = 0
        self._ends[cycle.closing] = is_alone
        return True

    def _wait_of(self, source: Source) -> int:
        if source == Source.OPTIMIZER:
            return 0
        has_optimizer = self._events is not None and self._events.has_optimizer
        return _WAIT_FOR_OPTIMIZER if has_optimizer else _WAIT[source]

    def _ending(self) -> SystemExit:
        """What ends the script; of another thread also the main one, as Ctrl-C does: it may wait for this one."""
        main = threading.main_thread()
        if threading.current_thread() is main:
            return Stopped()
        if main.ident is not None:
            self.interrupting = threading.current_thread()
            signal.pthread_kill(main.ident, ENDING)
        return SystemExit(0)  # of this one alone `threading` says nothing

    def _boundary(self) -> None:
        if self._core is None and self._closing not in self._watched:
            self._core = self._guarded(self._begin)
            return
        self._passed += 1
        goes_on = self._core is None or self._step()
        if self._core is None and 0 < self._again_after <= self._passed:
            self._steps, self._again_since = 0, self._passed
            self._core = self._guarded(self._begin)
        is_enough = 0 < self._request.most_steps <= self._passed
        if is_enough or (not goes_on and self._request.stops):
            self._guarded(self._end)
            raise self._ending()
        if not goes_on:
            self._rest(self._guarded(self._conclude))

    def _step(self) -> bool:
        self._steps += 1
        return bool(self._guarded(self._core.step))

    def _rest(self, verdict: str | None) -> None:
        """After a verdict: takes away the hooks that nothing needs any more."""
        counts_on = self._request.most_steps > 0
        self._is_final = verdict != "clean"
        if self._events is None or (self._is_final and not counts_on):
            self._end()
            return
        is_bounded = self._request.options["steps"] > 0 or self._request.options["budget"] > 0
        self._again_after = 0 if self._is_final or is_bounded else _AGAIN_FACTOR * self._passed
        if self._source == Source.BATCH and self._again_after > 0:
            self._events.drop_calls()
        elif not counts_on or self._source == Source.OPTIMIZER:
            self._events.follow_optimizers_only()

    def _guarded(self, action: Callable[[], Any]) -> Any:
        done = self._tried(action)
        _signal_errors.raise_held()
        return done

    def _tried(self, action: Callable[[], Any]) -> Any:
        # What goes wrong in watching is none of the script's business.
        try:
            return action()
        except Exception as error:
            if _signal_errors.is_of_handler(error):
                if self._core is not None:  # else it may begin at a later step
                    self._end(f"a signal's handler raised {type_name(error)}")
                raise
            self._give_up(f"stepleak itself failed: {error}")
            return None

    def _begin(self) -> Any:
        torch = _torch.require()

        from stepleak import _core  # type: ignore[attr-defined]  # built, not written

        options = dict(self._request.options)
        if options["device"] == "auto":
            # The one that the script uses, which may be none where there is one.
            is_on_gpu = torch.cuda.is_initialized()
            options["device"] = f"cuda:{torch.cuda.current_device()}" if is_on_gpu else "cpu"
        options["watched_steps"] = self._again_since
        recorder = self._request.recorder.descriptor
        return _core.Watch(options, memory_file=-1 if recorder is None else recorder)

    def _how(self) -> str:
        if self._again_since > 0:
            return f"{self._steps} from step {self._again_since} on"
        cycle = self._cycles[self._source or Source.CALL]
        counts = Counter(str(event) for event in cycle.pattern)
        if not cycle.is_regular:
            return f"{self._steps}, each ended by {self._closing}; those of others follow no pattern"
        if counts.total() == 1:
            return f"{self._steps}, each ended by {' or '.join(map(str, self._ends))}"
        parts = ", ".join(f"{count} x {event}" for event, count in counts.items())
        return f"{self._steps}, each of {parts}"

    def _of_others(self) -> str:
        """What was not looked at, of the steps up to here."""
        others, self._others = self._others, 0
        return f", and {others} optimizer steps of other threads that were not looked at" if others > 0 else ""

    def _why_none(self) -> str:
        if "torch" not in sys.modules:
            return f"no step was found: the script imported no torch{_of_children()}"
        seen = (
            f"{self._seen[Source.OPTIMIZER]} optimizer steps, {self._seen[Source.BATCH]} batches of a DataLoader and "
            f"{self._seen[Source.CALL]} calls of a module"
        )
        what_to_do = _of_children() or "; let it run longer, or mark its steps: stepleak.watch()"
        return f"no step was found to repeat: there were {seen}{what_to_do}"

    def _tell(self, kind: str, text: str) -> None:
        try:
            self._request.messages.write(_line(kind, text))
        except OSError as error:
            # None of the script's business; there may be room for this.
            with contextlib.suppress(OSError):
                self._request.messages.write(_line("W", f"what it came to could not be kept: {error}"))


def _line(kind: str, text: str) -> bytes:
    return f"{kind}{text}".replace("\n", " ").encode("utf-8", "backslashreplace") + b"\n"


def _of_children() -> str:
    """That the script's child processes worked, which are not watched; empty where they took less than to import torch
    takes."""
    used = os.times()
    seconds = used.children_user + used.children_system
    if seconds < _IMPORT_SECONDS:
        return ""
    return (
        f"; its child processes, which are not watched, took {seconds:.0f} s of processor time: watch what they run, "
        "or mark the steps there: stepleak.watch()"
    )
