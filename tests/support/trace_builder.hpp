// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "harness/trace/trace.hpp"

namespace stepleak {

/// Builds traces for tests step by step: `TraceBuilder(256).with(key, [](int step) { return 100 * step; })`.
class TraceBuilder {
 public:
  explicit TraceBuilder(std::int64_t steps) : steps_(steps) {}

  /// Adds a column, or replaces the one of that key; `value` is called with 1 .. steps.
  TraceBuilder& with(const SeriesKey& key, const std::function<std::int64_t(std::int64_t)>& value) {
    if (const auto known = std::find(keys_.begin(), keys_.end(), key); known != keys_.end()) {
      columns_[static_cast<std::size_t>(known - keys_.begin())] = value;
      return *this;
    }
    keys_.push_back(key);
    columns_.push_back(value);
    return *this;
  }
  TraceBuilder& with_survivor(const Survivor& survivor) {
    survivors_.push_back(survivor);
    return *this;
  }
  /// The last `steps` of the trace were the explain pass.
  TraceBuilder& explained(std::int64_t steps) {
    explained_ = steps;
    return *this;
  }

  [[nodiscard]] Trace build() const {
    Trace trace(keys_);
    std::vector<std::int64_t> row(columns_.size());
    for (std::int64_t step = 1; step <= steps_; ++step) {
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = columns_[i](step);
      trace.add_row(row);
    }
    trace.survivors = survivors_;
    if (explained_ > 0) {
      trace.explained_from = steps_ - explained_ + 1;
      trace.explained_steps = explained_;
    }
    return trace;
  }

 private:
  std::int64_t steps_;
  std::int64_t explained_ = 0;
  std::vector<SeriesKey> keys_;
  std::vector<std::function<std::int64_t(std::int64_t)>> columns_;
  std::vector<Survivor> survivors_;
};

}  // namespace stepleak
