// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/settings.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/base/errors.hpp"
#include "harness/base/files.hpp"
#include "harness/cli/layout.hpp"
#include "harness/cli/package_script.hpp"

namespace stepleak {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTable = "[tool.stepleak]";

// Empty where no file on the way up may have the table. Most have none, and an interpreter need not start to see that.
fs::path file_with_settings() {
  std::error_code ignored;
  for (auto folder = fs::current_path(ignored); !folder.empty(); folder = folder.parent_path()) {
    const auto file = folder / "pyproject.toml";
    if (fs::is_regular_file(file, ignored) && read_file(file).find("stepleak") != std::string::npos) return file;
    if (fs::exists(folder / ".git", ignored) || !folder.has_relative_path()) break;
  }
  return {};
}

// What _settings.py says of a file.
nlohmann::json ask(const fs::path& file, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{file.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const auto what = fmt::format("{} cannot be read: {}", file.string(), layout().python);
  auto json = nlohmann::json::parse(output_of_script("_settings.py", arguments, what));
  if (json.contains("error")) throw usage_error(json.at("error"), json.at("remedy"));
  return json;
}

Settings settings_in(const fs::path& file) {
  const auto json = ask(file);
  if (json.empty()) return {};
  return {.file = file,
          .scenarios = json.at("scenarios").get<std::string>(),
          .baselines = json.at("baselines").get<std::string>()};
}

}  // namespace

InitialSettings initial_settings(const fs::path& settings_template) {
  const auto answer_of = [&](const fs::path& file) {
    const auto json = ask(file, {settings_template.string()});
    return InitialSettings{.file = file,
                           .text = json.at("text"),
                           .added = json.at("added"),
                           .scenarios = json.at("scenarios").get<std::string>()};
  };
  if (const auto file = file_with_settings(); !file.empty()) {
    auto answer = answer_of(file);
    // Another one may only have the word in it.
    if (answer.added != kTable) return answer;
  }
  return answer_of(fs::current_path() / "pyproject.toml");
}

const Settings& project_settings() {
  static const auto settings = [] {
    const auto file = file_with_settings();
    return file.empty() ? Settings() : settings_in(file);
  }();
  return settings;
}

std::string scenario_folder_of(const std::string& given) {
  if (std::error_code unusable; !given.empty() && !fs::is_directory(given, unusable)) {
    throw usage_error(fmt::format("there is no folder {}", given), "name the folder of your scenario files");
  }
  if (!given.empty()) return fs::absolute(given).string();
  if (const auto& settings = project_settings(); !settings.scenarios.empty()) return settings.scenarios.string();
  if (!layout().suite.empty()) return (layout().suite / "scenarios/python").string();
  throw usage_error(
      fmt::format("no folder of scenarios is named: {} has no scenarios here", kTable),
      fmt::format("give --scenarios DIR, or write scenarios = \"DIR\" below {} in pyproject.toml", kTable));
}

bool is_project(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / ".git", ignored) || fs::exists(folder / "pyproject.toml", ignored);
}

fs::path project_of(const std::string& scenario_folder) {
  std::error_code ignored;
  const auto folder = fs::weakly_canonical(scenario_folder, ignored);
  for (auto above = folder; above.has_relative_path(); above = above.parent_path()) {
    if (is_project(above)) return above;
  }
  return folder.parent_path();
}

fs::path baseline_folder_of(const std::string& given, const std::string& given_scenarios) {
  if (!given.empty()) return given;
  if (!given_scenarios.empty()) return project_of(given_scenarios) / "baselines";
  const auto& settings = project_settings();
  if (!settings.baselines.empty()) return settings.baselines;
  const auto scenarios = scenario_folder_of({});
  if (settings.scenarios.empty() && !layout().suite.empty()) return layout().suite / "baselines";
  return project_of(scenarios) / "baselines";
}

}  // namespace stepleak
