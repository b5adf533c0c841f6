// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "harness/probes/block_table.hpp"
#include "harness/probes/leaf_lock.hpp"

namespace stepleak {

/// Births and deaths of a device's blocks in the order in which they came, until they are settled in its table.
///
/// Between two events of an allocator a step's own work takes the caches, and each event pays for a place of the table
/// that is no longer there. The end of a log is; and where thousands are settled one after another, so is the table
/// (tests/benchmarks/hot_path_benchmark.cpp).
///
/// made(), freed() and erase() may be called from any thread at once, and under the locks of others: each takes a leaf
/// lock, and under that, where the log is full, those of the table, whose callers take this one before. Allocates
/// nothing. In a forked child whose parent was inside the log at the fork nothing is recorded (see LeafLock).
class BlockLog {
 public:
  /// `table` outlives it, and is changed by nobody else once begin() was called.
  explicit BlockLog(BlockTable& table) : table_(table) {}
  BlockLog(const BlockLog&) = delete;
  BlockLog& operator=(const BlockLog&) = delete;

  /// What the table holds now is live; what had not been settled is forgotten.
  void begin() noexcept;

  void made(const Block& block) noexcept;
  void freed(std::uintptr_t address, std::int64_t bytes) noexcept;
  /// The same, settled at once. False where the address is unknown: it was allocated before anybody watched.
  bool erase(std::uintptr_t address, std::int64_t bytes) noexcept;

  /// Brings the table up to date.
  void settle() noexcept;

  /// What was made less what was freed.
  [[nodiscard]] std::int64_t live_bytes() const noexcept { return live_bytes_.load(std::memory_order_relaxed); }
  /// The largest live_bytes() since the last reset_peak().
  [[nodiscard]] std::int64_t peak_bytes() const noexcept { return peak_bytes_.load(std::memory_order_relaxed); }
  void reset_peak() noexcept { peak_bytes_.store(live_bytes(), std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kEntries = 2048;  // some steps' events, in 48 KiB
  static constexpr std::int64_t kFreed = -1;     // in the place of a birth step

  void add(const Block& entry) noexcept;
  void settle_under_lock() noexcept;

  BlockTable& table_;
  LeafLock lock_;
  std::size_t size_ = 0;
  // Written under the lock only.
  std::atomic<std::int64_t> live_bytes_{0};
  std::atomic<std::int64_t> peak_bytes_{0};
  std::array<Block, kEntries> entries_;
};

}  // namespace stepleak
