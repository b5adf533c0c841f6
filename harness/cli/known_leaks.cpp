// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/known_leaks.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/base/errors.hpp"
#include "harness/base/subprocess.hpp"
#include "harness/cli/layout.hpp"
#include "harness/trace/serialise.hpp"

namespace stepleak {
namespace {

// The interpreter reads TOML, and pytest asks the same code.
nlohmann::json ask(std::vector<std::string> arguments, const std::string& input) {
  arguments.insert(arguments.begin(),
                   {layout().python, "-I", (layout().package_folder / "stepleak/_known.py").string()});
  const auto answer = run_program(arguments, input);
  if (!answer.is_success()) {
    throw failure_error(fmt::format("known leaks cannot be read: {}", answer.error), layout().repair);
  }
  const auto json = nlohmann::json::parse(answer.output);
  if (json.contains("error")) throw usage_error(json.at("error"), json.at("remedy"));
  return json;
}

}  // namespace

void check_known(const std::string& file) { (void)known_leaks(file, {}); }

KnownLeaks known_leaks(const std::string& file, const std::vector<const Result*>& results) {
  if (file.empty()) return {};
  std::string input = "[";
  for (const auto* result : results) input += (input.size() > 1 ? "," : "") + to_json(*result);
  const auto json = ask({"apply", file}, input + "]");
  KnownLeaks known{.is_known = json.at("known").get<std::vector<bool>>(),
                   .lines = json.at("lines").get<std::vector<std::string>>()};
  for (const std::string entry : json.at("unmatched")) {
    known.lines.push_back(fmt::format("{}: an entry that matches nothing here: {}", file, entry));
  }
  for (const std::string entry : json.at("expired")) {
    known.lines.push_back(
        fmt::format("{}: an entry has expired, and fails until it is renewed or removed: {}", file, entry));
    known.has_expired = true;
  }
  return known;
}

std::string with_known(const std::string& file, const std::string& result_json, const std::string& reason,
                       const std::string& link, const std::string& expires) {
  return ask({"add", file, reason, link, expires}, result_json).at("text");
}

}  // namespace stepleak
