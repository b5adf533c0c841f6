// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "harness/api/options.hpp"
#include "harness/trace/result.hpp"
#include "harness/trace/run_record.hpp"

namespace stepleak {

/// Watches a loop that is not ours: the driver whose steps end where the user says so.
///
///   stepleak::Watch watch;                       // the set-up has run
///   for (auto& batch : loader) {
///     train(batch);
///     if (!watch.step()) break;                  // or go on: it is quiet once it has decided
///   }
///   const auto result = watch.finish();
///
/// Observes from construction until it has decided, at the latest to its destructor; then the process is as it was.
/// What lies between two calls of step() is one step; locals of the loop are alive at its boundary, which is a level
/// and no growth. All calls from one thread. Not beside another watch or check(): the memory is the process's. In a
/// child that the loop forks it watches nothing and has no verdict.
class Watch {
 public:
  /// Throws usage errors for wrong options, failure errors where the device is not visible.
  explicit Watch(const Options& options = {}, const Surroundings& surroundings = {});
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  /// The boundary after a step. False once a verdict stands, or the run's budget is used up; later calls do nothing.
  bool step();
  /// An epoch or an evaluation begins, in the step that runs: drawn beside the ledgers. Does nothing once decided.
  void mark(MarkType type);
  [[nodiscard]] bool is_decided() const;
  /// The user's loop failed: what it keeps of the evidence. `what`: as a person reads it.
  void fail(const std::string& what);
  /// Ends the observation and judges what was seen. Later calls give the same result.
  [[nodiscard]] const Result& finish();
  /// Ends the observation, and gives what the result rests on.
  [[nodiscard]] const RunRecord& record();
  /// In a process that the loop forked.
  [[nodiscard]] bool is_in_child() const;

 private:
  void leave_to_parent();
  void end();

  struct Parts;
  std::unique_ptr<Parts> own_;
  pid_t process_;
  std::string target_;
  std::optional<RunRecord> record_;
  std::optional<Result> result_;
};

}  // namespace stepleak
