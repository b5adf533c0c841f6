// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "harness/trace/ledger.hpp"

namespace stepleak {

using Point = std::pair<std::int64_t, std::int64_t>;  // step, value

/// What a line through a ledger needs: its readings up to `most`, of a stretch of several its first, lowest, highest
/// and last. A value that repeats is drawn by its ends.
[[nodiscard]] std::vector<Point> drawn_points(const Ledger& ledger, std::size_t most);

}  // namespace stepleak
