// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/recording_json.hpp"

#include <array>
#include <map>
#include <tuple>

#include "harness/trace/frames.hpp"
#include "harness/trace/holder_text.hpp"

namespace stepleak {
namespace {

constexpr std::array kSurvivorTypes{std::string_view("block"), std::string_view("tensor"), std::string_view("node"),
                                    std::string_view("handle"), std::string_view("heap")};

constexpr std::array kFlags{
    &Survivor::has_graph,          &Survivor::is_computed,  &Survivor::is_sink,
    &Survivor::is_in_cycle,        &Survivor::is_view_base, &Survivor::is_collected,
    &Survivor::is_optimizer_state, &Survivor::is_pinned,    &Survivor::is_unreachable,
};

SurvivorType parse_survivor_type(const std::string& name) {
  for (std::size_t i = 0; i < kSurvivorTypes.size(); ++i) {
    if (kSurvivorTypes[i] == name) return static_cast<SurvivorType>(i);
  }
  throw failure_error(fmt::format("'{}' is no type of survivor", name));
}

HandleType parse_handle(const std::string& name) {
  const auto type = parse_handle_type(name);
  if (!type || *type == HandleType::none) throw failure_error(fmt::format("'{}' is no CUDA object", name));
  return *type;
}

// A row a survivor: there are thousands of them, and keys would be most of the file.
Json survivor_to_json(const Survivor& survivor) {
  unsigned flags = 0;
  for (std::size_t i = 0; i < kFlags.size(); ++i) flags |= survivor.*kFlags[i] ? 1U << i : 0U;
  const bool is_handle = survivor.type == SurvivorType::handle;
  const auto name = is_handle ? to_string(survivor.handle) : std::string_view(survivor.name);
  return Json::array({kSurvivorTypes.at(static_cast<std::size_t>(survivor.type)), to_string(survivor.device),
                      survivor.birth_step, survivor.identity, survivor.storage, survivor.bytes, survivor.storage_bytes,
                      survivor.dims, name, survivor.op, flags, survivor.stack, survivor.holder, survivor.library});
}

Survivor survivor_from_json(const Json& row, const Recording& recording) {
  Survivor survivor{.type = parse_survivor_type(row.at(0)),
                    .device = parse_device(row.at(1).get<std::string>()),
                    .birth_step = count_from(row.at(2)),
                    .identity = unsigned_from(row.at(3)),
                    .storage = unsigned_from(row.at(4)),
                    .bytes = count_from(row.at(5)),
                    .storage_bytes = count_from(row.at(6)),
                    .dims = int_from(row.at(7)),
                    .op = row.at(9),
                    .library = row.size() > 13 ? row.at(13).get<std::string>() : std::string()};
  if (survivor.type == SurvivorType::handle) {
    survivor.handle = parse_handle(row.at(8));
  } else {
    survivor.name = row.at(8);
  }
  const auto flags = unsigned_from(row.at(10));
  for (std::size_t i = 0; i < kFlags.size(); ++i) survivor.*kFlags[i] = (flags >> i & 1U) != 0;
  survivor.stack = index_from(row.at(11), recording.stacks.size());
  survivor.holder = index_from(row.at(12), recording.holders.size());
  return survivor;
}

// Where -1 does not stand for none.
int index_of_one(const Json& json, std::size_t size) {
  const int index = index_from(json, size);
  if (index < 0) throw failure_error("an index is negative");
  return index;
}

// Stacks share most of their frames: each frame once, and the stacks by number.
Json stacks_to_json(const std::vector<std::vector<Frame>>& stacks) {
  std::map<std::tuple<std::string, int, std::string>, std::size_t> numbers;
  Json frames = Json::array();
  Json lists = Json::array();
  for (const auto& stack : stacks) {
    Json list = Json::array();
    for (const auto& frame : stack) {
      const auto [number, is_new] = numbers.try_emplace({frame.file, frame.line, frame.function}, numbers.size());
      if (is_new) frames.push_back({frame.file, frame.line, frame.function, frame.text, to_string(frame.owner)});
      list.push_back(number->second);
    }
    lists.push_back(std::move(list));
  }
  return {{"frames", std::move(frames)}, {"stacks", std::move(lists)}};
}

std::vector<std::vector<Frame>> stacks_from_json(const Json& json) {
  std::vector<Frame> frames;
  for (const auto& row : json.at("frames")) {
    const std::string owner = row.at(4);
    frames.push_back({row.at(0), int_from(row.at(1)), row.at(2), row.at(3),
                      parsed(parse_frame_owner(owner), "frame's owner", owner)});
  }
  std::vector<std::vector<Frame>> stacks;
  for (const auto& list : json.at("stacks")) {
    auto& stack = stacks.emplace_back();
    for (const auto& number : list) {
      stack.push_back(frames.at(static_cast<std::size_t>(index_of_one(number, frames.size()))));
    }
  }
  return stacks;
}

Json graph_to_json(const ObjectGraph& graph) {
  Json nodes = Json::array();
  for (const auto& node : graph.nodes) {
    nodes.push_back({node.type, node.name, node.length, node.bound, node.is_optimizer});
  }
  Json edges = Json::array();
  for (const auto& edge : graph.edges) {
    edges.push_back({edge.from, edge.to, to_string(edge.type), edge.label});
  }
  return {{"nodes", std::move(nodes)}, {"edges", std::move(edges)}};
}

ObjectGraph graph_from_json(const Json& json) {
  ObjectGraph graph;
  for (const auto& row : json.at("nodes")) {
    graph.nodes.push_back({row.at(0), row.at(1), count_from(row.at(2)), count_from(row.at(3)), row.at(4)});
  }
  for (const auto& row : json.at("edges")) {
    const std::string type = row.at(2);
    graph.edges.push_back({index_of_one(row.at(0), graph.nodes.size()), index_of_one(row.at(1), graph.nodes.size()),
                           parsed(parse_edge_type(type), "type of edge", type), row.at(3)});
  }
  return graph;
}

Json holder_to_json(const Holder& holder) {
  return {{"path", holder.path},
          {"held", holder.held},
          {"container", holder.container},
          {"graph", holder.graph},
          {"kept_by", statement_to_json(holder.kept_by)},
          {"structure", structure_to_json(holder.structure)},
          {"buffer_bytes", holder.buffer_bytes},
          {"buffer_growth", holder.buffer_growth},
          {"gained_entries", holder.gained_entries},
          {"gained_bytes", holder.gained_bytes},
          {"gained_blocks", holder.gained_blocks},
          {"gained_block_bytes", holder.gained_block_bytes},
          {"gained_cuda_objects", holder.gained_cuda_objects},
          {"is_weighed", holder.is_weighed},
          {"gains_callbacks", holder.gains_callbacks},
          {"free_entries", holder.free_entries},
          {"is_of_sources", holder.is_of_sources},
          {"is_waiting", holder.is_waiting},
          {"are_items_used", holder.are_items_used},
          {"has_new_keys_only", holder.has_new_keys_only}};
}

Holder holder_from_json(const Json& json, const ObjectGraph& objects) {
  std::vector<int> path;
  for (const auto& edge : json.at("path")) path.push_back(index_of_one(edge, objects.edges.size()));
  const auto nodes = objects.nodes.size();
  return {.path = std::move(path),
          .held = index_from(json.at("held"), nodes),
          .container = index_from(json.at("container"), nodes),
          .graph = index_from(json.at("graph"), nodes),
          .kept_by = statement_from_json(json.at("kept_by")),
          .structure = json.contains("structure") ? structure_from_json(json.at("structure")) : Structure{},
          .buffer_bytes = json.contains("buffer_bytes") ? count_from(json.at("buffer_bytes")) : 0,
          .buffer_growth = json.contains("buffer_growth") ? count_from(json.at("buffer_growth")) : 0,
          .gained_entries = json.contains("gained_entries") ? count_from(json.at("gained_entries")) : 0,
          .gained_bytes = json.contains("gained_bytes") ? count_from(json.at("gained_bytes")) : 0,
          .gained_blocks = json.contains("gained_blocks") ? count_from(json.at("gained_blocks")) : 0,
          .gained_block_bytes = json.contains("gained_block_bytes") ? count_from(json.at("gained_block_bytes")) : 0,
          .gained_cuda_objects = json.contains("gained_cuda_objects") ? count_from(json.at("gained_cuda_objects")) : 0,
          .is_weighed = json.contains("is_weighed") && json.at("is_weighed").get<bool>(),
          .gains_callbacks = json.contains("gains_callbacks") && json.at("gains_callbacks").get<bool>(),
          .free_entries = json.contains("free_entries") ? count_from(json.at("free_entries")) : 0,
          .is_of_sources = json.contains("is_of_sources") && json.at("is_of_sources").get<bool>(),
          .is_waiting = json.contains("is_waiting") && json.at("is_waiting").get<bool>(),
          .are_items_used = json.contains("are_items_used") && json.at("are_items_used").get<bool>(),
          .has_new_keys_only = json.contains("has_new_keys_only") && json.at("has_new_keys_only").get<bool>()};
}

}  // namespace

Json pass_to_json(const Pass& pass) {
  return {{"type", to_string(pass.type)}, {"first_step", pass.first_step},   {"planned_steps", pass.planned_steps},
          {"stride", pass.stride},        {"young_steps", pass.young_steps}, {"records_heap", pass.records_heap}};
}

Pass pass_from_json(const Json& json) {
  Pass pass{.type = parsed(parse_pass_type(json.at("type").get<std::string>()), "pass", json.at("type")),
            .first_step = count_from(json.at("first_step")),
            .planned_steps = count_from(json.at("planned_steps")),
            .stride = count_from(json.at("stride")),
            .young_steps = count_from(json.at("young_steps")),
            .records_heap = json.value("records_heap", false)};
  if (pass.first_step < 1 || pass.planned_steps < 0 || pass.stride < 1 || pass.young_steps < 0) {
    throw failure_error("a pass has steps that none can have");
  }
  return pass;
}

Json recording_to_json(const Recording& recording) {
  Json survivors = Json::array();
  for (const auto& survivor : recording.survivors) survivors.push_back(survivor_to_json(survivor));
  Json holders = Json::array();
  for (const auto& holder : recording.holders) holders.push_back(holder_to_json(holder));
  return {{"pass", pass_to_json(recording.pass)},
          {"steps", recording.steps},
          {"survivors", std::move(survivors)},
          {"where", stacks_to_json(recording.stacks)},
          {"objects", graph_to_json(recording.objects)},
          {"holders", std::move(holders)},
          {"set_apart_garbage", recording.set_apart_garbage},
          {"notes", recording.notes}};
}

Recording recording_from_json(const Json& json) {
  Recording recording{
      .pass = pass_from_json(json.at("pass")),
      .steps = count_from(json.at("steps")),
      .stacks = stacks_from_json(json.at("where")),
      .objects = graph_from_json(json.at("objects")),
      .set_apart_garbage = json.contains("set_apart_garbage") ? count_from(json["set_apart_garbage"]) : 0,
      .notes = json.at("notes").get<std::vector<std::string>>()};
  for (const auto& holder : json.at("holders")) {
    recording.holders.push_back(holder_from_json(holder, recording.objects));
  }
  for (const auto& row : json.at("survivors")) recording.survivors.push_back(survivor_from_json(row, recording));
  return recording;
}

}  // namespace stepleak
