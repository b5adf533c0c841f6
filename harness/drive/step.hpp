// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "harness/base/step_failure.hpp"

namespace stepleak {

/// The user's training step. run() is called once a step, always from the same thread.
/// `index` counts from 0, for callables that take the step's number. What it throws fails the run.
using Step = std::function<void(std::int64_t index)>;

}  // namespace stepleak
