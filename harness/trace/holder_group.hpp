// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/trace/object_graph.hpp"

namespace stepleak {

struct Recording;

/// Survivors that are kept alike: by paths that differ in indices, lengths and numbers of keys at most.
struct HolderGroup {
  std::vector<HolderPart> path;  ///< without what differs; empty: no holder of these was found
  std::int64_t count = 0;        ///< tensors and handles; of a container without any, the entries that it gained
  std::int64_t bytes = 0;        ///< each byte once: memory that several keep is the first one's
  int folded_count = 0;          ///< of the last of many: so many further groups, all together
};

/// The largest first, 48 at most; without what was born in the newest steps, which may still be in use. Autograd nodes
/// and the native heap's memory are in it only where their holder is known: the ones are kept by tensors, the others
/// are known by their stacks.
[[nodiscard]] std::vector<HolderGroup> holder_groups(const Recording& recording);

}  // namespace stepleak
