// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/scenario/scenario_list.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/base/errors.hpp"

namespace stepleak {
namespace {

using Json = nlohmann::json;

Json to_json(const Scenario& scenario) {
  auto kinds = Json::array();
  for (const auto kind : scenario.kinds) kinds.push_back(to_string(kind));
  return {{"name", scenario.name},
          {"story", scenario.story},
          {"report", scenario.report},
          {"file", scenario.file},
          {"expected", to_string(scenario.expected)},
          {"kinds", kinds},
          {"lines", scenario.lines},
          {"holders", scenario.holders},
          {"bytes_per_step", scenario.bytes_per_step},
          {"not_yet", scenario.not_yet},
          {"needs", scenario.needs},
          {"missing", scenario.missing},
          {"needs_cuda", scenario.needs_cuda},
          {"min_gpus", scenario.min_gpus}};
}

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
  scenario.lines = json.value("lines", scenario.lines);
  scenario.holders = json.value("holders", scenario.holders);
  scenario.bytes_per_step = json.value("bytes_per_step", scenario.bytes_per_step);
  scenario.not_yet = json.value("not_yet", scenario.not_yet);
  scenario.needs = json.value("needs", scenario.needs);
  scenario.missing = json.value("missing", scenario.missing);
  scenario.needs_cuda = json.at("needs_cuda");
  scenario.min_gpus = json.at("min_gpus");
  return scenario;
}

}  // namespace

std::vector<std::string> files_of(const std::vector<BrokenFile>& broken) {
  std::vector<std::string> files;
  for (const auto& each : broken) files.push_back(each.file);
  return files;
}

std::string to_json(const ScenarioList& list) {
  Json json{{"scenarios", Json::array()}, {"broken", Json::array()}};
  for (const auto& scenario : list.scenarios) json["scenarios"].push_back(to_json(scenario));
  for (const auto& broken : list.broken) json["broken"].push_back({{"file", broken.file}, {"what", broken.what}});
  // A path need not be UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

ScenarioList scenario_list_from_json(std::string_view text) {
  const auto json = Json::parse(text);
  ScenarioList list;
  for (const auto& scenario : json.at("scenarios")) list.scenarios.push_back(to_scenario(scenario));
  for (const auto& broken : json.value("broken", Json::array())) {
    list.broken.push_back({broken.at("file"), broken.at("what")});
  }
  return list;
}

}  // namespace stepleak
