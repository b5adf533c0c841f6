// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/api/policy_of.hpp"

namespace stepleak {

Policy policy_of(const Options& options) {
  auto policy = policy_of(parse_effort(options.effort));
  if (options.steps > 0) policy = with_budget(policy, options.steps);
  if (options.minimum_steps > 0) policy = with_minimum(policy, options.minimum_steps);
  policy.period = options.period;
  policy.budget_seconds = options.budget_seconds;
  return policy;
}

}  // namespace stepleak
