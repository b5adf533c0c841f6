# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A callback that watches a Trainer of transformers.

from stepleak.transformers import LeakCallback
trainer = Trainer(..., callbacks=[LeakCallback(on_leak="raise")])
"""

from __future__ import annotations

import sys
from typing import Any

from transformers import TrainerCallback

import stepleak
from stepleak._check import checked_options
from stepleak._frames import Call


class LeakCallback(TrainerCallback):
    """Judges `train()`: an optimizer's step is a step. Options as of stepleak.watch(); `stop`: end the training once
    decided.
    """

    def __init__(self, *, stop: bool = False, **options: Any) -> None:
        self._stop = stop
        checked_options("LeakCallback", options)
        self._options = options
        self._watch: stepleak.Watch | None = None
        self._result: stepleak.Result | None = None

    @property
    def result(self) -> stepleak.Result | None:
        """What it came to, once the training has ended, also by an exception, of which a Trainer tells its callbacks
        nothing; None before."""
        if self._watch is not None and not self._watch.is_in_loop:
            self._end()
        return self._result

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._result = None
        self._watch = None
        self._watch = stepleak.watch(**{"name": "Trainer", **self._options}).follow_training(_training())

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._watch is not None:
            self._watch.mark("epoch")

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._watch is not None and not self._watch.step() and self._stop:
            control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._end()

    def _end(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            self._result = watch.result


def _training() -> Call:
    """The call of the Trainer that runs its loop: it calls its callbacks through transformers' handler of them."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") in (__name__, TrainerCallback.__module__):
        frame = frame.f_back
    return Call(frame)
