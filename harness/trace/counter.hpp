// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/trace/device.hpp"

namespace stepleak {

/// What one number of a ledger counts. Units are in the names; a `_count` has none.
enum class Counter : std::uint8_t {
  live_bytes,      ///< held by live allocations of the tensor allocator
  live_blocks,     ///< live allocations of the tensor allocator
  peak_bytes,      ///< largest live_bytes within the step
  live_nodes,      ///< autograd nodes seen as `grad_fn` of an operator's output and still alive
  live_tensors,    ///< alive: tensors that an operator returned, and blocks of the set-up, a tensor each
  python_objects,  ///< objects tracked by Python's collector, born after set-up
  heap_bytes,      ///< malloc'ed bytes in use (glibc `mallinfo2`: uordblks + hblkhd); noisy
  resident_bytes,  ///< RSS of the process; noisy
  requested_bytes,
  active_bytes,  ///< live, plus freed and waiting for a stream
  reserved_bytes,
  segment_count,
  largest_free_block_bytes,
  inactive_split_bytes,
  private_pool_bytes,
  pinned_bytes,   ///< page-locked host memory; noisy: a block that a copy still uses is not handed out again
  outside_bytes,  ///< device memory of the process outside the caching allocator; noisy
  shared_bytes,   ///< mapped host memory that other processes may share, in whole pages; noisy where workers run ahead
  python_blocks,  ///< small blocks that Python's own allocator has handed out (`sys.getallocatedblocks`); noisy:
                  ///< caches, free lists and interned strings move it too
  mapped_bytes,   ///< writable host memory that others than malloc have mapped, in whole pages; noisy
  /// Raw memory, streams, events, graphs, modules and so on that were made since CUPTI counts them, less those that
  /// were destroyed. Read from some steps before the first verdict on; its level says nothing, its rise does. Noisy:
  /// torch and libraries fill their pools now and then.
  cuda_objects,
  children_bytes,  ///< PSS of all child processes, from the first that there was on; noted, not judged; noisy
  frozen_deaths,   ///< by how many python_objects is too high, since they had been set apart (gc.freeze) and died; read
                   ///< where the run is judged, if python_objects rose; not judged by itself
};

inline constexpr int kCounterCount = static_cast<int>(Counter::frozen_deaths) + 1;

/// The enumerator's own spelling, as in JSON.
[[nodiscard]] std::string_view to_string(Counter counter);
[[nodiscard]] std::optional<Counter> parse_counter(std::string_view name);

/// A ledger is exact (a changed value is a changed fact) or noisy (judged with a floor).
[[nodiscard]] bool is_exact(Counter counter);

/// At a boundary each ledger is read twice: before and after a forced collection of cyclic garbage.
enum class Moment : std::uint8_t { before_collection, after_collection };

/// The name of one column of a trace.
struct SeriesKey {
  Counter counter = Counter::live_bytes;
  Device device = kHost;
  Moment moment = Moment::after_collection;

  auto operator<=>(const SeriesKey&) const = default;
};

/// "live_bytes@cuda:0", with "/before" for the value before the collection; as in JSON.
[[nodiscard]] std::string to_string(const SeriesKey& key);

}  // namespace stepleak
