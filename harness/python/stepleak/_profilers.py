# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A profiler of torch's that records now, and for as long as it runs: without a schedule it keeps all events of all
steps until it is stopped. Imports nothing, and runs no code of the user's."""

from __future__ import annotations

import gc
import sys
from typing import Any

from stepleak._objects import is_a, is_one_of, module_namespace, namespace_of


def is_profiling() -> bool:
    """Whether any of torch's profilers is enabled."""
    enabled = dict.get(module_namespace(dict.get(sys.modules, "torch.autograd")), "_profiler_enabled")
    return enabled is not None and bool(enabled())


def endless_profiler() -> Any:
    """The profiler without a schedule that records now, as the user has it; None where there is none."""
    if not is_profiling():
        return None
    of_torch = module_namespace(dict.get(sys.modules, "torch.profiler.profiler"))
    of_autograd = module_namespace(dict.get(sys.modules, "torch.autograd.profiler"))
    outer = [kind for kind in (of_torch.get("profile"), of_torch.get("_KinetoProfile")) if type(kind) is type]
    inner = [kind for kind in (of_autograd.get("profile"),) if type(kind) is type]
    objects = gc.get_objects()
    recording = [item for item in objects if is_one_of(type(item), inner) and _is_recording(item)]
    owners = [item for item in objects if any(is_a(item, kind) for kind in outer)]
    for one in recording:
        owner = next((item for item in owners if (namespace_of(item) or {}).get("profiler") is one), None)
        if owner is None:
            return one
        schedule = (namespace_of(owner) or {}).get("schedule")
        if schedule is None or schedule is of_torch.get("_default_schedule_fn"):
            return owner
    return None


def _is_recording(profiler: Any) -> bool:
    """Whether it has begun, and has no results yet."""
    state = namespace_of(profiler) or {}
    is_enabled = bool(state.get("enabled") is True and state.get("entered") is True)
    return is_enabled and "kineto_results" in state and state["kineto_results"] is None
