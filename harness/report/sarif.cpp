// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/report/sarif.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

#include "harness/base/text.hpp"
#include "harness/report/sarif_rules.hpp"

namespace stepleak {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kRoot = "SRCROOT";

// What is not unreserved in a URI, byte by byte: a colon in the first folder's name would be the end of a scheme.
std::string to_uri(const std::string& path) {
  std::string uri;
  for (const char letter : path) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool is_plain =
        byte < 0x80 && (std::isalnum(byte) != 0 || std::string_view("-._~/").find(letter) != std::string_view::npos);
    uri += is_plain ? std::string(1, letter) : fmt::format("%{:02X}", byte);
  }
  return uri;
}

std::string folder_uri(const std::filesystem::path& folder) {
  const auto uri = "file://" + to_uri(folder.string());
  return uri.ends_with('/') ? uri : uri + "/";
}

Json location_of(const SourcePlace& place) {
  Json artifact{{"uri", place.is_below ? to_uri(place.file) : "file://" + to_uri(place.file)}};
  if (place.is_below) artifact["uriBaseId"] = kRoot;
  Json region{{"startLine", place.line}};
  if (!place.text.empty()) region["snippet"] = {{"text", printable(place.text)}};
  return {{"physicalLocation", {{"artifactLocation", artifact}, {"region", region}}}};
}

Json frames_of(const Finding& finding, const SourceTree& tree) {
  Json frames = Json::array();
  for (const auto& frame : finding.where) {
    const auto place = place_in(tree, frame.file, frame.line, frame.text);
    if (!place || frame.line <= 0) continue;
    auto location = location_of(*place);
    if (!frame.function.empty())
      location["logicalLocations"] = Json::array({Json{{"name", printable_line(frame.function)}}});
    frames.push_back({{"location", location}});
  }
  return frames;
}

Json result_of(const Problem& problem, const SourceTree& tree) {
  const auto& rules = sarif_rules();
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const auto& each) { return each.id == problem.rule; });
  Json json{{"ruleId", problem.rule},
            {"ruleIndex", rule - rules.begin()},
            {"level", problem.severity == Severity::error ? "error" : "warning"},
            {"message", {{"text", problem.message}}},
            {"locations", Json::array({location_of(*problem.place)})}};
  Json properties{{"target", printable_line(problem.result->target)}};
  if (const auto* finding = problem.finding) {
    if (const auto frames = frames_of(*finding, tree); !frames.empty()) {
      auto first = frames.front().at("location");
      first["id"] = 1;
      first["message"] = {{"text", "what stays is made here"}};
      json["relatedLocations"] = Json::array({first});
      json["stacks"] = Json::array({Json{{"message", {{"text", "where what stays is made"}}}, {"frames", frames}}});
    }
    if (!finding->fingerprint.empty()) json["partialFingerprints"] = {{"stepleak/v1", finding->fingerprint}};
    properties["device"] = to_string(finding->device);
    properties["bytesPerStep"] = finding->bytes_per_step;
  }
  json["properties"] = properties;
  return json;
}

Json notification_of(const Problem& problem) {
  return {{"descriptor", {{"id", problem.rule}}},
          {"level", problem.severity == Severity::error ? "error" : "warning"},
          {"message", {{"text", problem.message}}}};
}

Json driver() {
  Json rules = Json::array();
  for (const auto& rule : sarif_rules()) {
    rules.push_back({{"id", rule.id}, {"name", rule.id}, {"shortDescription", {{"text", rule.description}}}});
  }
  return {{"name", "stepleak"}, {"version", STEPLEAK_VERSION}, {"rules", rules}};
}

}  // namespace

std::string to_sarif(const std::vector<Problem>& problems, const SourceTree& tree) {
  Json results = Json::array();
  Json notifications = Json::array();
  bool has_failed = false;
  for (const auto& problem : problems) {
    has_failed = has_failed || problem.result->verdict == Verdict::failure;
    if (problem.place) {
      results.push_back(result_of(problem, tree));
    } else {
      notifications.push_back(notification_of(problem));
    }
  }
  Json invocation{{"executionSuccessful", !has_failed}};
  if (!notifications.empty()) invocation["toolExecutionNotifications"] = notifications;
  const Json run{{"tool", {{"driver", driver()}}},
                 {"columnKind", "unicodeCodePoints"},
                 {"originalUriBaseIds", {{kRoot, {{"uri", folder_uri(tree.root)}}}}},
                 {"invocations", Json::array({invocation})},
                 {"results", results}};
  const Json log{
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", Json::array({run})}};
  return log.dump(2) + "\n";
}

}  // namespace stepleak
