// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/api/check.hpp"
#include "harness/cli/layout.hpp"
#include "harness/cli/observing.hpp"
#include "harness/cli/observing/temporary_folders.hpp"
#include "harness/observe/flight_recorder.hpp"
#include "harness/scenario/scenario_list.hpp"

namespace stepleak {

/// The interpreter inside the command line, or around it, with its torch.
/// Started once, never finalised (torch does not survive it). It starts no thread of its own.
class EmbeddedPython {
 public:
  /// Starts the interpreter where the host is none, and imports torch; later calls do nothing. Throws a failure error
  /// with the remedy.
  static void start(const Layout& layout);

  /// In a worker, first of all: tells Python that it was forked, or starts it where the server has not; prints stacks
  /// on a crash, and tells of temporary folders.
  static void start_in_worker(const Layout& layout, OnTemporaryFolder on_temporary_folder);

  /// In a worker, last of all: what was registered to run at the interpreter's exit, such as the removal of temporary
  /// folders and shared memory. The interpreter is not taken down.
  static void end_in_worker();

  /// In a worker: runs the set-up of FILE.py and records the run of its callable. Throws usage errors for wrong names;
  /// a failing set-up gives a record with that failure.
  static RunRecord record_file(const std::filesystem::path& file, const std::string& callable, const Options& options,
                               FlightRecorder& recorder);

  /// What the scenario files of a folder declare; `set_up` is empty: use record_scenario().
  static ScenarioList load_scenarios(const std::filesystem::path& folder, const ScenarioLoading& loading);

  /// In a worker: does a declared scenario's set-up and records the run of its step.
  static RunRecord record_scenario(const std::string& name, const Options& options, FlightRecorder& recorder);

  /// In a worker that has recorded a Python step: see try_python_fixes(). Else none.
  static std::vector<Trial> try_fixes(const RunRecord& record, const Options& options);

  /// Names of the Python steps that keep nothing of their own.
  static std::vector<std::string> self_growth_steps();

  /// In a worker: records the run of one of these; what grows is stepleak's own.
  static RunRecord record_self_growth(const std::string& name, const Options& options, FlightRecorder& recorder);

  /// In a worker: records the run of a C++ step while no thread holds the GIL, as torch's autograd engine demands.
  static RunRecord without_gil(const std::function<RunRecord()>& record);

  /// Version, executable and path of torch, for `doctor`.
  static std::vector<std::pair<std::string, std::string>> facts();
};

}  // namespace stepleak
