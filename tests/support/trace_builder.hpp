// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
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
  /// A survivor names it by its index, in the order of the calls.
  TraceBuilder& with_stack(const std::vector<Frame>& stack) {
    stacks_.push_back(stack);
    return *this;
  }
  /// Likewise.
  TraceBuilder& with_holder(const Holder& holder) {
    holders_.push_back(holder);
    return *this;
  }
  /// A holder names it by its index, in the order of the calls.
  TraceBuilder& with_object(const ObjectNode& object) {
    objects_.nodes.push_back(object);
    return *this;
  }
  /// Objects that were born in the record pass, and that only a collection of all objects could free.
  TraceBuilder& with_set_apart_garbage(std::int64_t objects) {
    set_apart_garbage_ = objects;
    return *this;
  }
  /// What is alive at the look before the record pass, by birth step.
  TraceBuilder& with_cohorts(CohortTable table) {
    cohorts_.push_back(std::move(table));
    return *this;
  }
  /// The last `steps` of the trace were a record pass after a look.
  TraceBuilder& recorded(std::int64_t steps, std::int64_t stride = 1) {
    recorded_ = steps;
    stride_ = stride;
    return *this;
  }
  /// There is a Python, and its collector is on, or the user's code has turned it off.
  TraceBuilder& with_collector(bool is_enabled) {
    facts_.has_python = true;
    is_collector_enabled_ = is_enabled;
    return *this;
  }

  [[nodiscard]] Trace build() const {
    Trace trace(facts_, keys_);
    add_boundaries(steps_ - recorded_, trace);
    trace.add_collector_state(is_collector_enabled_);
    if (recorded_ == 0) return trace;
    trace.add_look(cohorts_);
    trace.begin_pass({.type = PassType::record, .planned_steps = recorded_, .stride = stride_});
    add_boundaries(steps_, trace);
    trace.add_recording({.pass = trace.passes().back(),
                         .steps = recorded_,
                         .survivors = survivors_,
                         .stacks = stacks_,
                         .objects = objects_,
                         .holders = holders_,
                         .set_apart_garbage = set_apart_garbage_});
    return trace;
  }

 private:
  void add_boundaries(std::int64_t last, Trace& trace) const {
    std::vector<std::int64_t> row(columns_.size());
    for (auto step = trace.step_count() + 1; step <= last; ++step) {
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = columns_[i](step);
      trace.add_boundary(row);
    }
  }

  std::int64_t steps_;
  std::int64_t recorded_ = 0;
  std::int64_t stride_ = 1;
  TraceFacts facts_;
  bool is_collector_enabled_ = true;
  std::vector<SeriesKey> keys_;
  std::vector<std::function<std::int64_t(std::int64_t)>> columns_;
  std::vector<Survivor> survivors_;
  std::vector<std::vector<Frame>> stacks_;
  ObjectGraph objects_;
  std::int64_t set_apart_garbage_ = 0;
  std::vector<Holder> holders_;
  std::vector<CohortTable> cohorts_;
};

}  // namespace stepleak
