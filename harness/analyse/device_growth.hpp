// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/analyse/trends.hpp"

namespace stepleak {

/// What a GPU's memory does beside its live tensors. The ledgers form a chain, live <= active <= reserved <= process;
/// the difference between two neighbours is a ledger of its own.
struct DeviceGrowth {
  Device device;
  Trend live;                         ///< bytes of live tensors
  Trend waiting;                      ///< active - live: freed, and waiting for a stream
  Trend reserved;                     ///< what the caching allocator took from the driver
  Trend private_pool;                 ///< of that, in pools of graphs and of MemPools
  Trend outside;                      ///< process - reserved; noisy, in steps of 2 MiB
  Trend objects;                      ///< streams, events, raw allocations and so on, from when they are counted
  Decay outside_decay = Decay::none;  ///< as what a library keeps for each shape rises
  Decay objects_decay = Decay::none;

  /// Reserved memory that grows though live tensors do not.
  [[nodiscard]] bool is_drifting() const { return reserved.is_growing() && !live.is_growing(); }
  [[nodiscard]] bool is_leak() const {
    return is_drifting() || waiting.is_growing() || is_outside_growing() || is_keeping_objects();
  }
  [[nodiscard]] bool is_outside_growing() const { return outside.is_growing() && outside_decay == Decay::none; }
  /// Fewer than kObjectFloor are a pool of torch's or of a library's that fills now and then.
  [[nodiscard]] bool is_keeping_objects() const {
    return objects.is_growing() && objects.per_step >= kObjectFloor && objects_decay == Decay::none;
  }
  /// The first of these that may still turn into a leak, as far as this run shows: a ledger's name; empty where none
  /// may. Waiting frees come and go with the device. `may_decay`: what is_fading() may not.
  [[nodiscard]] std::string unsettled(bool may_decay) const;
};

/// One entry a GPU that the run observed. Reserved memory that has not settled is flat where it rose last while live
/// tensors or a step's peak still rose, and all have stood still since, for the half of the judged steps at least: what
/// was taken for what is live is no drift.
[[nodiscard]] std::vector<DeviceGrowth> device_growths_of(const Trace& trace, const Trends& trends);

/// Of mapped shared memory. Workers of a loader run ahead by a few batches, so it need not be flat where all is well.
[[nodiscard]] Trend shared_trend(const Trends& trends);

/// Page-locked host memory of torch's host allocator, in use and cached. `too_short` where it was not observed.
[[nodiscard]] Trend pinned_trend(const Trends& trends);

/// The first place where the chain live <= active <= reserved breaks, in words; empty where it holds. A break means
/// that the evidence is wrong, ours or the allocator's.
[[nodiscard]] std::string broken_chain(const Trace& trace);

}  // namespace stepleak
