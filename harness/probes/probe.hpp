// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/trace/trace.hpp"

namespace stepleak {

/// A source of ledgers, cohorts and survivors. Called from the runner's thread only, and only at
/// boundaries, when no step runs; what it counts may happen on any thread.
class Probe {
 public:
  virtual ~Probe() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;

  /// What this probe could not see in this run, for a note in the result; empty where nothing was missed.
  [[nodiscard]] virtual std::string gap() const { return {}; }

  /// The columns that this probe fills; the same at every call.
  [[nodiscard]] virtual std::vector<SeriesKey> keys() const = 0;

  /// Once after the set-up, before the first step.
  virtual void start() {}

  /// Before each step; `step` counts from 1.
  virtual void begin_step(std::int64_t step) { (void)step; }

  /// At looks and at the explain pass's end, after the step and before its boundary is read: waits for devices, and
  /// lets pending frees complete. Elsewhere a step keeps its launch-ahead. Throws StepFailure where the device failed.
  virtual void settle() {}

  /// At each boundary, before and then after the collection: fills the columns of that moment.
  /// `row` has one value a key of keys(), in that order.
  virtual void read(Moment moment, std::span<std::int64_t> row) = 0;

  /// At looks: appends one table a device where this probe knows births.
  virtual void read_cohorts(std::vector<CohortTable>& tables) { (void)tables; }

  /// Between two steps: whether the stacks of births are recorded from now on. In the explain pass in the steps that
  /// Trace::is_recorded() names; in the screen pass in few steps, for the case that a later one runs out of memory.
  virtual void record_stacks(bool is_recording) { (void)is_recording; }

  /// Before the first step of the explain pass.
  virtual void begin_explain() {}

  /// After its last boundary: adds to the trace what was born in a recorded step and is alive, with its stack.
  virtual void end_explain(Trace& trace) { (void)trace; }

  /// After a step that ran out of memory: adds every live block to the trace, with its stack where it was recorded.
  virtual void read_blocks(Trace& trace) { (void)trace; }
};

/// Forces a collection of cyclic garbage at a boundary. Without Python there is none to force.
class Collector {
 public:
  virtual ~Collector() = default;
  /// Once after the set-up: collects, then sets the old objects apart so that collect() stays cheap.
  virtual void freeze() = 0;
  virtual void collect() = 0;
  /// Undoes freeze(), so that holders can be searched among all objects.
  virtual void unfreeze() = 0;
  /// False where the user's code has turned the collector off.
  [[nodiscard]] virtual bool is_enabled() const = 0;
};

/// Finds who keeps the survivors of the explain pass.
class HolderSearch {
 public:
  virtual ~HolderSearch() = default;
  /// Before the first step of the explain pass: remembers what is there.
  virtual void begin() {}
  /// After the pass, with survivors in the trace: adds holders and marks what no root leads to.
  virtual void search(Trace& trace) = 0;
};

}  // namespace stepleak
