// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace stepleak {

/// The `library` of host heap that torch's own libraries took while a process group is there: torch keeps the newest
/// collectives with their shapes and ranks, for who asks after a hang (c10d's FlightRecorder).
inline constexpr std::string_view kCollectiveRecorder = "torch's flight recorder of collectives";

/// As many as it keeps (TORCH_FR_BUFFER_SIZE, 2,000), of 2 KiB at most: 0.5 to 0.9 KiB were measured with gloo and
/// NCCL.
inline constexpr std::int64_t kMostRecordedBytes = std::int64_t{2000} * 2048;

}  // namespace stepleak
