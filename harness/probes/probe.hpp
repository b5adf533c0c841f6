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

/// A source of ledgers, cohorts and survivors. Called from the step's thread only, and only at
/// boundaries, when no step runs; what it counts may happen on any thread. Whatever it attached to the process is
/// undone by stop(), at the latest by its destructor.
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

  /// After the last step, on every way out, also in the middle of a record pass: detaches from the process.
  virtual void stop() noexcept {}

  /// Before each step; `step` counts from 1.
  virtual void begin_step(std::int64_t step) { (void)step; }

  /// At looks and at the record pass's end, after the step and before its boundary is read: waits for devices, and
  /// lets pending frees complete. Elsewhere a step keeps its launch-ahead. Throws StepFailure where the device failed.
  virtual void settle() {}

  /// At each boundary, before and then after the collection: fills the columns of that moment.
  /// `row` has one value a key of keys(), in that order; what is not read at this boundary stays kUnread.
  virtual void read(Moment moment, std::span<std::int64_t> row) = 0;

  /// At looks: appends one table a device where this probe knows births.
  virtual void read_cohorts(std::vector<CohortTable>& tables) { (void)tables; }

  /// Between two steps: whether the stacks of births are recorded from now on. In the record pass in the steps that
  /// Recording::is_recorded() names; in the screen pass in few steps, for the case that a later one runs out of memory.
  virtual void record_stacks(bool is_recording) { (void)is_recording; }

  /// Before the first step of a record pass.
  virtual void begin_record(const Pass& pass) { (void)pass; }

  /// After its last boundary, with pass and steps filled in: adds what was born in a recorded step and is alive. The
  /// `stack` of a survivor is an index into the captured stacks.
  virtual void end_record(Recording& recording) { (void)recording; }

  /// After a step that ran out of memory: adds every live block, with its stack where it was recorded.
  virtual void read_blocks(Recording& recording) { (void)recording; }
};

}  // namespace stepleak
