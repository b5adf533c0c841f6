// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "harness/probes/block_shard.hpp"
#include "harness/trace/survivor.hpp"

namespace stepleak {

/// A block as a record pass reports it; `stack` is an index into the captured stacks, or -1.
[[nodiscard]] Survivor survivor_of(const Block& block, Device device, int stack);

/// The live allocations of one device: address -> size and birth step, with running totals.
///
/// insert() and erase() may be called from any thread at once, and under the locks of others: each takes one of sixteen
/// leaf locks for some nanoseconds and, once the table has reached its working size, allocates nothing.
/// Memory is O(largest number of blocks live at once): 24 bytes a slot, of which a part that grows has four a block.
///
/// Errors: where no memory to grow can be had, the block is not recorded and dropped_count() rises; also in a forked
/// child, if another thread was inside the table at the fork (see LeafLock).
class BlockTable {
 public:
  /// `capacity`: slots to begin with; half of them can be filled before the table grows.
  explicit BlockTable(std::size_t capacity = std::size_t{1} << 16);
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;
  ~BlockTable();

  void insert(const Block& block) noexcept;
  /// False where the address is unknown: it was allocated before the table watched.
  bool erase(std::uintptr_t address) noexcept;

  [[nodiscard]] std::int64_t live_bytes() const noexcept { return live_bytes_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t live_blocks() const noexcept;
  /// Those that are as old as the run at least.
  [[nodiscard]] std::int64_t set_up_blocks() const noexcept { return set_up_blocks_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t dropped_count() const noexcept { return dropped_.load(std::memory_order_relaxed); }

  /// What the table itself takes; pages of it that were never touched cost no memory.
  [[nodiscard]] std::size_t mapped_bytes() const noexcept;

  /// The largest live_bytes() since the last reset_peak().
  [[nodiscard]] std::int64_t peak_bytes() const noexcept { return peak_bytes_.load(std::memory_order_relaxed); }
  void reset_peak() noexcept { peak_bytes_.store(live_bytes(), std::memory_order_relaxed); }

  /// Dates every live block to the set-up of the run that starts: births of an earlier run mean nothing in it. Gives
  /// back the memory that an earlier run needed.
  void restart() noexcept;

  /// Visits every live block, without a lock: `visit` may allocate. Blocks that other threads insert or erase meanwhile
  /// may be missed or seen.
  void for_each(const std::function<void(const Block&)>& visit) const;

  /// The live blocks by birth step.
  [[nodiscard]] CohortTable cohorts(Device device, std::int64_t at_step) const;

 private:
  struct Shard;

  [[nodiscard]] Shard& shard_of(std::uintptr_t address) const noexcept;

  std::unique_ptr<Shard[]> shards_;
  std::atomic<std::int64_t> live_bytes_{0};
  std::atomic<std::int64_t> peak_bytes_{0};
  std::atomic<std::int64_t> set_up_blocks_{0};
  std::atomic<std::int64_t> dropped_{0};
};

}  // namespace stepleak
