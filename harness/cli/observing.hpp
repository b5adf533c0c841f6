// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/api/options.hpp"
#include "harness/cli/observing/temporary_folders.hpp"
#include "harness/scenario/scenario_list.hpp"
#include "harness/trace/run_record.hpp"

namespace stepleak {

/// Lines of a report: a name and what is said of it.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// The GPUs that are visible here, or why there are none and what to do.
struct GpuAnswer {
  std::vector<std::string> names;
  std::string reason;  ///< empty where there are GPUs
  std::string remedy;
};

/// How scenario files are loaded.
struct ScenarioLoading {
  std::vector<std::string> left_out;                        ///< files that are not
  std::function<void(std::string_view file)> on_file = {};  ///< before each, and with no name after the last
};

/// What faces torch, Python and CUDA, for the command line: a shared library of its own, loaded when a step is
/// observed. So what needs no step starts at once, and works where there is no torch.
class Observing {
 public:
  virtual ~Observing() = default;

  /// Starts the interpreter and imports torch; later calls do nothing. Starts no thread of its own.
  virtual void start() = 0;
  /// In a worker, first of all; start() where its server has not.
  virtual void start_in_worker(OnTemporaryFolder on_temporary_folder) = 0;
  /// In a worker, once its result is handed over: what was registered to run at the interpreter's exit.
  virtual void end_in_worker() = 0;

  /// The device that "auto" stands for, or the parsed one; asks CUDA in a child, so that this process can fork.
  [[nodiscard]] virtual Device device_before_fork(const std::string& name) = 0;
  [[nodiscard]] virtual GpuAnswer gpus_before_fork() = 0;

  /// Python's and C++'s; `set_up` is empty: use record_scenario(). One file that does not load costs no other's.
  /// One that ends or hangs the process does so here: see scenarios_for_server().
  [[nodiscard]] virtual ScenarioList scenarios(const std::string& folder, const ScenarioLoading& loading) = 0;

  // --- in a worker
  [[nodiscard]] virtual RunRecord record_scenario(const std::string& name, const Options& options,
                                                  FlightRecorder& recorder) = 0;
  /// Throws usage errors for wrong names; a failing set-up gives a record with that failure.
  [[nodiscard]] virtual RunRecord record_file(const std::filesystem::path& file, const std::string& callable,
                                              const Options& options, FlightRecorder& recorder) = 0;
  /// Of the step that was recorded last, where it is Python's and leaks: see try_python_fixes().
  [[nodiscard]] virtual std::vector<Trial> try_fixes(const RunRecord& record, const Options& options) = 0;
  /// Steps that keep nothing of their own: what grows is stepleak's.
  [[nodiscard]] virtual std::vector<std::string> self_growth_steps() = 0;
  [[nodiscard]] virtual RunRecord record_self_growth(const std::string& name, const Options& options,
                                                     FlightRecorder& recorder) = 0;

  // --- for doctor
  /// Interpreter, torch and the conditions that are in force.
  [[nodiscard]] virtual Facts facts() = 0;
  /// Whether malloc'ed memory can be seen here, and through whom.
  [[nodiscard]] virtual std::string host_heap() = 0;
  /// Starts CUDA: nothing can be forked afterwards.
  [[nodiscard]] virtual GpuAnswer gpus() = 0;
  [[nodiscard]] virtual Facts gpu_facts() = 0;
};

/// Loads the library at the first call. Throws a failure error with the remedy where it cannot be loaded.
[[nodiscard]] Observing& observing();

}  // namespace stepleak
