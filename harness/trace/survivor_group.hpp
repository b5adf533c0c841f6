// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/trace/recording.hpp"

namespace stepleak {

/// What stays of the recorded steps of one stack.
struct SurvivorGroup {
  std::vector<Frame> stack;  ///< the user's and the libraries' frames, innermost first; empty where none was seen
  std::string op;            ///< operator that made the first of them; empty where unknown
  std::int64_t count = 0;
  std::int64_t bytes = 0;  ///< each byte once: a tensor's memory is a block, too
  int folded_count = 0;    ///< of the last of many: so many further groups, all together
};

/// The largest first, 48 at most; without what was born in the newest steps, which may still be in use.
[[nodiscard]] std::vector<SurvivorGroup> survivor_groups(const Recording& recording);

}  // namespace stepleak
