// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/serialise.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace stepleak {
namespace {

// Ordered: a report reads in the order in which a person asks, and goldens stay stable.
using Json = nlohmann::ordered_json;

template <typename Enum>
Enum parsed(std::optional<Enum> value, std::string_view what, const std::string& text) {
  if (!value) throw failure_error(fmt::format("'{}' is no {}", text, what), "was it written by another stepleak?");
  return *value;
}

Json frame_to_json(const Frame& frame) {
  return {{"file", frame.file}, {"line", frame.line}, {"function", frame.function}, {"text", frame.text}};
}

Frame frame_from_json(const Json& json) {
  return {json.at("file"), json.at("line"), json.at("function"), json.at("text"), true};
}

Json frames_to_json(const std::vector<Frame>& frames) {
  Json json = Json::array();
  for (const auto& frame : frames) json.push_back(frame_to_json(frame));
  return json;
}

std::vector<Frame> frames_from_json(const Json& json) {
  std::vector<Frame> frames;
  for (const auto& frame : json) frames.push_back(frame_from_json(frame));
  return frames;
}

Json finding_to_json(const Finding& finding) {
  return {{"kind", to_string(finding.kind)},
          {"device", to_string(finding.device)},
          {"bytes_per_step", finding.bytes_per_step},
          {"count_per_step", finding.count_per_step},
          {"counted", finding.counted},
          {"since_step", finding.since_step},
          {"what", finding.what},
          {"op", finding.op},
          {"where", frames_to_json(finding.where)},
          {"holder", finding.holder},
          {"holder_shape", finding.holder_shape},
          {"kept_by", finding.kept_by},
          {"kept_expression", finding.kept_expression},
          {"kept_count", finding.kept_count},
          {"explained_steps", finding.explained_steps},
          {"fix", finding.fix},
          {"fingerprint", finding.fingerprint}};
}

Finding finding_from_json(const Json& json) {
  Finding finding;
  finding.kind = parsed(parse_kind(json.at("kind").get<std::string>()), "kind", json.at("kind"));
  finding.device = parse_device(json.at("device").get<std::string>());
  finding.bytes_per_step = json.at("bytes_per_step");
  finding.count_per_step = json.at("count_per_step");
  finding.counted = json.at("counted");
  finding.since_step = json.at("since_step");
  finding.what = json.at("what");
  finding.op = json.at("op");
  finding.where = frames_from_json(json.at("where"));
  finding.holder = json.at("holder");
  finding.holder_shape = json.at("holder_shape");
  finding.kept_by = json.at("kept_by");
  finding.kept_expression = json.at("kept_expression");
  finding.kept_count = json.at("kept_count");
  finding.explained_steps = json.value("explained_steps", std::int64_t{0});
  finding.fix = json.at("fix");
  finding.fingerprint = json.at("fingerprint");
  return finding;
}

Json live_memory_to_json(const std::vector<LiveMemory>& lines) {
  Json json = Json::array();
  for (const auto& line : lines) {
    json.push_back({{"bytes", line.bytes},
                    {"blocks", line.blocks},
                    {"first_step", line.first_step},
                    {"last_step", line.last_step},
                    {"where", frames_to_json(line.where)}});
  }
  return json;
}

std::vector<LiveMemory> live_memory_from_json(const Json& json) {
  std::vector<LiveMemory> lines;
  for (const auto& line : json) {
    lines.push_back({line.at("bytes"), line.at("blocks"), line.at("first_step"), line.at("last_step"),
                     frames_from_json(line.at("where"))});
  }
  return lines;
}

Json memory_to_json(const MemoryEvidence& memory) {
  return {{"bytes", memory.bytes},
          {"blocks", memory.blocks},
          {"largest", live_memory_to_json(memory.largest)},
          {"newest", live_memory_to_json(memory.newest)},
          {"by_stack", live_memory_to_json(memory.by_stack)}};
}

MemoryEvidence memory_from_json(const Json& json) {
  return {json.at("bytes"), json.at("blocks"), live_memory_from_json(json.at("largest")),
          live_memory_from_json(json.at("newest")), live_memory_from_json(json.at("by_stack"))};
}

Json series_to_json(const Trace& trace) {
  Json series = Json::object();
  for (const auto& key : trace.keys()) series[to_string(key)] = trace.series(key);
  return series;
}

SeriesKey series_key_from(std::string name) {
  SeriesKey key;
  if (name.ends_with("/before")) {
    key.moment = Moment::before_collection;
    name.resize(name.size() - 7);
  }
  const auto at = name.find('@');
  const auto counter = name.substr(0, at);
  key.counter = parsed(parse_counter(counter), "counter", counter);
  if (at != std::string::npos) key.device = parse_device(name.substr(at + 1));
  return key;
}

Trace trace_from_json(const Json& series) {
  std::vector<SeriesKey> keys;
  std::vector<std::vector<std::int64_t>> columns;
  for (const auto& [name, values] : series.items()) {
    keys.push_back(series_key_from(name));
    columns.push_back(values.get<std::vector<std::int64_t>>());
    if (columns.back().size() != columns.front().size()) {
      throw failure_error(fmt::format("series '{}' has another length than the first", name));
    }
  }
  Trace trace(keys);
  std::vector<std::int64_t> row(columns.size());
  for (std::size_t step = 0; !columns.empty() && step < columns.front().size(); ++step) {
    for (std::size_t column = 0; column < columns.size(); ++column) row[column] = columns[column][step];
    trace.add_row(row);
  }
  return trace;
}

}  // namespace

