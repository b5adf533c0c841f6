// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "harness/trace/counter.hpp"

namespace stepleak {

/// Stands in a row of a boundary for a ledger that was not read there.
inline constexpr std::int64_t kUnread = std::numeric_limits<std::int64_t>::min();

/// The readings of one counter, each with the step at whose boundary it was taken. Append only: an expensive counter is
/// read at few boundaries, and nothing is made up in between.
class Ledger {
 public:
  explicit Ledger(const SeriesKey& key) : key_(key) {}

  /// Steps must ascend.
  void add(std::int64_t step, std::int64_t value);
  /// Makes room, so that recording does not move the host heap that is measured.
  void reserve(std::int64_t readings);

  [[nodiscard]] const SeriesKey& key() const { return key_; }
  [[nodiscard]] std::span<const std::int64_t> steps() const { return steps_; }
  [[nodiscard]] std::span<const std::int64_t> values() const { return values_; }
  /// One value a step from `first` to `last`: the newest reading at or before it, or the first one where there is none
  /// yet. Empty without readings.
  [[nodiscard]] std::vector<std::int64_t> held(std::int64_t first, std::int64_t last) const;

 private:
  SeriesKey key_;
  std::vector<std::int64_t> steps_;
  std::vector<std::int64_t> values_;
};

}  // namespace stepleak
