// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "harness/trace/survivor.hpp"

namespace stepleak {

/// One live allocation.
struct Block {
  std::uintptr_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t birth_step = 0;
};

/// A block as the explain pass tells it; `stack` is an index into Trace::stacks, or -1.
[[nodiscard]] Survivor survivor_of(const Block& block, Device device, int stack);

/// The live allocations of one device: address -> size and birth step, with running totals.
///
/// insert() and erase() may be called from any thread at once; they take no lock and, once the table
/// has reached its working size, allocate nothing. It rests on one fact: an address is live at most
/// once, and its free happens before it is handed out again. A full table gets a successor four times
/// as large; entries never move. Memory is O(largest number of blocks ever live).
///
/// Errors: where no memory for a successor can be had, the block is not recorded and dropped_count() rises.
class BlockTable {
 public:
  explicit BlockTable(std::size_t capacity = std::size_t{1} << 16);
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;
  ~BlockTable();

  void insert(const Block& block) noexcept;
  /// False where the address is unknown: it was allocated before the table watched.
  bool erase(std::uintptr_t address) noexcept;

  [[nodiscard]] std::int64_t live_bytes() const noexcept { return live_bytes_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t live_blocks() const noexcept { return live_blocks_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t dropped_count() const noexcept { return dropped_.load(std::memory_order_relaxed); }

  /// The largest live_bytes() since the last reset_peak().
  [[nodiscard]] std::int64_t peak_bytes() const noexcept { return peak_bytes_.load(std::memory_order_relaxed); }
  void reset_peak() noexcept { peak_bytes_.store(live_bytes(), std::memory_order_relaxed); }

  /// Dates every live block to the set-up of the run that starts: births of an earlier run mean nothing in it.
  void restart() noexcept;

  /// Visits every live block; blocks that other threads insert or erase meanwhile may be missed or seen.
  void for_each(const std::function<void(const Block&)>& visit) const;

  /// The live blocks by birth step.
  [[nodiscard]] CohortTable cohorts(Device device, std::int64_t at_step) const;

 private:
  struct Slot;
  struct Segment;

  template <typename Visit>
  void visit_slots(const Visit& visit) const;
  static Segment* make_segment(std::size_t capacity) noexcept;
  static bool insert_into(Segment& segment, const Block& block) noexcept;
  static Segment* successor_of(Segment& segment) noexcept;

  Segment* first_;
  std::atomic<Segment*> newest_;
  std::atomic<std::int64_t> live_bytes_{0};
  std::atomic<std::int64_t> live_blocks_{0};
  std::atomic<std::int64_t> peak_bytes_{0};
  std::atomic<std::int64_t> dropped_{0};
};

}  // namespace stepleak
