// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#include "harness/probes/torch/compat/features.hpp"

namespace stepleak {

/// The segments of the caching allocator with their blocks, of all devices. Where torch cannot leave its history out of
/// a snapshot, one that a user records is copied each time.
inline std::vector<c10::cuda::CUDACachingAllocator::SegmentInfo> allocator_segments() {
#ifdef STEPLEAK_SNAPSHOT_WITHOUT_TRACES
  return c10::cuda::CUDACachingAllocator::snapshot({0, 0}, /*include_traces=*/false).segments;
#else
  return c10::cuda::CUDACachingAllocator::snapshot({0, 0}).segments;
#endif
}

}  // namespace stepleak
