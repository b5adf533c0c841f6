// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "harness/probes/block_table.hpp"
#include "harness/probes/torch/block_stacks.hpp"

namespace stepleak {

constexpr int kNoStack = -1;

/// A native block of a recorded step that is alive at the end of the pass.
struct LeftBlock {
  Block block;
  std::size_t site = 0;  ///< as AllocationSites counts them; 0 of more than one
  std::int64_t step = 0;
  int stack = kNoStack;
};

/// Gives each block the index of the stack that was captured for it; those of equal content are one. Of a site whose
/// stacks are all one, the first blocks came that way, too: theirs are not captured. A capture of another step is of a
/// block that is gone.
///
/// `index_of` is asked once for each different stack. Needs no Torch.
void add_stacks(const BlockStacks::Table& captures, const std::function<int(const StackCapture&)>& index_of,
                std::vector<LeftBlock>& left);

}  // namespace stepleak
