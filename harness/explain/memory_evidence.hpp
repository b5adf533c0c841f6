// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trace/result.hpp"

namespace stepleak {

/// What a device's memory was used for when a step ran out of it, from the blocks among a trace's survivors.
[[nodiscard]] MemoryEvidence memory_evidence_of(const Trace& trace, Device device);

}  // namespace stepleak
