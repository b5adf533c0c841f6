# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A callback that watches a Trainer of transformers.

from stepleak.transformers import LeakCallback
trainer = Trainer(..., callbacks=[LeakCallback(on_leak="raise")])
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

import stepleak


class LeakCallback(TrainerCallback):
    """Judges `train()`: an optimizer's step is a step. Options as of stepleak.watch(); `stop`: end the training once
    decided.

    `result`: what it came to, once the training has ended; None before. Where the training raises, `result` is None:
    the Trainer tells its callbacks nothing then.
    """

    def __init__(self, *, stop: bool = False, **options: Any) -> None:
        self._stop = stop
        self._options = options
        self._watch: stepleak.Watch | None = None
        self.result: stepleak.Result | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.result = None
        self._watch = None  # of a training that raised
        self._watch = stepleak.watch(**{"name": "Trainer", **self._options})

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._watch is not None:
            self._watch.mark("epoch")

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._watch is not None and not self._watch.step() and self._stop:
            control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            self.result = watch.result
