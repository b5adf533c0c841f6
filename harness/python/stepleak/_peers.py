# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The ranks of one training job, which decide together: through the store of their process group.

No collective of ours runs: a rank that has died would make it wait for ever. Each rank writes what it wants under a key
of its own and reads those of the others.
"""

from __future__ import annotations

import contextlib
import faulthandler
import itertools
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from stepleak import _standing
from stepleak._collectives import distributed_in_use

_RUNS = itertools.count()
"""Runs of this process: all ranks make the same ones, in the same order."""

_TELLING_SECONDS = 1.0
"""Between two times that a rank tells where it stands, once half of its time is over. Before, it costs nothing."""

_ANSWER_SECONDS = 2.0
"""How much later than this one another rank may find that its time is over. One that does not by then is stuck so that
no thread of it runs."""

_SEPARATOR = "\n"
"""Between a rank's place and what it has to say."""

_LAST_WORDS_SECONDS = 10.0
"""How long a step may take to return after its process group was aborted."""


class PeerLost(Exception):
    """Another rank ended early, or did not answer in time; the message names it."""


class Peers:
    """The other ranks. All methods are called from the step's thread, between steps."""

    def __init__(self, store: Any, rank: int, world: int, timeout: float) -> None:
        self.rank = rank
        self.world = world
        self._store = store
        self._timeout = timeout
        self._number = 0
        self._thread = threading.get_ident()
        self._begun = _standing.begun_collectives()
        self._tells_at = 0.0
        self._is_over = threading.Event()
        self._watchdog: _Watchdog | None = None

    def start(self, abort: Callable[[], None]) -> None:
        """From here on a step that waits for a lost rank ends; `abort` ends the waiting of its collectives."""
        self._watchdog = _Watchdog(self._lost_peer, abort, self._is_over)

    def stop(self) -> None:
        if self._watchdog is not None:
            self._watchdog.stop()
            self._watchdog = None

    def agree(self, step: int, wish: str) -> list[str]:
        """Waits for the wishes of all ranks after the same step; by rank. Raises PeerLost."""
        self._reset()
        wishes = self._exchange(wish, f"step {step}")
        # Now for all ranks at once, so that their time is over at once, however long one has waited here.
        self._begun = _standing.begun_collectives()
        self._reset()
        return wishes

    def gather(self, text: str) -> list[str]:
        """What each rank came to, by rank; after it no rank needs another. Raises PeerLost."""
        texts = self._exchange(text, "the end")
        # The store lives in one of the ranks: nobody leaves before all have read.
        self._exchange("read", "the end")
        return texts

    def leave(self, what: str) -> None:
        """This rank ends early: the others shall not wait for it."""
        # Where the store went with its rank, the others know that.
        with contextlib.suppress(RuntimeError):
            self._store.set(f"left/{self.rank}", what)

    def _reset(self) -> None:
        self._tells_at = self._timeout / 2
        if self._watchdog is not None:
            self._watchdog.reset()

    def _exchange(self, text: str, place: str) -> list[str]:
        self._number += 1
        self._store.set(f"{self._number}/{self.rank}", f"{place}{_SEPARATOR}{text}")
        deadline = time.monotonic() + self._timeout
        return [self._wait_for(other, place, deadline) for other in range(self.world)]

    def _wait_for(self, other: int, place: str, deadline: float) -> str:
        key = f"{self._number}/{other}"
        pause = 0.0005
        try:
            while not self._store.check([key]):
                lost = self._left(other)
                if lost is not None:
                    raise PeerLost(lost)
                if time.monotonic() > deadline:
                    where = self._standing_of(other, self._number - 1)
                    stands = "" if where is None else f"; it stands at {where.place}"
                    raise PeerLost(f"rank {other} did not come to {place} within {self._timeout:g} s{stands}")
                time.sleep(pause)
                pause = min(2 * pause, 0.05)
            other_place, _, text = self._store.get(key).decode().partition(_SEPARATOR)
        except RuntimeError as error:
            raise PeerLost(f"rank {other} cannot be asked, since the ranks' store is gone: {error}") from None
        if other_place != place:
            raise PeerLost(
                f"rank {other} came to {other_place}, and rank {self.rank} to {place}: run as many steps on each"
            )
        return str(text)

    def _left(self, other: int) -> str | None:
        if not self._store.check([f"left/{other}"]):
            return None
        return f"rank {other} ended early: {self._store.get(f'left/{other}').decode()}"

    def _lost_peer(self, waited: float) -> str | None:
        """Asked by the watchdog's thread while a step runs, so many seconds after the last look."""
        try:
            for other in range(self.world):
                lost = self._left(other) if other != self.rank else None
                if lost is not None:
                    return lost
            if waited > self._timeout:
                return self._stalled(waited)
            if waited > self._tells_at:
                self._tells_at = waited + _TELLING_SECONDS
                self._tell_standing(waited)
        except RuntimeError:
            return "the rank that holds the ranks' store is gone"
        return None

    def _tell_standing(self, waited: float) -> _standing.Standing:
        is_last = waited > self._timeout
        place = _standing.place_of_thread(self._thread, with_text=is_last)
        begun = {name: [self._begun.get(name, 0), now] for name, now in _standing.begun_collectives().items()}
        own = _standing.Standing(self._number, waited, place, begun)
        self._store.set(f"stands/{self.rank}", own.to_text())
        return own

    def _standing_of(self, other: int, look: int) -> _standing.Standing | None:
        """Where a rank last said that it stands after a look; None where it did not say so."""
        if not self._store.check([f"stands/{other}"]):
            return None
        standing = _standing.parse(self._store.get(f"stands/{other}").decode())
        return standing if standing.look == look else None

    def _stalled(self, waited: float) -> str:
        """Who holds up this rank, whose time is over, and where each stands that did not come to the next look."""
        look = self._number
        standings = {self.rank: self._tell_standing(waited)}
        silent = [other for other in range(self.world) if other != self.rank]
        has_come = False
        deadline = time.monotonic() + _ANSWER_SECONDS
        while silent:
            for other in list(silent):
                if self._store.check([f"{look + 1}/{other}"]):
                    has_come = True
                    silent.remove(other)
                    standings.pop(other, None)
                elif (standing := self._standing_of(other, look)) is not None:
                    standings[other] = standing
                    if standing.waited > self._timeout:
                        silent.remove(other)
            if time.monotonic() > deadline or self._is_over.wait(0.05):
                break
        late = sorted({*standings, *silent})
        who = _standing.named(late) + " did not come" if has_come else "no rank came"
        why = _standing.why_held_up(standings, silent)
        return f"{who} to the next look within {self._timeout:g} s{why}" + _standing.places(standings, silent)


