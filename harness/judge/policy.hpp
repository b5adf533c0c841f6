// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace stepleak {

enum class Effort : std::uint8_t { quick, standard, nightly };

/// Throws a usage error that names the efforts.
[[nodiscard]] Effort parse_effort(std::string_view name);

/// How many steps a verdict needs. Clean is cheap, only failures pay.
struct Policy {
  std::int64_t clean_steps = 64;  ///< a clean verdict waits for these
  std::int64_t leak_steps =
      256;  ///< a leak is called when it still grows here: a cache that fills looks the same before
  std::int64_t budget_steps = 1024;  ///< inconclusive after these
  std::int64_t period = 0;           ///< declared by the user; 0: none

  /// Steps at which the judge looks: 8, 16, 24, 32, 48, 64, 96, ... up to the budget, always with the three above.
  [[nodiscard]] std::vector<std::int64_t> looks() const;
};

[[nodiscard]] Policy policy_of(Effort effort);

/// A policy that runs `steps` at most: the confirmation moves down with the budget, never below the clean minimum.
[[nodiscard]] Policy with_budget(Policy policy, std::int64_t steps);

/// A policy that gives no verdict before `steps`: for rare leaks and for long periods.
[[nodiscard]] Policy with_minimum(Policy policy, std::int64_t steps);

}  // namespace stepleak
