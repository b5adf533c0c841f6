# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A callback that watches a Lightning Trainer.

from stepleak.lightning import LeakCallback
trainer = lightning.Trainer(callbacks=[LeakCallback(on_leak="raise")])
"""

from __future__ import annotations

from typing import Any

import stepleak
from stepleak._check import checked_options
from stepleak._objects import type_name

try:
    from lightning.pytorch import Callback
except ImportError:  # the package under its older name
    from pytorch_lightning import Callback


class LeakCallback(Callback):
    """Judges `fit()`: a training batch is a step. Options as of stepleak.watch(); `stop`: end the fit once decided.

    `result`: what it came to, once the fit has ended; None before.
    """

    def __init__(self, *, stop: bool = False, **options: Any) -> None:
        super().__init__()
        self._stop = stop
        checked_options("LeakCallback", options)
        self._options = options
        self._watch: stepleak.Watch | None = None
        self.result: stepleak.Result | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self.result = None
        self._watch = stepleak.watch(**{"name": type_name(pl_module), **self._options})

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        if self._watch is not None:
            self._watch.mark("epoch")

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        if self._watch is not None:
            self._watch.mark("evaluation")

    def on_train_batch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        if self._watch is not None and not self._watch.step() and self._stop:
            trainer.should_stop = True

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._end(None)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._end(exception)

    def _end(self, error: BaseException | None) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.__exit__(type(error) if error else None, error, None)
            self.result = watch.result
