// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/probes/torch/stack_recorder.hpp"

namespace c10 {
struct GatheredContext;
}

namespace stepleak {

/// A block of the caching allocator that is in use.
struct AllocatorBlock {
  std::uintptr_t address = 0;
  std::int64_t bytes = 0;
  bool is_waiting = false;  ///< freed, and waiting for a stream
  StackCapture capture;     ///< null where no stack was recorded
};

/// All blocks of a device that are in use, by the allocator's own list; for the native back end only.
[[nodiscard]] std::vector<AllocatorBlock> blocks_in_use(std::size_t device);

/// The streams that own the segments, by their handles, one a segment; for the native back end only.
[[nodiscard]] std::vector<const void*> streams_with_segments(std::size_t device);

/// Whether blocks carry the stack of their allocation from now on. A history that the user records has stacks as
/// well, and is left alone. Called between steps only.
void record_allocation_stacks(bool is_recording);

/// The stack that a block or an event carries; null where it has none.
[[nodiscard]] StackCapture capture_of(const std::shared_ptr<c10::GatheredContext>& context);

}  // namespace stepleak
