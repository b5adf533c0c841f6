// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/scenario/scenario.hpp"

#include <fmt/format.h>

#include "harness/base/errors.hpp"

namespace stepleak {

ScenarioRegistry& ScenarioRegistry::instance() {
  static ScenarioRegistry registry;
  return registry;
}

void ScenarioRegistry::add(Scenario scenario) {
  for (const auto& other : scenarios_) {
    if (other.name == scenario.name) {
      throw failure_error(
          fmt::format("scenario '{}' is registered twice: {} and {}", scenario.name, other.file, scenario.file),
          "rename one of them");
    }
  }
  scenarios_.push_back(std::move(scenario));
}

Registration::Registration(Scenario scenario) { ScenarioRegistry::instance().add(std::move(scenario)); }

}  // namespace stepleak
