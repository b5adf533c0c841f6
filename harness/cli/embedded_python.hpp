// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/api/check.hpp"
#include "harness/runner/flight_recorder.hpp"
#include "harness/scenario/scenario.hpp"

namespace stepleak {

/// The interpreter inside the command line: the one that the build was made for, with its torch.
/// Started once, never finalised (torch does not survive it). No thread is started before the fork.
class EmbeddedPython {
 public:
  /// Starts the interpreter and imports torch; later calls do nothing. Throws a failure error with the remedy.
  static void start();

  /// In a worker, first of all: tells Python that it was forked, prints stacks on a crash.
  static void after_fork();

  /// In a worker: runs the set-up of FILE.py and judges its callable. Throws usage errors for wrong names;
  /// a failing set-up gives a result with the verdict `failure`.
  static Result check_file(const std::filesystem::path& file, const std::string& callable, const Options& options,
                           FlightRecorder& recorder);

  /// What the scenario files of a folder declare; `set_up` is empty: use check_scenario().
  static std::vector<Scenario> load_scenarios(const std::filesystem::path& folder);

  /// In a worker: does a declared scenario's set-up and judges its step.
  static Result check_scenario(const std::string& name, const Options& options, FlightRecorder& recorder);

  /// In a worker: judges a Python step that does nothing; what grows is stepleak's own.
  static Result check_nothing(const Options& options, FlightRecorder& recorder);

  /// In a worker: judges a C++ step while no thread holds the GIL, as torch's autograd engine demands.
  static Result without_gil(const std::function<Result()>& check);

  /// Version, executable and path of torch, for `doctor`.
  static std::vector<std::pair<std::string, std::string>> facts();
};

}  // namespace stepleak
