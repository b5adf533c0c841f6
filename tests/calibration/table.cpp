// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/calibration/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

#include "harness/base/files.hpp"

namespace stepleak {
namespace {

std::string_view to_string(Sources sources) { return sources == Sources::read ? "read" : "none"; }

std::string percent(const Cell& cell, Outcome outcome) {
  const auto draws = static_cast<std::int64_t>(cell.outcomes.size());
  const auto count = cell.count(outcome, draws);
  if (count == 0) return "·";
  return fmt::format("{:.1f}", 100.0 * static_cast<double>(count) / static_cast<double>(draws));
}

std::string row_of(const Cell& with, const Cell& without) {
  std::string row = fmt::format("| {} |", with.name);
  for (const auto* cell : {&with, &without}) {
    for (const auto outcome : {Outcome::right, Outcome::wrong, Outcome::undecided, Outcome::unseen}) {
      if (outcome == Outcome::unseen && !cell->is_leak) continue;
      row += fmt::format(" {} |", percent(*cell, outcome));
    }
    row += fmt::format(" {} |", cell->median_steps);
  }
  return row + "\n";
}

}  // namespace

std::string Cell::key() const { return fmt::format("{} (sources: {})", name, to_string(sources)); }

std::int64_t Cell::count(Outcome outcome, std::int64_t draws) const {
  const auto end = outcomes.begin() + std::min(draws, static_cast<std::int64_t>(outcomes.size()));
  return std::count(outcomes.begin(), end, static_cast<char>(outcome));
}

std::vector<std::string> worse_than(const std::vector<Cell>& stored, const std::vector<Cell>& now) {
  std::map<std::string, const Cell*> known;
  for (const auto& cell : stored) known[cell.key()] = &cell;
  std::vector<std::string> lines;
  for (const auto& cell : now) {
    const auto before = known.find(cell.key());
    if (before == known.end()) {
      lines.push_back(cell.key() + ": is not stored");
      continue;
    }
    const auto draws = static_cast<std::int64_t>(std::min(cell.outcomes.size(), before->second->outcomes.size()));
    for (const auto outcome : {Outcome::right, Outcome::wrong}) {
      const auto was = before->second->count(outcome, draws);
      const auto is = cell.count(outcome, draws);
      if (outcome == Outcome::right ? is >= was : is <= was) continue;
      lines.push_back(fmt::format("{}: {} of {} draws {}, {} before", cell.key(), is, draws,
                                  outcome == Outcome::right ? "right" : "wrong", was));
    }
  }
  return lines;
}

std::string markdown_of(const std::vector<Cell>& cells) {
  std::string text;
  for (const bool is_leak : {false, true}) {
    const std::string unseen = is_leak ? " unseen |" : "";
    const std::string rule = is_leak ? " ---: |" : "";
    text += fmt::format("\n| {} | right | wrong | undecided |{} steps | right | wrong | undecided |{} steps |\n",
                        is_leak ? "leak" : "healthy", unseen, unseen);
    text += fmt::format("| --- | ---: | ---: | ---: |{} ---: | ---: | ---: | ---: |{} ---: |\n", rule, rule);
    for (std::size_t i = 0; i + 1 < cells.size(); i += 2) {
      if (cells[i].is_leak == is_leak) text += row_of(cells[i], cells[i + 1]);
    }
  }
  return text;
}

std::string json_of(const std::vector<Cell>& cells) {
  auto json = nlohmann::ordered_json::array();
  for (const auto& cell : cells) {
    json.push_back({{"case", cell.name},
                    {"is_leak", cell.is_leak},
                    {"sources", to_string(cell.sources)},
                    {"median_steps", cell.median_steps},
                    {"outcomes", cell.outcomes}});
  }
  return json.dump(1) + "\n";
}

std::vector<Cell> read_cells(const std::filesystem::path& file) {
  std::vector<Cell> cells;
  for (const auto& json : nlohmann::json::parse(read_file(file))) {
    cells.push_back({.name = json.at("case"),
                     .sources = json.at("sources") == "read" ? Sources::read : Sources::none,
                     .is_leak = json.at("is_leak"),
                     .outcomes = json.at("outcomes"),
                     .median_steps = json.at("median_steps")});
  }
  return cells;
}

}  // namespace stepleak
