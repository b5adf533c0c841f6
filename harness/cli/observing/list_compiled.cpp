// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Run by the build: writes what the C++ scenarios declare, so that `stepleak list` need not load them, and torch with
// them.

#include <nlohmann/json.hpp>

#include <cstdio>

#include "harness/scenario/scenario.hpp"

int main() {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& scenario : stepleak::ScenarioRegistry::instance().all()) {
    nlohmann::json kinds = nlohmann::json::array();
    for (const auto kind : scenario.kinds) kinds.push_back(stepleak::to_string(kind));
    list.push_back({{"name", scenario.name},
                    {"story", scenario.story},
                    {"report", scenario.report},
                    {"file", scenario.file},
                    {"expected", stepleak::to_string(scenario.expected)},
                    {"kinds", kinds},
                    {"needs_cuda", scenario.needs_cuda},
                    {"min_gpus", scenario.min_gpus}});
  }
  std::puts(list.dump().c_str());
}
