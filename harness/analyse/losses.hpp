// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/analyse/evidence.hpp"
#include "harness/trace/result.hpp"
#include "harness/trace/run_record.hpp"

namespace stepleak {

/// What each device loses a step, all together: on a GPU live tensors, or what the process reserves, in private pools
/// too, or takes beside them where that grows faster; on the host tensors, and the heap with graphs, copies and
/// objects, where Python's own allocator has small ones in blocks that are of no heap: by what containers gained of
/// them in the record pass. The largest first; at least so much on the host where the heap's own trend is not known,
/// where it may hide more below its floor than was seen, or where most of such blocks were not weighed; a device that
/// loses nothing is left out. A pure function.
[[nodiscard]] std::vector<Loss> losses_of(const Evidence& evidence, const std::vector<DeviceCapacity>& capacities);

}  // namespace stepleak
