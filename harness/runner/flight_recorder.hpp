// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/trace/trace.hpp"

namespace stepleak {

/// The ledgers of a run in memory that a worker shares with its server, so that they outlive a crash of
/// either kind: segfault, kill -9, out of memory. One writer; the server reads at any time.
/// Holds kCapacityRows boundaries; later ones are counted, not kept. Pages that are never written cost nothing.
class FlightRecorder {
 public:
  static constexpr std::int64_t kCapacityRows = 1 << 16;
  static constexpr std::size_t kMaxKeys = 64;

  FlightRecorder();
  FlightRecorder(const FlightRecorder&) = delete;
  FlightRecorder& operator=(const FlightRecorder&) = delete;
  ~FlightRecorder();

  void begin(std::span<const SeriesKey> keys);
  void begin_step(std::int64_t step) noexcept;
  void add_row(std::span<const std::int64_t> row) noexcept;

  /// The step that runs now, or ran when the worker died; 0: still in the set-up.
  [[nodiscard]] std::int64_t step() const noexcept;
  /// All boundaries written so far.
  [[nodiscard]] Trace to_trace() const;

 private:
  struct Shared;
  Shared* shared_;
};

}  // namespace stepleak
