// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "harness/trace/ledger.hpp"
#include "harness/trace/mark.hpp"
#include "harness/trace/pass.hpp"
#include "harness/trace/recording.hpp"

namespace stepleak {

/// What is known of a run before its first step.
struct TraceFacts {
  bool has_python = false;
  std::int64_t declared_period = 0;  ///< steps; 0: the user declared none
};

/// What was alive at a boundary at which the judge looked.
struct Look {
  std::int64_t step = 0;
  std::vector<CohortTable> cohorts;  ///< one a device where births are known
};

/// From this step on Python's collector was on, or off.
struct CollectorChange {
  std::int64_t step = 0;
  bool is_enabled = true;
};

/// More than a picture shows.
inline constexpr std::size_t kMostMarks = 1000;

/// Steps, ledgers, passes, cohorts and recordings of one run: the only thing that detectors and judge see.
/// A plain value that is appended to and never rewritten.
class Trace {
 public:
  Trace() = default;
  Trace(const TraceFacts& facts, const std::vector<SeriesKey>& keys);

  /// Adds one boundary; the row holds one value a ledger, in their order, or kUnread.
  void add_boundary(std::span<const std::int64_t> row);
  /// From the next step on; its first_step is set here. Without one the first pass is a screen pass.
  void begin_pass(Pass pass);
  /// At the last boundary.
  void add_look(std::vector<CohortTable> cohorts);
  void add_recording(Recording recording);
  /// At the last boundary; kept where it changes.
  void add_collector_state(bool is_enabled);
  /// Of as many as kMostMarks the first are kept, and the same of a step once.
  void add_mark(Mark mark);
  /// Makes room for that many boundaries.
  void reserve(std::int64_t boundaries);

  [[nodiscard]] const TraceFacts& facts() const { return facts_; }
  [[nodiscard]] const std::vector<Ledger>& ledgers() const { return ledgers_; }
  [[nodiscard]] const std::vector<Pass>& passes() const { return passes_; }
  [[nodiscard]] const std::vector<Look>& looks() const { return looks_; }
  [[nodiscard]] const std::vector<Recording>& recordings() const { return recordings_; }
  [[nodiscard]] const std::vector<CollectorChange>& collector_changes() const { return collector_changes_; }
  [[nodiscard]] const std::vector<Mark>& marks() const { return marks_; }
  [[nodiscard]] std::int64_t step_count() const { return step_count_; }

  [[nodiscard]] bool has(const SeriesKey& key) const { return ledger(key) != nullptr; }
  /// Null where the run did not observe it.
  [[nodiscard]] const Ledger* ledger(const SeriesKey& key) const;
  /// One value a step, held between readings; empty where the run did not observe it.
  [[nodiscard]] std::vector<std::int64_t> series(const SeriesKey& key) const;
  [[nodiscard]] std::vector<Device> devices() const;
  /// The cohorts of a device at the last look; null where none was taken.
  [[nodiscard]] const CohortTable* cohorts_of(Device device) const;
  /// The newest recording of which some step is a proof, since the end of a run may cut one short; the newest where
  /// none has any, an empty one where there is none. Where a script's end cut it short, and no holder was found any
  /// more, since its variables had gone: the newest one before it that has some.
  [[nodiscard]] const Recording& recording() const;
  /// False where the user's code keeps garbage from Python's collector: off and never called, or by gc.freeze().
  [[nodiscard]] bool is_collector_enabled() const;

 private:
  TraceFacts facts_;
  std::vector<Ledger> ledgers_;
  std::vector<Pass> passes_{Pass{}};
  std::vector<Look> looks_;
  std::vector<Recording> recordings_;
  std::vector<CollectorChange> collector_changes_;
  std::vector<Mark> marks_;
  std::int64_t step_count_ = 0;
};

}  // namespace stepleak
