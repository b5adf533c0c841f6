// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "harness/observe/flight_recorder.hpp"
#include "harness/probes/collector.hpp"
#include "harness/probes/probe.hpp"
#include "harness/trace/trace.hpp"

namespace stepleak {

/// What observes a run; all outlive the observer.
struct ObserverParts {
  std::vector<Probe*> probes;
  Collector* collector = nullptr;      ///< null: there is no Python
  FlightRecorder* recorder = nullptr;  ///< null: nobody reads after a crash
};

/// The probes, attached to this process from attach() to detach(): turns boundaries into rows of a trace. It calls no
/// step: whoever owns the loop says where one begins and ends. Not thread-safe; StepFailure of a probe (a device that
/// failed) passes through.
class Observer {
 public:
  explicit Observer(ObserverParts parts);
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  /// Detaches.
  ~Observer();

  /// The ledgers, in the order of the trace's.
  [[nodiscard]] std::vector<SeriesKey> keys() const;

  /// Once after the set-up: freezes the collector's old objects and starts the probes.
  void attach();
  /// Undoes attach(), also in the middle of a record pass. May be called twice. In a forked child it does nothing: what
  /// is attached there asks for nothing any more, and is the parent's to undo.
  void detach() noexcept;

  /// `records_stacks`: where blocks are born is recorded in this step.
  void begin_step(std::int64_t step, bool records_stacks);
  /// Reads the ledgers before and after a forced collection and adds the boundary. `is_settled`: waits for the devices
  /// first; elsewhere a step keeps its launch-ahead.
  void end_step(bool is_settled, Trace& trace);

  /// A verdict stands: said to whoever reads after a crash.
  void decide(std::int64_t step, const Policy& policy) noexcept;
  void withdraw() noexcept;
  /// What is alive, by birth step.
  [[nodiscard]] std::vector<CohortTable> cohorts();
  void begin_record(const Pass& pass);
  /// Ends a record pass: what was born in it and is alive, with indices of captured stacks. The collector's old objects
  /// stay thawed, so that holders can be searched; freeze_again() before the next step.
  [[nodiscard]] Recording end_record(const Pass& pass, std::int64_t steps);
  void freeze_again();
  /// From now on nothing is set apart, and each collection is of all objects.
  void stop_freezing();
  /// After a step that ran out of memory: every live block.
  [[nodiscard]] Recording live_blocks();

 private:
  void record_stacks(bool is_recording);
  void read(Moment moment);

  /// Columns of one ledger, read before and after the collection.
  struct ReadTwice {
    std::size_t before;
    std::size_t after;
  };

  ObserverParts parts_;
  std::vector<std::size_t> key_counts_;
  std::vector<ReadTwice> twice_;
  std::vector<std::int64_t> row_;
  pid_t attached_in_ = 0;  ///< 0: not attached
  bool is_frozen_ = false;
  bool is_recording_stacks_ = false;
};

}  // namespace stepleak
