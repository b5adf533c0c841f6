// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/gate/contradiction.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stepleak {
namespace {

bool has_declared_kind(const Scenario& scenario, const Result& result) {
  return scenario.kinds.empty() ||
         std::any_of(result.findings.begin(), result.findings.end(), [&](const Finding& finding) {
           return std::find(scenario.kinds.begin(), scenario.kinds.end(), finding.kind) != scenario.kinds.end();
         });
}

}  // namespace

std::string contradiction_of(const Scenario& scenario, const Result& result) {
  if (result.verdict != scenario.expected) {
    return fmt::format("it is {}, and the scenario says {}", to_string(result.verdict), to_string(scenario.expected));
  }
  if (scenario.expected != Verdict::leak || has_declared_kind(scenario, result)) return {};
  return fmt::format("it has no finding {}, and the scenario says so", to_string(scenario.kinds.front()));
}

}  // namespace stepleak
