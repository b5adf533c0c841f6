// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/analyse/evidence.hpp"
#include "harness/trace/finding.hpp"

namespace stepleak {

/// What makes up growing tensor memory on a device, as the detectors of bytes share it among them.
/// All empty without a recording.
struct StorageGrowth {
  Device device = kHost;
  Trend bytes;
  Trend blocks;
  bool is_shared = false;   ///< the bytes are shared memory, and `blocks` counts tensors
  bool are_shells = false;  ///< tensors without memory of their own, of which none was recorded; `blocks` counts them
  std::vector<const Survivor*> views;        ///< of old tensors that need half of their storage together at most
  std::vector<const Survivor*> computed;     ///< old tensors that an operator computed, whole
  std::vector<const Survivor*> fresh;        ///< old tensors that no other tensor went into
  std::vector<const Survivor*> unknown;      ///< old blocks that no known tensor uses
  std::vector<const Survivor*> unreachable;  ///< of all these, what nothing in the program leads to

  /// The group with the most bytes is the cause that is named.
  enum class Cause : std::uint8_t { unknown, views, computed, fresh, buffer, unreachable };
  Cause cause = Cause::unknown;
};

/// Whether the bytes on a device rise in blocks that are no more than before.
[[nodiscard]] bool are_sizes_growing(const Trends& trends, Device device);

/// One entry a device whose live bytes (or, at the host, live tensors) grow; the most bytes first.
[[nodiscard]] std::vector<StorageGrowth> storage_growths_of(const Evidence& evidence);

/// The finding of a growth for one kind with its suspects and the ledgers it explains.
[[nodiscard]] Finding storage_finding(const Recording& recording, const StorageGrowth& growth, Kind kind,
                                      const std::vector<const Survivor*>& suspects);

}  // namespace stepleak
