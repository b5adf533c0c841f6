// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/api/policy_of.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/errors.hpp"

namespace stepleak {

void check_steps(const Options& options) {
  if (options.steps != 0 && options.steps < kFewestSteps) {
    throw usage_error(fmt::format("{} steps are too few to judge", options.steps),
                      fmt::format("give {} steps at least", kFewestSteps));
  }
  if (options.steps > 0 && options.minimum_steps > options.steps) {
    throw usage_error(
        fmt::format("no verdict before {} steps, and no more than {} steps", options.minimum_steps, options.steps),
        "give fewer at least, or more at most");
  }
}

Policy policy_of(const Options& options) {
  auto policy = policy_of(parse_effort(options.effort));
  if (options.steps > 0) policy = with_budget(policy, options.steps);
  if (options.minimum_steps > 0) policy = with_minimum(policy, options.minimum_steps);
  // What is as rare as those steps show needs some times as many to be told from what fills.
  policy.budget_steps = std::max(policy.budget_steps, 4 * options.watched_steps);
  policy.period = options.period;
  policy.budget_seconds = options.budget_seconds;
  return policy;
}

std::int64_t most_steps_of(const Options& options) {
  if (options.steps > 0 || parse_effort(options.effort) == Effort::quick) return 0;
  return kMostBudgets * policy_of(options).budget_steps;
}

}  // namespace stepleak
