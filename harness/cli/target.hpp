// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/api/options.hpp"
#include "harness/drive/worker.hpp"
#include "harness/scenario/scenario_list.hpp"
#include "harness/trace/result.hpp"
#include "harness/trace/run_record.hpp"

namespace stepleak {

/// One thing to judge in a worker of its own.
struct Target {
  std::string name;
  std::function<RunRecord(const Options&, FlightRecorder&)> record;
};

/// Options that all verbs share which run targets.
struct RunOptions {
  Options options{.threads = 1, .with_cuda_objects = true};  // a worker is nobody else's process
  double timeout_seconds = 600;
  std::string memory;  ///< "8G"; empty: no limit
  int jobs = 0;        ///< 0: as many as cores
  bool show_output = false;
  bool tries_fixes = false;  ///< run the step on with statements as the findings advise, once it is found to leak
  std::string progress = "auto";
};

/// Why a scenario is left out: "needs timm, which is not installed".
[[nodiscard]] std::string lack_of(const Scenario& scenario);

/// Scenarios by name.
class Suite {
 public:
  /// Those of this build and of a folder, each of whose files has the time of a worker to load. Throws a failure error
  /// for a name used twice.
  [[nodiscard]] static Suite of_folder(const std::string& folder, const RunOptions& options);
  /// The same of those that were read without running any, for a list.
  [[nodiscard]] static Suite declared_in(const std::string& folder);
  [[nodiscard]] const std::vector<Scenario>& scenarios() const { return scenarios_; }
  /// The files that do not load: any scenario may be in them.
  [[nodiscard]] const std::vector<BrokenFile>& broken() const { return broken_; }
  /// Those whose name matches a glob such as "loss_*"; "*" takes all. Throws a usage error where none does, a failure
  /// error where that may be a broken file's doing.
  [[nodiscard]] std::vector<Scenario> named(const std::string& glob) const;
  /// Those of them that can run on a device. Throws a failure error, too, where none can.
  [[nodiscard]] std::vector<Scenario> matching(const std::string& glob, Device device) const;
  /// Those of them that cannot, and that matching() leaves out.
  [[nodiscard]] std::vector<Scenario> left_out(const std::string& glob, Device device) const;
  [[nodiscard]] Target to_target(const Scenario& scenario) const;
  /// For each broken file one that fails, and says why.
  [[nodiscard]] std::vector<Target> broken_targets() const;

 private:
  Suite(ScenarioList list, std::string folder);

  std::vector<Scenario> scenarios_;
  std::vector<BrokenFile> broken_;
  std::string folder_;
};

/// The options with "auto" made the device that it stands for here. Throws where the named one cannot be used.
[[nodiscard]] RunOptions with_device(RunOptions options);

/// "train.py:step": checks that the file is there. Throws a usage error.
[[nodiscard]] Target file_target(const std::string& text);

/// How targets ended, in their order.
struct TargetEnds {
  std::vector<RunRecord> records;
  std::vector<Result> results;  ///< what each record comes to, as it was handed to `on_result`
  bool is_wrong_use = false;    ///< of one: a wrong name, or an option that does not fit; said on standard error
};

/// Runs each target in a fresh worker and judges it as it ends; `on_result` in the order in which they end. The device
/// must be named, not "auto": see with_device(). Trouble with one costs no other's result: a worker that dies, wrong
/// use, what cannot be read or lacks the memory to be judged is a failure. Where a signal stops the run, those that
/// were running are records of an interrupted run, and those that had not begun are left out.
TargetEnds run_targets(const std::vector<Target>& targets, const RunOptions& options,
                       const std::function<void(const Result&)>& on_result);

}  // namespace stepleak
