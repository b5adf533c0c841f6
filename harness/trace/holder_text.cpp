// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/trace/holder_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <utility>
#include <vector>

namespace stepleak {
namespace {

// In the order of the enumerators.
constexpr std::array kEdgeTypes{std::string_view("attribute"), std::string_view("index"), std::string_view("key"),
                                std::string_view("hidden"), std::string_view("other")};

constexpr std::array kStructureTypes{
    std::string_view("unbounded"),   std::string_view("bounded"), std::string_view("declared"),
    std::string_view("exceeded"),    std::string_view("reset"),   std::string_view("uncalled"),
    std::string_view("expiring"),    std::string_view("keyed"),   std::string_view("conditional"),
    std::string_view("unreachable"), std::string_view("unknown")};

/// Whether the text says what differs from one run to the next.
enum class Detail : std::uint8_t { shape, full };

const ObjectNode& node_at(const ObjectGraph& graph, int index) {
  return graph.nodes.at(static_cast<std::size_t>(index));
}

std::string text_of(const ObjectNode& node, Detail detail) {
  if (node.length >= 0) {
    return detail == Detail::full ? fmt::format(" ({}, len {})", node.type, node.length)
                                  : fmt::format(" ({})", node.type);
  }
  // Every path ends in a tensor, or in a container of them: on the way it says nothing.
  return node.type.empty() || node.type == "Tensor" ? "" : fmt::format(" ({})", node.type);
}

// "task#" of "task13": a number in a key counts what came before it.
std::string without_numbers(const std::string& key) {
  std::string text;
  for (const auto letter : key) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(letter)) != 0;
    if (!is_digit) {
      text += letter;
    } else if (!text.ends_with('#')) {
      text += '#';
    }
  }
  return text;
}

std::string text_of(const ObjectGraph& graph, const ObjectEdge& edge, Detail detail) {
  switch (edge.type) {
    case EdgeType::attribute: {
      const bool is_key = node_at(graph, edge.from).length >= 0;
      return " ." + (is_key && detail == Detail::shape ? without_numbers(edge.label) : edge.label);
    }
    case EdgeType::index:
    case EdgeType::key:
      return detail == Detail::full ? fmt::format(" [{}]", edge.label) : " []";
    case EdgeType::hidden:
      return "";
    case EdgeType::other:
      break;
  }
  return " ->";
}

std::string arrow_to(const ObjectNode& node) { return node.type.empty() ? "" : " -> " + node.type; }

// What leads on and on the same way, as a linked list or pairs in pairs do, is told once. How far is the run's.
std::string with_repeats(const std::vector<std::string>& parts, Detail detail) {
  constexpr std::ptrdiff_t kFewest = 4;
  std::string text;
  for (auto part = parts.begin(); part != parts.end();) {
    const auto end = std::find_if(part, parts.end(), [&](const std::string& other) { return other != *part; });
    const auto count = end - part;
    const bool is_folded = count >= kFewest;
    for (std::ptrdiff_t i = 0; i < (is_folded ? 1 : count); ++i) text += *part;
    if (is_folded && detail == Detail::full) text += fmt::format(" ({} times)", count);
    part = end;
  }
  return text;
}

std::string text_of(const ObjectGraph& graph, const Holder& holder, Detail detail) {
  if (holder.held < 0) return "";
  const auto edge_at = [&](int index) -> const ObjectEdge& { return graph.edges.at(static_cast<std::size_t>(index)); };
  const auto& root = node_at(graph, holder.path.empty() ? holder.held : edge_at(holder.path.front()).from);
  std::vector<std::string> parts;
  for (const auto index : holder.path) {
    const auto& edge = edge_at(index);
    auto part = text_of(graph, edge, detail) + text_of(node_at(graph, edge.to), detail);
    if (!part.empty()) parts.push_back(std::move(part));
  }
  auto text = root.name + text_of(root, detail) + with_repeats(parts, detail);
  const auto& held = node_at(graph, holder.held);
  // Fingerprints keep both arrows, as they were stored.
  const bool has_arrow = detail == Detail::full && text.ends_with(" ->");
  if (held.length < 0 && !held.type.empty()) text += has_arrow ? " " + held.type : arrow_to(held);
  if (detail == Detail::full && holder.graph >= 0) text += arrow_to(node_at(graph, holder.graph));
  return text;
}