std::string to_json(const Result& result) {
  Json findings = Json::array();
  for (const auto& finding : result.findings) findings.push_back(finding_to_json(finding));
  Json json = {
      {"schema", kResultSchema},
      {"target", result.target},
      {"device", to_string(result.device)},
      {"verdict", to_string(result.verdict)},
      {"reason", result.reason},
      {"steps", result.steps},
      {"seconds", result.seconds},
      {"limit", {{"bytes_per_step", result.limit.bytes_per_step}, {"period_steps", result.limit.period_steps}}},
      {"findings", findings},
      {"notes", result.notes},
      {"steady", result.steady},
      {"explained_from", result.trace.explained_from},
      {"explained_steps", result.trace.explained_steps},
      {"explain_stride", result.trace.explain_stride},
      {"series", series_to_json(result.trace)},
      {"conditions", result.conditions}};
  if (result.failure) {
    json["failure"] = {{"what", result.failure->what},
                       {"remedy", result.failure->remedy},
                       {"output_tail", result.failure->output_tail}};
    if (result.failure->memory.blocks > 0) json["failure"]["memory"] = memory_to_json(result.failure->memory);
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result result_from_json(std::string_view text) try {
  const Json json = Json::parse(text);
  if (json.at("schema") != kResultSchema) {
    throw failure_error(fmt::format("schema {} is not {}", json.at("schema").dump(), kResultSchema),
                        "read it with the stepleak that wrote it");
  }
  Result result;
  result.target = json.at("target");
  result.device = parse_device(json.at("device").get<std::string>());
  result.verdict = parsed(parse_verdict(json.at("verdict").get<std::string>()), "verdict", json.at("verdict"));
  result.reason = json.at("reason");
  result.steps = json.at("steps");
  result.seconds = json.at("seconds");
  result.limit = {json.at("limit").at("bytes_per_step"), json.at("limit").at("period_steps")};
  for (const auto& finding : json.at("findings")) result.findings.push_back(finding_from_json(finding));
  result.notes = json.at("notes").get<std::vector<std::string>>();
  result.steady = json.at("steady").get<std::map<std::string, std::int64_t>>();
  result.trace = trace_from_json(json.at("series"));
  result.trace.explained_from = json.value("explained_from", std::int64_t{-1});
  result.trace.explained_steps = json.value("explained_steps", std::int64_t{0});
  result.trace.explain_stride = json.value("explain_stride", std::int64_t{1});
  result.conditions = json.at("conditions").get<std::map<std::string, std::string>>();
  if (json.contains("failure")) {
    const auto& failure = json.at("failure");
    result.failure = RunFailure{failure.at("what"), failure.at("remedy"), failure.at("output_tail"), {}};
    if (failure.contains("memory")) result.failure->memory = memory_from_json(failure.at("memory"));
  }
  return result;
} catch (const Json::exception& error) {
  throw failure_error(fmt::format("not a stepleak result: {}", error.what()), "write it again with --json");
}

}  // namespace stepleak
