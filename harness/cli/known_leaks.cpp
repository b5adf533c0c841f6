// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/known_leaks.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/base/errors.hpp"
#include "harness/cli/package_script.hpp"
#include "harness/trace/serialise.hpp"

namespace stepleak {
namespace {

using Json = nlohmann::json;

// As _known.py reads it. `entry`: what an entry is to say, as JSON.
std::string request_of(const std::vector<const Result*>& results, const std::string& entry) {
  std::string list;
  for (const auto* result : results) list += (list.empty() ? "" : ",") + to_json(*result);
  return fmt::format(R"({{"results": [{}], "entry": {}}})", list, entry);
}

// pytest asks the same code.
Json ask(const std::string& verb, const std::string& file, const std::string& request) {
  auto json = Json::parse(output_of_script("_known.py", {verb, file}, "known leaks cannot be read", request));
  if (json.contains("error")) throw usage_error(json.at("error"), json.at("remedy"));
  return json;
}

}  // namespace

void check_known(const std::string& file) { (void)known_leaks(file, {}); }

KnownLeaks known_leaks(const std::string& file, const std::vector<const Result*>& results) {
  if (file.empty()) return {};
  const auto json = ask("apply", file, request_of(results, "{}"));
  KnownLeaks known{.is_known = json.at("known").get<std::vector<bool>>(),
                   .findings = json.at("findings").get<std::vector<std::vector<bool>>>(),
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

std::string with_known(const std::string& file, const std::vector<const Result*>& results, const std::string& reason,
                       const std::string& link, const std::string& expires) {
  const Json entry{{"reason", reason}, {"link", link}, {"expires", expires}};
  // What was typed need not be UTF-8.
  return ask("add", file, request_of(results, entry.dump(-1, ' ', false, Json::error_handler_t::replace))).at("text");
}

}  // namespace stepleak
