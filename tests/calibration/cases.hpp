// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/draws.hpp"
#include "tests/support/synthetic_run.hpp"

namespace stepleak {

/// A kind of program whose truth is known; each draw is another of its kind.
struct CalibrationCase {
  std::string name;
  bool is_leak = false;
  std::int64_t period = 0;  ///< leak: steps from one loss to the next; 0: it loses in most steps, or at random
  std::int64_t onset = 0;   ///< leak: the step before which nothing leaks
  std::function<SyntheticProgram(Draws&)> draw;
};

/// Look-alikes of leaks.
[[nodiscard]] std::vector<CalibrationCase> healthy_cases();
[[nodiscard]] std::vector<CalibrationCase> leaking_cases();

}  // namespace stepleak
