// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/result_json.hpp"

#include <algorithm>

#include "harness/base/index_in.hpp"

namespace stepleak {
namespace {

constexpr std::size_t kMostLooks = 24;
constexpr std::size_t kMostCohorts = 256;

// One column of a table: keys would be most of the file.
Json column(const Cohorts& rows, std::int64_t Cohort::*member) {
  const auto stride = std::max<std::size_t>(1, (rows.size() + kMostCohorts - 1) / kMostCohorts);
  Json values = Json::array();
  for (std::size_t i = 0; i < rows.size(); i += stride) values.push_back(rows[i].*member);
  return values;
}

CohortTable alive_from_json(const Json& json, std::int64_t step) {
  CohortTable table{.device = parse_device(json.at("device").get<std::string>()), .at_step = step};
  const auto& births = json.at("birth_steps");
  for (std::size_t i = 0; i < births.size(); ++i) {
    table.cohorts.push_back(
        {count_from(births.at(i)), count_from(json.at("bytes").at(i)), count_from(json.at("blocks").at(i))});
  }
  return table;
}

}  // namespace

Json survivors_to_json(const std::vector<SurvivorGroup>& groups) {
  std::vector<Frame> frames;
  Json rows = Json::array();
  for (const auto& group : groups) {
    Json stack = Json::array();
    for (const auto& frame : group.stack) stack.push_back(index_in(frames, frame));
    Json row = {{"stack", std::move(stack)}, {"op", group.op}, {"count", group.count}, {"bytes", group.bytes}};
    if (group.folded_count > 0) row["folded_count"] = group.folded_count;
    rows.push_back(std::move(row));
  }
  return {{"frames", frames_to_json(frames)}, {"groups", std::move(rows)}};
}

std::vector<SurvivorGroup> survivors_from_json(const Json& json) {
  const auto frames = frames_from_json(json.at("frames"));
  std::vector<SurvivorGroup> groups;
  for (const auto& row : json.at("groups")) {
    SurvivorGroup group{.op = row.at("op"), .count = count_from(row.at("count")), .bytes = count_from(row.at("bytes"))};
    for (const auto& number : row.at("stack")) {
      group.stack.push_back(frames.at(static_cast<std::size_t>(index_from(number, frames.size()))));
    }
    if (row.contains("folded_count")) group.folded_count = int_from(row.at("folded_count"));
    groups.push_back(std::move(group));
  }
  return groups;
}

Json holder_path_to_json(const std::vector<HolderPart>& path) {
  Json parts = Json::array();
  for (const auto& part : path) {
    parts.push_back({{"by", part.by}, {"what", part.what}, {"is_container", part.is_container}});
  }
  return parts;
}

std::vector<HolderPart> holder_path_from_json(const Json& json) {
  std::vector<HolderPart> path;
  for (const auto& part : json) {
    path.push_back({.by = part.at("by"), .what = part.at("what"), .is_container = part.at("is_container").get<bool>()});
  }
  return path;
}

Json held_to_json(const std::vector<HolderGroup>& groups) {
  Json rows = Json::array();
  for (const auto& group : groups) {
    Json row = {{"path", holder_path_to_json(group.path)}, {"count", group.count}, {"bytes", group.bytes}};
    if (group.folded_count > 0) row["folded_count"] = group.folded_count;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<HolderGroup> held_from_json(const Json& json) {
  std::vector<HolderGroup> groups;
  for (const auto& row : json) {
    groups.push_back({.path = holder_path_from_json(row.at("path")),
                      .count = count_from(row.at("count")),
                      .bytes = count_from(row.at("bytes"))});
    if (row.contains("folded_count")) groups.back().folded_count = int_from(row.at("folded_count"));
  }
  return groups;
}

Json few_looks_to_json(const std::vector<Look>& looks) {
  Json json = Json::array();
  const auto count = std::min(looks.size(), kMostLooks);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& look = looks[count < 2 ? 0 : i * (looks.size() - 1) / (count - 1)];
    Json alive = Json::array();
    for (const auto& table : look.cohorts) {
      alive.push_back({{"device", to_string(table.device)},
                       {"birth_steps", column(table.cohorts, &Cohort::birth_step)},
                       {"bytes", column(table.cohorts, &Cohort::bytes)},
                       {"blocks", column(table.cohorts, &Cohort::blocks)}});
    }
    json.push_back({{"step", look.step}, {"alive", std::move(alive)}});
  }
  return json;
}

std::vector<Look> few_looks_from_json(const Json& json) {
  std::vector<Look> looks;
  for (const auto& row : json) {
    auto& look = looks.emplace_back(Look{.step = count_from(row.at("step"))});
    for (const auto& table : row.at("alive")) look.cohorts.push_back(alive_from_json(table, look.step));
  }
  return looks;
}

Json passes_to_json(const std::vector<Pass>& passes) {
  Json json = Json::array();
  for (const auto& pass : passes) json.push_back({{"type", to_string(pass.type)}, {"first_step", pass.first_step}});
  return json;
}

std::vector<Pass> passes_from_json(const Json& json) {
  std::vector<Pass> passes;
  for (const auto& row : json) {
    const auto type = row.at("type").get<std::string>();
    passes.push_back(
        {.type = parsed(parse_pass_type(type), "pass", type), .first_step = count_from(row.at("first_step"))});
  }
  return passes;
}

}  // namespace stepleak
