// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/judge/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/base/errors.hpp"

namespace stepleak {

Effort parse_effort(std::string_view name) {
  if (name == "quick") return Effort::quick;
  if (name == "standard") return Effort::standard;
  if (name == "nightly") return Effort::nightly;
  throw usage_error(fmt::format("'{}' is no effort", name), "use quick, standard or nightly");
}

std::vector<std::int64_t> Policy::looks() const {
  std::set<std::int64_t> looks{clean_steps, leak_steps, budget_steps};
  for (std::int64_t step : {8, 16, 24}) looks.insert(step);
  for (std::int64_t step = 32; step <= budget_steps; step *= 2) {
    looks.insert(step);
    looks.insert(step + step / 2);
  }
  std::vector<std::int64_t> result(looks.begin(), looks.end());
  std::erase_if(result, [this](std::int64_t look) { return look > budget_steps; });
  return result;
}

Policy policy_of(Effort effort) {
  switch (effort) {
    case Effort::quick:
      return {.clean_steps = 16, .leak_steps = 64, .budget_steps = 256};
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
  policy.leak_steps = std::clamp(policy.leak_steps, policy.clean_steps, steps);
  return policy;
}

Policy with_minimum(Policy policy, std::int64_t steps) {
  policy.clean_steps = std::max(policy.clean_steps, steps);
  policy.leak_steps = std::max(policy.leak_steps, steps);
  policy.budget_steps = std::max(policy.budget_steps, steps);
  return policy;
}

}  // namespace stepleak
