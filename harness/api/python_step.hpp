// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "harness/api/check.hpp"
#include "harness/runner/step.hpp"

namespace stepleak {

/// What Python raised as a person reads it: the error's line first, then the user's frames. `error` is a
/// `pybind11::error_already_set*`; needs the GIL.
[[nodiscard]] std::string exception_text(void* error);

/// A Python callable as a step: takes the GIL for each call, and turns what Python raises into a StepFailure
/// with the user's traceback. `callable` is a `PyObject*`; `takes_index`: it wants the step's number.
[[nodiscard]] Step python_step(void* callable, bool takes_index);

/// observe() for a Python step, with its collector. Call it without the GIL.
Trace observe_python(void* callable, bool takes_index, const Passes& passes, const Options& options);

/// check() for a Python step, with everything that an interpreter adds: the collector, its objects, holders.
/// Call it without the GIL.
[[nodiscard]] Result check_python(void* callable, bool takes_index, const Options& options,
                                  FlightRecorder* recorder = nullptr);

}  // namespace stepleak
