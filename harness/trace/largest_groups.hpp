// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace stepleak {

/// That a result keeps of one kind.
inline constexpr std::size_t kMostGroups = 48;

/// Of groups with `bytes`, `count` and `folded_count` the largest first, `most` at most: of more the last is the rest,
/// summed.
template <typename Group>
[[nodiscard]] std::vector<Group> largest_groups(std::vector<Group> groups, std::size_t most) {
  std::ranges::stable_sort(
      groups, [](const Group& a, const Group& b) { return std::pair(b.bytes, b.count) < std::pair(a.bytes, a.count); });
  if (groups.size() <= most) return groups;
  Group rest;
  for (auto i = most - 1; i < groups.size(); ++i) {
    rest.count += groups[i].count;
    rest.bytes += groups[i].bytes;
    rest.folded_count += std::max(1, groups[i].folded_count);
  }
  groups.resize(most - 1);
  groups.push_back(std::move(rest));
  return groups;
}

}  // namespace stepleak
