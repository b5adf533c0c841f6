// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/probes/probe.hpp"
#include "harness/runner/flight_recorder.hpp"
#include "harness/runner/step.hpp"
#include "harness/trace/trace.hpp"

namespace stepleak {

/// What a runner works with; all outlive it.
struct RunnerParts {
  Step step;
  std::vector<Probe*> probes;
  Collector* collector = nullptr;      ///< null: there is no Python
  FlightRecorder* recorder = nullptr;  ///< null: nobody reads after a crash
};

/// Repeats the step and reads the ledgers at each boundary: before and after a forced collection.
/// Not thread-safe. run_to() lets StepFailure through, with the trace as it was at the last boundary.
class Runner {
 public:
  explicit Runner(RunnerParts parts);

  /// Starts the probes and freezes the collector's old objects; once, before the first step.
  void start();
  /// Runs steps until `step_count` have run, then takes the cohorts.
  void run_to(std::int64_t step_count);
  /// Runs that many steps more and records stacks, operators and graphs in every `stride`-th of them.
  void explain(std::int64_t step_count, std::int64_t stride);
  /// After a step that ran out of memory: adds the live blocks to the trace.
  void read_blocks();

  [[nodiscard]] Trace& trace() { return trace_; }

 private:
  /// Only the last of them is settled: the others keep their launch-ahead.
  void run_steps_to(std::int64_t step_count);
  void run_step(bool is_settled);
  void record_stacks(bool is_recording);
  void read(Moment moment);

  RunnerParts parts_;
  Trace trace_;
  std::vector<std::size_t> key_counts_;
  std::vector<std::int64_t> row_;
  bool is_explaining_ = false;
  bool is_recording_ = false;
};

}  // namespace stepleak
