// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/report/html_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace stepleak {
namespace {

std::vector<Point> without_repeats(const Ledger& ledger) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < ledger.values().size(); ++i) {
    const Point point{ledger.steps()[i], ledger.values()[i]};
    const auto count = points.size();
    if (count >= 2 && points[count - 1].second == point.second && points[count - 2].second == point.second) {
      points.back() = point;
    } else {
      points.push_back(point);
    }
  }
  return points;
}

std::string place_of(const Survivor& survivor, const Recording& recording) {
  if (survivor.stack < 0) return "a place that was not seen";
  const auto& stack = recording.stacks.at(static_cast<std::size_t>(survivor.stack));
  const auto users =
      std::find_if(stack.begin(), stack.end(), [](const Frame& frame) { return frame.owner == FrameOwner::user; });
  if (users == stack.end()) return "code of libraries";
  const auto name = users->file.substr(users->file.rfind('/') + 1);
  return fmt::format("{}:{} in {}", name, users->line, users->function);
}

}  // namespace

std::vector<Point> drawn_points(const Ledger& ledger, std::size_t most) {
  const auto points = without_repeats(ledger);
  if (points.size() <= most) return points;
  const auto by_value = [](const Point& a, const Point& b) { return a.second < b.second; };
  const auto stretches = std::max<std::size_t>(1, most / 4);
  std::vector<Point> drawn;
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(points.size() * i / stretches);
    const auto end = points.begin() + static_cast<std::ptrdiff_t>(points.size() * (i + 1) / stretches);
    std::vector<Point> stretch{*begin, *std::min_element(begin, end, by_value), *std::max_element(begin, end, by_value),
                               *(end - 1)};
    std::sort(stretch.begin(), stretch.end());
    stretch.erase(std::unique(stretch.begin(), stretch.end()), stretch.end());
    drawn.insert(drawn.end(), stretch.begin(), stretch.end());
  }
  return drawn;
}

std::vector<SurvivorGroup> survivor_groups(const Recording& recording) {
  constexpr std::size_t kMostGroups = 24;
  std::map<std::string, SurvivorGroup> by_place;
  for (const auto& survivor : recording.survivors) {
    auto& group = by_place[place_of(survivor, recording)];
    // A tensor's memory is a block, too: each byte once.
    const bool is_within_a_block = survivor.type == SurvivorType::tensor || survivor.type == SurvivorType::node;
    if (!is_within_a_block) group.bytes += survivor.bytes;
    if (group.op.empty()) group.op = survivor.op;
    ++group.count;
  }
  std::vector<SurvivorGroup> groups;
  for (auto& [place, group] : by_place) {
    group.place = place;
    groups.push_back(group);
  }
  std::sort(groups.begin(), groups.end(),
            [](const auto& a, const auto& b) { return std::pair(b.bytes, b.count) < std::pair(a.bytes, a.count); });
  if (groups.size() <= kMostGroups) return groups;
  SurvivorGroup rest{.place = fmt::format("{} more places", groups.size() - kMostGroups + 1)};
  for (auto i = kMostGroups - 1; i < groups.size(); ++i) {
    rest.count += groups[i].count;
    rest.bytes += groups[i].bytes;
  }
  groups.resize(kMostGroups - 1);
  groups.push_back(rest);
  return groups;
}

}  // namespace stepleak
