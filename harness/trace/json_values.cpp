// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/json_values.hpp"

#include "harness/trace/frames.hpp"
#include "harness/trace/holder_text.hpp"

namespace stepleak {
namespace {

Json frame_to_json(const Frame& frame) {
  Json json{{"file", frame.file},
            {"line", frame.line},
            {"function", frame.function},
            {"text", frame.text},
            {"owner", to_string(frame.owner)}};
  if (frame.folded_count > 0) json["folded_count"] = frame.folded_count;
  return json;
}

Frame frame_from_json(const Json& json) {
  // Without an owner it was written before libraries' frames were told from the user's.
  const auto owner = json.value("owner", std::string("user"));
  return {.file = json.at("file"),
          .line = int_from(json.at("line")),
          .function = json.at("function"),
          .text = json.at("text"),
          .owner = parsed(parse_frame_owner(owner), "frame's owner", owner),
          .folded_count = json.contains("folded_count") ? int_from(json.at("folded_count")) : 0};
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
    lines.push_back({count_from(line.at("bytes")), count_from(line.at("blocks")), count_from(line.at("first_step")),
                     count_from(line.at("last_step")), frames_from_json(line.at("where"))});
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
  return {count_from(json.at("bytes")), count_from(json.at("blocks")), live_memory_from_json(json.at("largest")),
          live_memory_from_json(json.at("newest")), live_memory_from_json(json.at("by_stack"))};
}

}  // namespace

std::int64_t count_from(const Json& json) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53U;
  const bool is_above = json.is_number_unsigned() && json.get<std::uint64_t>() > static_cast<std::uint64_t>(kMost);
  if (!json.is_number_integer() || is_above || json.get<std::int64_t>() < -kMost) {
    throw failure_error(fmt::format("{:.40} is no count", json.dump()));
  }
  return json.get<std::int64_t>();
}

int int_from(const Json& json) {
  const auto count = count_from(json);
  if (count != static_cast<int>(count)) throw failure_error(fmt::format("{} is too large a number", count));
  return static_cast<int>(count);
}

std::uint64_t unsigned_from(const Json& json) {
  if (!json.is_number_unsigned()) throw failure_error(fmt::format("{:.40} is no number from 0 on", json.dump()));
  return json.get<std::uint64_t>();
}

int index_from(const Json& json, std::size_t size) {
  const auto index = count_from(json);
  if (index < -1 || index >= static_cast<std::int64_t>(size)) {
    throw failure_error(fmt::format("{} is no index into a list of {}", index, size));
  }
  return static_cast<int>(index);
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

Json statement_to_json(const Statement& statement) {
  Json json{{"file", statement.file},
            {"line", statement.line},
            {"text", statement.text},
            {"expression", statement.expression}};
  if (!statement.calls.empty()) json["calls"] = statement.calls;
  if (statement.detached) json["detached"] = *statement.detached;
  if (statement.is_used_as_tensor) json["is_used_as_tensor"] = true;
  return json;
}

Statement statement_from_json(const Json& json) {
  Statement statement{.file = json.at("file"),
                      .line = int_from(json.at("line")),
                      .text = json.at("text"),
                      .expression = json.at("expression"),
                      .calls = json.value("calls", std::vector<std::string>()),
                      .is_used_as_tensor = json.value("is_used_as_tensor", false)};
  if (json.contains("detached")) statement.detached = json.at("detached").get<std::vector<std::string>>();
  return statement;
}

Json structure_to_json(const Structure& structure) {
  return {{"type", to_string(structure.type)},
          {"bound", structure.bound},
          {"file", structure.file},
          {"line", structure.line},
          {"text", structure.text}};
}

Structure structure_from_json(const Json& json) {
  const std::string type = json.at("type");
  return {.type = parsed(parse_structure_type(type), "type of structure", type),
          .bound = count_from(json.at("bound")),
          .file = json.at("file"),
          .line = int_from(json.at("line")),
          .text = json.at("text")};
}

Json declared_to_json(const std::vector<DeclaredBound>& declared) {
  Json json = Json::array();
  for (const auto& bound : declared) {
    json.push_back(
        {{"container", bound.type}, {"length", bound.length}, {"structure", structure_to_json(bound.structure)}});
  }
  return json;
}

std::vector<DeclaredBound> declared_from_json(const Json& json) {
  std::vector<DeclaredBound> declared;
  for (const auto& bound : json) {
    declared.push_back(
        {bound.at("container"), count_from(bound.at("length")), structure_from_json(bound.at("structure"))});
  }
  return declared;
}

Json failure_to_json(const RunFailure& failure) {
  Json json = {{"reason", failure.reason},
               {"what", failure.what},
               {"remedy", failure.remedy},
               {"output_tail", failure.output_tail}};
  if (failure.memory.blocks > 0) json["memory"] = memory_to_json(failure.memory);
  if (failure.is_out_of_memory) json["is_out_of_memory"] = true;
  return json;
}

RunFailure failure_from_json(const Json& json) {
  RunFailure failure{.what = json.at("what"), .remedy = json.at("remedy"), .output_tail = json.at("output_tail")};
  failure.reason = json.value("reason", failure.reason);
  if (json.contains("memory")) failure.memory = memory_from_json(json.at("memory"));
  failure.is_out_of_memory = json.value("is_out_of_memory", false);
  return failure;
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

Json marks_to_json(const Trace& trace) {
  Json json = Json::array();
  for (const auto& mark : trace.marks()) json.push_back({{"step", mark.step}, {"type", to_string(mark.type)}});
  return json;
}

void add_marks_from(const Json& json, Trace& trace) {
  for (const auto& mark : json.value("marks", Json::array())) {
    const std::string type = mark.at("type");
    trace.add_mark({count_from(mark.at("step")), parsed(parse_mark_type(type), "mark", type)});
  }
}

}  // namespace stepleak
