// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "harness/trace/ledger.hpp"
#include "harness/trace/result.hpp"

namespace stepleak {

using Point = std::pair<std::int64_t, std::int64_t>;  // step, value

/// What a line through a ledger needs: its readings up to `most`, of a stretch of several its first, lowest, highest
/// and last. A value that repeats is drawn by its ends.
[[nodiscard]] std::vector<Point> drawn_points(const Ledger& ledger, std::size_t most);

/// What the recorded steps left behind at one place.
struct SurvivorGroup {
  std::string place;  ///< "train.py:12 in step"
  std::string op;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

/// By the innermost frame of the user's; the largest first, the rest of many as one.
[[nodiscard]] std::vector<SurvivorGroup> survivor_groups(const Recording& recording);

}  // namespace stepleak