class _Watchdog:
    """Ends a step that waits for a rank that is lost, or that takes longer than the ranks' timeout.

    Its collectives are aborted; where that does not help the process ends with exit code 3, the stacks of its threads,
    and the rank's name.
    """

    def __init__(
        self, lost_peer: Callable[[float], str | None], abort: Callable[[], None], is_over: threading.Event
    ) -> None:
        """`lost_peer`: what ends the step, if anything does, so many seconds after the last reset."""
        self._lost_peer = lost_peer
        self._abort = abort
        self._reset_at = time.monotonic()
        self._is_over = is_over
        self._thread = threading.Thread(target=self._run, name="stepleak-watchdog", daemon=True)
        self._thread.start()

    def reset(self) -> None:
        self._reset_at = time.monotonic()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(0.2):
            reason = self._lost_peer(time.monotonic() - self._reset_at)
            if reason is not None:
                self._end_step(reason)
                return

    def _end_step(self, reason: str) -> None:
        # A step that does not wait for the lost rank comes to its next look, and hears of it there.
        if self._is_over.wait(_LAST_WORDS_SECONDS):
            return
        print(f"stepleak: {reason}\nstepleak: it waits, so its collectives are aborted", file=sys.stderr, flush=True)
        aborting = threading.Thread(target=self._abort, daemon=True)  # it may wait for the rank itself
        aborting.start()
        if self._is_over.wait(_LAST_WORDS_SECONDS):
            return
        print("stepleak: the step does not end, so the process does", file=sys.stderr, flush=True)
        faulthandler.dump_traceback(sys.stderr)
        os._exit(3)


def _abort_collectives() -> None:
    from torch.distributed import distributed_c10d

    try:
        distributed_c10d._abort_process_group()
    except Exception as error:  # whatever it is, the process ends in a moment
        print(f"stepleak: the process group cannot be aborted: {error}", file=sys.stderr, flush=True)


def find(timeout: float) -> Peers | None:
    """The ranks of the default process group; None where there is none, or no other rank."""
    distributed = distributed_in_use()
    if distributed is None:
        return None
    world = distributed.get_world_size()
    if world < 2:
        return None
    from torch.distributed import distributed_c10d

    store = distributed.PrefixStore(f"stepleak/{next(_RUNS)}", distributed_c10d._get_default_store())
    peers = Peers(store, distributed.get_rank(), world, timeout)
    peers.start(_abort_collectives)
    return peers
