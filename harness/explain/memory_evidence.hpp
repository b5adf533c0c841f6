// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trace/recording.hpp"
#include "harness/trace/run_failure.hpp"

namespace stepleak {

/// What a device's memory was used for when a step ran out of it, from the blocks that were alive.
[[nodiscard]] MemoryEvidence memory_evidence_of(const Recording& recording, Device device);

}  // namespace stepleak
