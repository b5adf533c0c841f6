// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/trace/policy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/errors.hpp"

namespace stepleak {

Effort parse_effort(std::string_view name) {
  if (name == "quick") return Effort::quick;
  if (name == "standard") return Effort::standard;
  if (name == "nightly") return Effort::nightly;
  throw usage_error(fmt::format("'{}' is no effort", name), "use quick, standard or nightly");
}

std::int64_t Policy::look_after(std::int64_t step) const {
  // 8, 16, 24, 32, then each power of two and what lies half-way to the next.
  std::int64_t next = 8;
  for (std::int64_t base = 8; next <= step; base *= 2) {
    for (const auto look : {base, base + base / 2}) next = next <= step ? look : next;
  }
  for (const auto look : {proof_steps, clean_steps, leak_steps, last_to_record(), budget_steps}) {
    if (look > step) next = std::min(next, look);
  }
  return next;
}

Policy policy_of(Effort effort) {
  switch (effort) {
    case Effort::quick:
      // Without proof all of the budget, the record pass aside: what fills is like a leak for long.
      return {.proof_steps = 16, .clean_steps = 16, .leak_steps = 256 - kShortestRecord, .budget_steps = 256};
    case Effort::standard:
      break;
    case Effort::nightly:
      return {.clean_steps = 512, .leak_steps = 2048, .budget_steps = 8192};
  }
  return {};
}

Policy with_budget(Policy policy, std::int64_t steps) {
  policy.budget_steps = steps;
  policy.clean_steps = std::min(policy.clean_steps, steps);
  // What is called a leak shall be recorded within the budget, too.
  const auto with_room = policy.last_to_record();
  const auto last = with_room >= kFewestSteps ? with_room : steps;
  policy.leak_steps = std::min(std::max(policy.leak_steps, policy.clean_steps), last);
  policy.proof_steps = std::min(policy.proof_steps, policy.leak_steps);
  return policy;
}

Policy with_minimum(Policy policy, std::int64_t steps) {
  policy.proof_steps = std::max(policy.proof_steps, steps);
  policy.clean_steps = std::max(policy.clean_steps, steps);
  policy.leak_steps = std::max(policy.leak_steps, steps);
  policy.budget_steps = std::max(policy.budget_steps, steps);
  return policy;
}

std::string longer_run(std::int64_t steps, const Policy& policy) {
  return steps < policy.budget_steps ? "longer" : fmt::format("{} steps (option steps)", 2 * policy.budget_steps);
}

}  // namespace stepleak
