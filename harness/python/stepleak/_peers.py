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

_RUNS = itertools.count()
"""Runs of this process: all ranks make the same ones, in the same order."""

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
        self._watchdog: _Watchdog | None = None

    def start(self, abort: Callable[[], None]) -> None:
        """From here on a step that waits for a lost rank ends; `abort` ends the waiting of its collectives."""
        self._watchdog = _Watchdog(self._lost_peer, abort, self._timeout)

    def stop(self) -> None:
        if self._watchdog is not None:
            self._watchdog.stop()
            self._watchdog = None

    def agree(self, step: int, wish: str) -> list[str]:
        """Waits for the wishes of all ranks after the same step; by rank. Raises PeerLost."""
        if self._watchdog is not None:
            self._watchdog.reset()
        return self._exchange(wish, f"step {step}")

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

    def _exchange(self, text: str, place: str) -> list[str]:
        self._number += 1
        self._store.set(f"{self._number}/{self.rank}", text)
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
                    raise PeerLost(f"rank {other} did not come to {place} within {self._timeout:g} s")
                time.sleep(pause)
                pause = min(2 * pause, 0.05)
            return str(self._store.get(key).decode())
        except RuntimeError as error:
            raise PeerLost(f"rank {other} cannot be asked, since the ranks' store is gone: {error}") from None

    def _left(self, other: int) -> str | None:
        if not self._store.check([f"left/{other}"]):
            return None
        return f"rank {other} ended early: {self._store.get(f'left/{other}').decode()}"

    def _lost_peer(self) -> str | None:
        """Asked by the watchdog's thread while a step runs."""
        try:
            for other in range(self.world):
                lost = self._left(other) if other != self.rank else None
                if lost is not None:
                    return lost
        except RuntimeError:
            return "the rank that holds the ranks' store is gone"
        return None


class _Watchdog:
    """Ends a step that waits for a rank that is lost, or that takes longer than the timeout.

    Its collectives are aborted; where that does not help the process ends with exit code 3, the stacks of its threads,
    and the rank's name.
    """

    def __init__(self, lost_peer: Callable[[], str | None], abort: Callable[[], None], timeout: float) -> None:
        self._lost_peer = lost_peer
        self._abort = abort
        self._timeout = timeout
        self._reset_at = time.monotonic()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stepleak-watchdog", daemon=True)
        self._thread.start()

    def reset(self) -> None:
        self._reset_at = time.monotonic()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(0.2):
            reason = self._lost_peer()
            if reason is None and time.monotonic() - self._reset_at > self._timeout:
                reason = f"no rank came to the next look within {self._timeout:g} s"
            if reason is not None:
                self._end_step(reason)
                return

    def _end_step(self, reason: str) -> None:
        # A step that does not wait for the lost rank comes to its next look, and hears of it there.
        if self._is_over.wait(_LAST_WORDS_SECONDS):
            return
        print(f"stepleak: {reason}; the step waits for it", file=sys.stderr, flush=True)
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
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    world = distributed.get_world_size()
    if world < 2:
        return None
    from torch.distributed import distributed_c10d

    store = distributed.PrefixStore(f"stepleak/{next(_RUNS)}", distributed_c10d._get_default_store())
    peers = Peers(store, distributed.get_rank(), world, timeout)
    peers.start(_abort_collectives)
    return peers
