# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""stepleak: does memory that a training step takes ever stop growing, and if not, who keeps it?

    import stepleak
    stepleak.assert_no_leak(step)          # raises LeakError with the report
    result = stepleak.check(step)          # or look for yourself

Not to be called from two threads at once: the memory that is watched is the whole process's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stepleak._load import UsageError

__all__ = ["LeakError", "Result", "UsageError", "assert_no_leak", "check"]


class LeakError(AssertionError):
    """A step leaks, or could not be judged; the message is the report, `result` has all of it."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
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

    @property
    def is_clean(self) -> bool:
        return self.verdict == "clean"

    def __str__(self) -> str:
        return self.report


def check(
    step: Callable[..., Any],
    *,
    name: str | None = None,
    device: str = "auto",
    effort: str = "standard",
    steps: int = 0,
    period: int = 0,
    seed: int = 0,
    with_cuda_objects: bool = False,
) -> Result:
    """Repeats `step` in this process and judges it. Your set-up has run before.

    `step` takes nothing, or the step index. `effort`: "quick" (clean from 16 steps on), "standard" (64) or
    "nightly" (512). `steps`: the most to run, 0 for the effort's budget. `period`: steps after which yours
    repeats (accumulation, evaluation), 0 to find it. `with_cuda_objects`: explain raw CUDA memory, streams, events and
    graphs too; a `torch.profiler` that starts later in this process then sees no GPU events (CUPTI has one
    subscriber). An exception of the step gives the verdict "failure".
    Raises UsageError for wrong options.
    """
    import torch  # noqa: F401  # the C++ core is linked to torch's own libraries

    from stepleak import _core, _load  # type: ignore[attr-defined]  # built, not written

    target: str = name or str(getattr(step, "__qualname__", type(step).__name__))
    wants_index = _load.takes_index(step, target)
    _load.seed_everything(seed)
    try:
        text, report = _core.check(step, wants_index, target, device, effort, steps, period, seed, with_cuda_objects)
    except ValueError as error:
        raise UsageError(str(error)) from None
    data = json.loads(text)
    return Result(data["verdict"], data["reason"], data["steps"], data["findings"], report, data)


def assert_no_leak(step: Callable[..., Any], **options: Any) -> None:
    """check() that raises LeakError unless the verdict is clean. Options as in check()."""
    result = check(step, **options)
    if not result.is_clean:
        raise LeakError("\n" + result.report, result)
