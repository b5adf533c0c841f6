// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#include "harness/probes/torch/compat/features.hpp"

namespace stepleak {

/// Lets the caching allocator ask `recorder` for the context of each allocation, null for no more. The history of one
/// entry that it keeps beside them is not used.
inline void record_contexts(c10::cuda::CUDACachingAllocator::CreateContextFn recorder) {
  namespace allocator = c10::cuda::CUDACachingAllocator;
  const bool is_on = recorder != nullptr;
  // ALLOC: blocks carry what was recorded at their allocation.
  const auto when = is_on ? allocator::RecordContext::ALLOC : allocator::RecordContext::NEVER;
#ifdef STEPLEAK_HISTORY_SKIPS_ACTIONS
  allocator::recordHistory(is_on, recorder, is_on ? 1 : 0, when, /*clearHistory=*/false, /*skip_actions=*/{});
#else
  allocator::recordHistory(is_on, recorder, is_on ? 1 : 0, when, /*clearHistory=*/false);
#endif
}

}  // namespace stepleak
