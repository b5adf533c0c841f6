// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepleak {

enum class Effort : std::uint8_t { quick, standard, nightly };

/// Throws a usage error that names the efforts.
[[nodiscard]] Effort parse_effort(std::string_view name);

/// Fewer steps than these cannot be judged.
inline constexpr std::int64_t kFewestSteps = 16;

/// The shortest record pass: that much of the budget is kept for it.
inline constexpr std::int64_t kShortestRecord = 18;

/// What is undecided by the end of an effort's budget goes on, the budget doubled, up to so many times that.
inline constexpr std::int64_t kMostBudgets = 4;

/// How many steps a verdict needs, counted over judged steps; and what the user allows. Clean is cheap, only failures
/// pay.
struct Policy {
  /// From here on a growth is recorded, and is called a leak where the structure of what keeps it proves that.
  std::int64_t proof_steps = 32;
  std::int64_t clean_steps = 64;  ///< a clean verdict waits for these
  /// A leak is called when it still grows here: a cache that fills looks the same before.
  std::int64_t leak_steps = 256;
  std::int64_t budget_steps = 1024;  ///< inconclusive after these; no pass runs on
  double budget_seconds = 0;         ///< the same in time; 0: unlimited
  std::int64_t period = 0;           ///< declared by the user; 0: none

  /// The last step after which a record pass still fits.
  [[nodiscard]] std::int64_t last_to_record() const { return budget_steps - kShortestRecord; }

  /// The next step at which the judge looks, after `step` steps: 8, 12, 16, 24, 32, 48, 64, ... up to the budget,
  /// always with the four above.
  [[nodiscard]] std::int64_t look_after(std::int64_t step) const;

  bool operator==(const Policy&) const = default;
};

[[nodiscard]] Policy policy_of(Effort effort);

/// A policy that runs `steps` at most: the confirmation moves down with the budget, never below the clean minimum.
[[nodiscard]] Policy with_budget(Policy policy, std::int64_t steps);

/// A policy that gives no verdict before `steps`: for rare leaks and for long periods.
[[nodiscard]] Policy with_minimum(Policy policy, std::int64_t steps);

/// What an undecided run of `steps` is to be let run: "2048 steps (option steps)", twice the budget where it used that
/// up; "longer" where something else ended it.
[[nodiscard]] std::string longer_run(std::int64_t steps, const Policy& policy);

}  // namespace stepleak
