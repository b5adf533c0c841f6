// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/declared_scenarios.hpp"

#include <iterator>
#include <optional>

#include "harness/base/files.hpp"
#include "harness/base/subprocess.hpp"
#include "harness/cli/layout.hpp"
#include "harness/cli/server_questions.hpp"

namespace stepleak {
namespace {

// Read, not imported: a scenario's file imports torch, which takes seconds. Empty where a declaration must be run to be
// known.
std::optional<ScenarioList> python_declarations(const std::string& folder) {
  const auto answer = run_program(
      {layout().python, "-I", "-S", (layout().package_folder / "stepleak/_declarations.py").string(), folder});
  if (!answer.is_success()) return std::nullopt;
  return scenario_list_from_json(answer.output);
}

}  // namespace

ScenarioList declared_scenarios(const std::string& folder, double timeout_seconds) {
  auto list = python_declarations(folder);
  if (!list) return scenarios_for_server(folder, timeout_seconds);
  if (layout().compiled_scenarios.empty()) return *list;
  auto compiled = scenario_list_from_json(read_file(layout().compiled_scenarios)).scenarios;
  std::move(compiled.begin(), compiled.end(), std::back_inserter(list->scenarios));
  return *list;
}

}  // namespace stepleak
