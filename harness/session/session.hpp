// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/base/step_failure.hpp"
#include "harness/explain/conclusion.hpp"
#include "harness/explain/user_frames.hpp"
#include "harness/observe/observer.hpp"
#include "harness/probes/holder_search.hpp"
#include "harness/probes/raw_stack.hpp"
#include "harness/session/peers.hpp"
#include "harness/trace/run_record.hpp"

namespace stepleak {

using Clock = std::chrono::steady_clock;

/// Everything that a session is made of; all pointers outlive it.
struct SessionParts {
  std::string target;
  Device device = kHost;
  Policy policy;
  TraceFacts facts;
  ObserverParts observer;
  std::vector<const Detector*> detectors;  ///< narrowest first
  StackSource* stacks = nullptr;           ///< null: survivors have no stacks
  std::vector<HolderSearch*> holder_searches;
  CodeFolders folders;             ///< whose code a frame is
  Peers* peers = nullptr;          ///< null: this process decides alone
  std::int64_t watched_steps = 0;  ///< a clean verdict before these ends nothing
  std::int64_t most_steps = 0;     ///< an undecided run goes on up to these, its budget doubled each time; 0: it ends
  double most_seconds = std::numeric_limits<double>::infinity();  ///< nor does it where all steps would take longer
  std::int64_t record_stride = 1;  ///< of a leak in each step, every so-many-th one is recorded
  std::map<std::string, std::string> conditions;
  Clock::time_point (*now)() = &Clock::now;  ///< what a budget in time is measured with
};

/// The state machine of passes: boundaries in, what to do next out. Who owns the loop is the driver's business:
///
///   session.start();
///   do { session.begin_step(); ...the step... } while (session.end_step() != Next::stop);
///   auto record = session.finish();
///
/// A session observes from start() to finish(), or to its destructor. It decides at looks; a verdict that stands there
/// is not taken back by what happens later. Not thread-safe.
class Session {
 public:
  explicit Session(SessionParts parts);

  void start();
  /// Steps that have reached their boundary.
  [[nodiscard]] std::int64_t step_count() const { return trace_.step_count(); }
  void begin_step();
  /// The boundary after a step. Throws StepFailure where a device failed, and PeerFailure.
  [[nodiscard]] Next end_step();
  /// Of the user's loop something begins, in the step that runs.
  void mark(MarkType type) { trace_.add_mark({trace_.step_count() + 1, type}); }
  /// The step failed, or the user interrupted it: ends the run and keeps its evidence.
  void fail(const StepFailure& failure);
  void interrupt();
  /// Detaches and hands over all that the result rests on. Once.
  [[nodiscard]] RunRecord finish();

 private:
  static constexpr Move kOpen{.next = Next::stop, .is_open = true};

  [[nodiscard]] double seconds() const;
  /// Does what is no part of the steps, for which the user's budget in time is.
  template <typename Action>
  void aside(const Action& action);
  [[nodiscard]] bool is_time_up() const;
  /// Where a look is clean.
  [[nodiscard]] Next next_of_clean() const;
  [[nodiscard]] std::vector<std::string> notes_of_time() const;
  [[nodiscard]] Next look(bool is_late);
  [[nodiscard]] Next end_pass();
  [[nodiscard]] Next follow(const Move& move);
  [[nodiscard]] bool is_record_due(const Decision& decision) const;
  [[nodiscard]] std::int64_t look_after(std::int64_t step) const;
  [[nodiscard]] Move move_after(const Judgement& judgement);
  /// Goes on while steps are left.
  [[nodiscard]] Move go_on() const { return steps_left() > 0 ? Move{} : kOpen; }
  /// Doubles the budget until so many steps are left, where that is allowed.
  [[nodiscard]] bool extend(std::int64_t missing);
  [[nodiscard]] std::int64_t steps_left() const { return parts_.policy.budget_steps - trace_.step_count(); }
  void begin_record(const Pass& pass);
  void be_halfway();
  void end_record(bool has_loop_ended = false);
  void explain(Recording& recording) const;
  /// Judges the steps so far, as a look does that is kept only where they are clean.
  bool look_for_clean();
  void add_last_look();
  void end_early(const std::string& what, const std::string& remedy, bool is_out_of_memory);

  SessionParts parts_;
  Observer observer_;
  Policy policy_;  // as it is in force: a budget in time makes it shorter
  Trace trace_;
  std::optional<RunFailure> failure_;
  bool is_interrupted_ = false;
  bool is_in_record_ = false;  // begun, and its recording not yet in the trace
  bool is_out_of_time_ = false;
  std::set<std::int64_t> filled_;  ///< bounds of containers that a fill pass was run for
  std::vector<std::string> record_notes_;
  std::int64_t next_look_ = 0;
  std::int64_t last_record_steps_ = kShortestRecord;  ///< of the last record pass before the budget ends
  Clock::time_point started_;
  double seconds_aside_ = 0;
};

}  // namespace stepleak
