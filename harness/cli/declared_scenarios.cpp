// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/declared_scenarios.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>

#include "harness/base/errors.hpp"
#include "harness/base/files.hpp"
#include "harness/base/subprocess.hpp"
#include "harness/cli/layout.hpp"
#include "harness/cli/observing.hpp"

namespace stepleak {
namespace {

using Json = nlohmann::json;

Scenario to_scenario(const Json& json) {
  Scenario scenario{.name = json.at("name"),
                    .story = json.at("story"),
                    .report = json.at("report"),
                    .file = json.at("file"),
                    .expected = parse_verdict(json.at("expected").get<std::string>()).value_or(Verdict::failure)};
  for (const auto& kind : json.at("kinds")) {
    const auto parsed = parse_kind(kind.get<std::string>());
    if (!parsed) throw failure_error(fmt::format("{}: no kind '{}'", scenario.file, kind.get<std::string>()));
    scenario.kinds.push_back(*parsed);
  }
  scenario.needs_cuda = json.at("needs_cuda");
  scenario.min_gpus = json.at("min_gpus");
  return scenario;
}

// Read, not imported: a scenario's file imports torch, which takes seconds. Empty where a declaration must be run to be
// known.
std::optional<Json> python_declarations(const std::string& folder) {
  const auto answer = run_program(
      {layout().python, "-I", "-S", (layout().package_folder / "stepleak/_declarations.py").string(), folder});
  if (!answer.is_success()) return std::nullopt;
  return Json::parse(answer.output);
}

}  // namespace

std::vector<Scenario> declared_scenarios(const std::string& folder) {
  std::vector<Scenario> scenarios;
  const auto python = python_declarations(folder);
  if (!python) {
    scenarios = observing().scenarios(folder);
  } else {
    for (const auto& json : *python) scenarios.push_back(to_scenario(json));
    if (layout().compiled_scenarios.empty()) return scenarios;
    for (const auto& json : Json::parse(read_file(layout().compiled_scenarios))) {
      scenarios.push_back(to_scenario(json));
    }
  }
  return scenarios;
}

}  // namespace stepleak