std::vector<HolderPart> parts_of(const ObjectGraph& graph, const Holder& holder, Detail detail) {
  if (holder.held < 0) return {};
  const auto edge_at = [&](int index) -> const ObjectEdge& { return graph.edges.at(static_cast<std::size_t>(index)); };
  const auto root = holder.path.empty() ? holder.held : edge_at(holder.path.front()).from;
  std::vector<HolderPart> parts{{.by = "",
                                 .what = node_at(graph, root).name + text_of(node_at(graph, root), detail),
                                 .is_container = root == holder.container}};
  std::string by;  // over objects that have no name of their own
  for (const auto index : holder.path) {
    const auto& edge = edge_at(index);
    const auto& node = node_at(graph, edge.to);
    if (edge.type != EdgeType::other) by += text_of(graph, edge, detail);
    if (node.type.empty() && node.length < 0) continue;
    parts.push_back({.by = by.empty() ? by : by.substr(1),
                     .what = node.length < 0 || detail == Detail::shape
                                 ? node.type
                                 : fmt::format("{}, len {}", node.type, node.length),
                     .is_container = edge.to == holder.container});
    by.clear();
  }
  if (detail == Detail::full && holder.graph >= 0)
    parts.push_back({.by = ".grad_fn", .what = node_at(graph, holder.graph).type});
  return parts;
}

}  // namespace

std::string_view to_string(EdgeType type) { return kEdgeTypes.at(static_cast<std::size_t>(type)); }

std::optional<EdgeType> parse_edge_type(std::string_view name) {
  for (std::size_t i = 0; i < kEdgeTypes.size(); ++i) {
    if (kEdgeTypes[i] == name) return static_cast<EdgeType>(i);
  }
  return std::nullopt;
}

std::string_view to_string(StructureType type) { return kStructureTypes.at(static_cast<std::size_t>(type)); }

std::optional<StructureType> parse_structure_type(std::string_view name) {
  for (std::size_t i = 0; i < kStructureTypes.size(); ++i) {
    if (kStructureTypes[i] == name) return static_cast<StructureType>(i);
  }
  return std::nullopt;
}

std::string structure_text(const Structure& structure) {
  std::string_view text = structure.text;
  if (text.ends_with(':')) text.remove_suffix(1);  // of a loop's head
  const auto at = structure.line == 0 ? "" : fmt::format(" by {}:{}  {}", structure.file, structure.line, text);
  switch (structure.type) {
    case StructureType::unbounded:
      return structure.line == 0 ? "nothing in your sources takes anything out of it"
                                 : "past the lengths at which it is kept small" + at;
    case StructureType::bounded:
      return (structure.bound > 0 ? fmt::format("bounded at {}", structure.bound) : "bounded") + at;
    case StructureType::declared:
      return fmt::format("declared to hold at most {}{}", structure.bound, at);
    case StructureType::exceeded:
      return fmt::format("holds more than the {} that are declared{}", structure.bound, at);
    case StructureType::reset:
      return "emptied" + at;
    case StructureType::uncalled:
      return "emptied" + at + ", which no step calls";
    case StructureType::expiring:
      return "rid of what is old" + at;
    case StructureType::keyed:
      return "filled once a key" + at;
    case StructureType::conditional:
      return "perhaps kept small" + at;
    case StructureType::unreachable:
      return "nothing in the program leads to it, and no collection frees it";
    case StructureType::unknown:
      break;
  }
  return "";
}

std::vector<HolderPart> path_parts(const ObjectGraph& graph, const Holder& holder) {
  return parts_of(graph, holder, Detail::full);
}

std::vector<HolderPart> shape_parts(const ObjectGraph& graph, const Holder& holder) {
  return parts_of(graph, holder, Detail::shape);
}

std::string path_text(const ObjectGraph& graph, const Holder& holder) { return text_of(graph, holder, Detail::full); }

std::string shape_text(const ObjectGraph& graph, const Holder& holder) {
  // What was found in the sources follows from the place, and says no more than that.
  return holder.is_of_sources ? "" : text_of(graph, holder, Detail::shape);
}

}  // namespace stepleak
