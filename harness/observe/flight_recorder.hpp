// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/base/shared_mapping.hpp"
#include "harness/trace/policy.hpp"
#include "harness/trace/trace.hpp"

namespace stepleak {

/// The ledgers of a run in memory that a worker shares with its server, so that they outlive a crash of
/// either kind: segfault, kill -9, out of memory. One writer; the server reads at any time.
///
/// The mapping's size is fixed before the fork; how many boundaries it holds follows from the number of keys, which is
/// known only after it: kCapacityRows up to kFullKeys of them (23 GPUs), fewer for more. Later boundaries are counted,
/// not kept. Pages that are never written cost nothing.
class FlightRecorder {
 public:
  static constexpr std::int64_t kCapacityRows = 1 << 16;
  static constexpr std::size_t kFullKeys = 256;

  /// Shared with children that are forked from here.
  FlightRecorder();
  /// In a memory file, shared with whoever has its descriptor, also across exec(). Starts empty.
  explicit FlightRecorder(int memory_file);

  /// Forgets the rows of an earlier run. Throws where not a single row of so many keys would fit.
  void begin(std::span<const SeriesKey> keys);
  void begin_step(std::int64_t step) noexcept;
  /// One value a key, copied as it is.
  void add_row(std::span<const std::int64_t> row) noexcept;

  /// A verdict stands: what ends the run from here on is no more than a note beside it.
  void decide(std::int64_t step, const Policy& policy) noexcept;
  /// It does not: what was recorded since speaks against it, or leaves it open.
  void withdraw() noexcept;

  /// The step that runs now, or ran when the worker died; 0: still in the set-up.
  [[nodiscard]] std::int64_t step() const noexcept;
  /// How many boundaries were passed, and of how many the row is kept.
  [[nodiscard]] std::int64_t row_count() const noexcept;
  [[nodiscard]] std::int64_t capacity_rows() const noexcept;
  /// The policy that the verdict was reached with; the default one without a verdict.
  [[nodiscard]] Policy policy() const noexcept;
  /// The rows that are kept, with a look where the verdict was reached.
  [[nodiscard]] Trace to_trace() const;

 private:
  struct Shared;

  [[nodiscard]] SeriesKey* keys() const noexcept;
  [[nodiscard]] std::int64_t* row(std::int64_t index) const noexcept;

  SharedMapping memory_;
  Shared* shared_;
};

}  // namespace stepleak
